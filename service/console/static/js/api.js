// The API as this page uses it: same origin, the session's cookie, and its CSRF token on whatever
// changes something. Every failure becomes one kind of error that says what was wrong and, where it
// is known, the way out; a browser without a session is sent to sign in.

let session = null;

export class ApiError extends Error {
  /** status is 0 where nobody answered at all. */
  constructor(status, title, detail, problems = []) {
    super(detail || title);
    Object.assign(this, { status, title, detail, problems });
  }
}

/** Who is signed in; asked once for each page. */
export function whoami() {
  session ??= request("GET", "/v1/session").then((response) => response.json());
  return session;
}

export const mayChange = (who) => who.role === "operator" || who.role === "admin";

export async function get(path, query = {}) {
  const pairs = Object.entries(query).filter(([, value]) => value);
  const search = pairs.length ? `?${new URLSearchParams(pairs)}` : "";
  return (await request("GET", path + search)).json();
}

/** POST, PUT or DELETE with a JSON body; the answer's JSON, or null where there is none. */
export async function send(method, path, body, extra = {}) {
  const who = path === "/v1/session" && method === "POST" ? {} : await whoami();
  const headers = { ...extra };
  if (who.csrf) headers["X-CSRF-Token"] = who.csrf;
  if (body !== undefined) headers["Content-Type"] = "application/json";
  const options = { headers, body: body === undefined ? undefined : JSON.stringify(body) };
  const response = await request(method, path, options);
  const text = await response.text();
  return text ? JSON.parse(text) : null;
}

export async function request(method, path, options = {}) {
  let response;
  try {
    response = await fetch(path, { method, credentials: "same-origin", ...options });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError(0, "No answer", "The service does not answer. It may be restarting, or the connection is gone.");
  }
  if (response.ok) return response;
  const problem = await problemOf(response);
  if (response.status === 401 && location.pathname !== "/login") toLogin();
  throw problem;
}

async function problemOf(response) {
  try {
    const said = await response.json();
    const title = said.title ?? `Answer ${response.status}`;
    return new ApiError(response.status, title, said.detail ?? "", said.problems ?? []);
  } catch {
    return new ApiError(response.status, `Answer ${response.status}`, response.statusText);
  }
}

function toLogin() {
  location.assign(`/login?next=${encodeURIComponent(location.pathname + location.search)}`);
}

/** A key for one attempt to start something, so that sending it twice starts one run. */
export function freshKey() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
