// What every page shares: who is signed in, the theme, the lock, whether the service answers, and
// how a failure is shown. Each page's module calls `open(page)` and gets the session.

import { ApiError, get, send, whoami } from "./api.js";
import { byId, el, field, show } from "./dom.js";
import { sign } from "./words.js";

const LOCK_EVERY_MS = 15_000;

/** Runs a page: its shell, then its own start; a failure of either is shown, not swallowed. */
export async function open(start) {
  themeButton();
  addEventListener("offline", () => banner("offline", "This browser is offline. What you see may be old."));
  addEventListener("online", () => banner("offline", null));
  try {
    const who = await whoami();
    account(who);
    await Promise.all([start(who), watchLock(who)]);
  } catch (error) {
    if (error.status === 401) return;
    show(byId("main"), el("h1", {}, "This page could not be shown"), failure(error), again());
  }
}

const again = () => el("p", {}, el("button", { type: "button", onclick: () => location.reload() }, "Try again"));

/** An error as a notice: what is wrong, every problem of it, in the API's own words. */
export function failure(error) {
  const known = error instanceof ApiError;
  if (!known) console.error(error);
  const title = known ? error.title : "The page failed";
  const problems = known && error.problems.length ? el("ul", {}, error.problems.map((one) => el("li", {}, one))) : null;
  const detail = known ? error.detail : String(error.message ?? error);
  return el("div", { class: "notice bad", role: "alert" }, sign("error"), el("div", {}, el("strong", {}, title), detail && el("p", {}, detail), problems));
}

/** A line above the page, by name; null takes it away. */
export function banner(name, text, kind = "warn", ...extra) {
  const id = `banner-${name}`;
  const old = byId(id);
  if (text === null) {
    old?.remove();
    return;
  }
  if (old?.dataset.text === text) return;
  const made = el("div", { id, class: `banner ${kind}`, "data-text": text }, sign("error"), el("span", {}, text), extra);
  if (old) old.replaceWith(made);
  else byId("banners").append(made);
}

// --- account and theme --------------------------------------------------------------------------

function account(who) {
  const parts = [el("span", { class: "name" }, who.name, el("small", {}, who.role))];
  if (who.role === "admin") parts.push(el("button", { type: "button", class: "plain", onclick: askLock }, "Lock"));
  if (who.csrf && who.name !== "local") parts.push(el("button", { type: "button", class: "plain", onclick: signOut }, "Sign out"));
  byId("who").prepend(...parts);
}

async function signOut() {
  try {
    await send("DELETE", "/v1/session");
  } finally {
    location.assign("/login");
  }
}

function themeButton() {
  const button = el("button", { type: "button", class: "plain theme" });
  const system = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (document.documentElement.dataset.theme ?? (system.matches ? "dark" : "light")) === "dark";
  const draw = () => {
    button.textContent = isDark() ? "Light" : "Dark";
    button.setAttribute("aria-label", `Use the ${isDark() ? "light" : "dark"} theme`);
    document.dispatchEvent(new Event("theme"));
  };
  button.addEventListener("click", () => {
    const theme = isDark() ? "light" : "dark";
    document.documentElement.dataset.theme = theme;
    remember(theme);
    draw();
  });
  system.addEventListener("change", draw);
  draw();
  byId("who").append(button);
}

function remember(theme) {
  try {
    localStorage.setItem("theme", theme);
  } catch {
    // Storage may be forbidden: the choice then lasts as long as the page.
  }
}

// --- lock ---------------------------------------------------------------------------------------

async function watchLock(who) {
  await readLock(who);
  setInterval(() => document.hidden || readLock(who), LOCK_EVERY_MS);
}

async function readLock(who) {
  try {
    showLock(await get("/v1/lock"), who);
    banner("silent", null);
  } catch (error) {
    if (error.status === 0) banner("silent", "The service does not answer. Trying again every few seconds.");
  }
}

function showLock(lock, who) {
  if (!lock.locked) return banner("lock", null);
  const release = el("button", { type: "button", onclick: () => changeLock("DELETE", undefined, who) }, "Release");
  const by = lock.by ? ` (${lock.by})` : "";
  banner("lock", `Locked: ${lock.reason ?? "no reason given"}${by}. Nothing starts until it is released.`, "warn", who.role === "admin" ? release : null);
}

async function changeLock(method, body, who) {
  try {
    showLock(await send(method, "/v1/lock", body), who);
    return null;
  } catch (error) {
    return failure(error);
  }
}

async function askLock() {
  const who = await whoami();
  const reason = el("input", { name: "reason", required: true, maxlength: 500, autocomplete: "off" });
  const failed = el("div");
  const dialog = el("dialog", { "aria-labelledby": "lock-title" });
  const close = () => dialog.close();
  const submit = async (event) => {
    event.preventDefault();
    const problem = await changeLock("PUT", { reason: reason.value }, who);
    if (problem) show(failed, problem);
    else close();
  };
  dialog.append(
    el("form", { onsubmit: submit },
      el("h2", { id: "lock-title" }, "Lock the service"),
      el("p", {}, "Stops every run now, heals its faults, and starts nothing until it is released."),
      field("Reason, for everybody to read", reason),
      failed,
      el("div", { class: "buttons" }, el("button", { class: "danger" }, "Stop everything"), el("button", { type: "button", onclick: close }, "Cancel"))),
  );
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}
