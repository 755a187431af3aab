// Sign in: the token goes to POST /v1/session once; the cookie that comes back is out of reach of
// scripts. Afterwards the browser goes where it wanted to, on this server only.

import { get, send } from "../api.js";
import { byId, el, field, show } from "../dom.js";
import { failure } from "../shell.js";

const token = el("input", { type: "password", name: "token", autocomplete: "current-password", required: true, maxlength: 500, spellcheck: "false" });
const button = el("button", { class: "primary" }, "Sign in");
const failed = el("div");
const form = byId("form");
form.append(field("Token", token), failed, el("div", {}, button));
form.addEventListener("submit", signIn);
skipIfKnown();
token.focus();

async function signIn(event) {
  event.preventDefault();
  if (!token.value.trim()) return token.focus();
  button.disabled = true;
  try {
    await send("POST", "/v1/session", { token: token.value.trim() });
    location.replace(target());
  } catch (error) {
    show(failed, failure(error));
    token.setAttribute("aria-invalid", "true");
    token.select();
  } finally {
    button.disabled = false;
  }
}

async function skipIfKnown() {
  try {
    await get("/v1/session");
    location.replace(target());
  } catch {
    // Nobody yet: that is what this page is for.
  }
}

/** Where to go next: an address of this server, never another one. */
function target() {
  const wanted = new URLSearchParams(location.search).get("next") ?? "/";
  const url = new URL(wanted, location.origin);
  return url.origin === location.origin && !url.pathname.startsWith("/login") ? url.pathname + url.search : "/";
}
