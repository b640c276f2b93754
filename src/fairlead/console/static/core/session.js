/** Who uses the console: a bearer token that lives as long as the tab does and is sent in a header
 * field only, never in an address. */

const KEY = "fairlead.token";
const USER = "fairlead.user";
const IN = "fairlead.context";
const EXPIRES = "fairlead.expires"; // of sessions of the console; pasted tokens are not ours to renew
const SESSION = "/console/session";
const CONTEXT = "/console/context";
const BEFORE = 10 * 60_000; // milliseconds before its end that a session is renewed
const LOOK_EVERY = 60_000;

/** Tells of `changed`: somebody signed in or out. */
export const session = new EventTarget();

/** @returns {string} the token, empty if nobody is signed in */
export function token() {
  return sessionStorage.getItem(KEY) ?? "";
}

/** @returns {string} who is signed in, as far as that is known */
export function userName() {
  return sessionStorage.getItem(USER) ?? "";
}

/** @returns {string} the context of the configuration, empty if the console shows one server only */
export function contextName() {
  return sessionStorage.getItem(IN) ?? "";
}

/** @param {string} text a token that its user has pasted */
export function signIn(text) {
  sessionStorage.removeItem(EXPIRES);
  sessionStorage.removeItem(USER);
  sessionStorage.setItem(KEY, text.trim());
  session.dispatchEvent(new Event("changed"));
}

/** Forget the token and all that was typed, and end the session if it is one of the console's own. */
export async function signOut() {
  const ending = sessionStorage.getItem(EXPIRES) ? token() : "";
  sessionStorage.clear();
  session.dispatchEvent(new Event("changed"));
  if (ending) await call("DELETE", ending).catch(() => {});
}

/** The server does not know this token any more. */
export function forget() {
  for (const key of [KEY, USER, EXPIRES]) sessionStorage.removeItem(key);
  session.dispatchEvent(new Event("changed"));
}

/** Whether the address is a one-time link to sign in. */
export function isLink() {
  return new URLSearchParams(location.hash.slice(1)).has("code");
}

/**
 * Exchange the code of a one-time link, which is in the part of the address that browsers keep to
 * themselves, and remove it from there.
 * @returns {Promise<string>} why that did not work; empty if it did or there is no code
 */
export async function takeLink() {
  const code = new URLSearchParams(location.hash.slice(1)).get("code");
  if (!code) return "";
  history.replaceState(null, "", location.pathname);
  // A page of somebody else could have brought it, to have things done as another user.
  if (token()) return "You are signed in already. Sign out before you use a link.";
  const response = await call("POST", "", { code });
  const answer = await response.json().catch(() => ({}));
  if (!response.ok) return answer.message ?? "this link does not work any more";
  take(answer);
  return "";
}

/**
 * Go on with another server: only a console that is served for several contexts can do that.
 * @param {string} name of the context
 */
export async function useContext(name) {
  const response = await call("POST", token(), { name }, CONTEXT);
  const answer = await response.json().catch(() => ({}));
  if (!response.ok) throw new Error(answer.message ?? `the console answered ${response.status}`);
  take(answer);
  session.dispatchEvent(new Event("changed"));
}

/** Renew the session in time, for as long as the page is open; called once. */
export function keepSession() {
  setInterval(() => void renew().catch(() => {}), LOOK_EVERY);
}

async function renew() {
  const expires = sessionStorage.getItem(EXPIRES);
  if (!expires || Date.parse(expires) - Date.now() > BEFORE) return;
  const used = token();
  const response = await call("POST", used, {});
  if (response.ok && used === token()) take(await response.json());
}

/** @param {{token: string, expires: string, context?: string, user: {username: string}}} answer */
function take(answer) {
  sessionStorage.setItem(IN, answer.context ?? "");
  sessionStorage.setItem(USER, answer.user.username);
  sessionStorage.setItem(KEY, answer.token);
  sessionStorage.setItem(EXPIRES, answer.expires);
}

/**
 * @param {string} method
 * @param {string} used
 * @param {object} [body]
 * @param {string} [path]
 */
function call(method, used, body, path = SESSION) {
  return fetch(path, {
    method,
    headers: { "Content-Type": "application/json", ...bearer(used) },
    body: body && JSON.stringify(body),
    cache: "no-store",
    credentials: "omit",
  });
}

/**
 * @param {string} text
 * @returns {Record<string, string>}
 */
export function bearer(text) {
  return text ? { Authorization: `Bearer ${text}` } : {};
}
