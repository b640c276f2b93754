/** Who uses the console: a bearer token that lives as long as the tab does and is sent in a header
 * field only, never in an address. */

const KEY = "fairlead.token";
const SESSION = "/console/session";

/** Tells of `changed`: somebody signed in or out. */
export const session = new EventTarget();

/** @returns {string} the token, empty if nobody is signed in */
export function token() {
  return sessionStorage.getItem(KEY) ?? "";
}

/** @param {string} text a token that its user has pasted */
export function signIn(text) {
  sessionStorage.setItem(KEY, text.trim());
  session.dispatchEvent(new Event("changed"));
}

/** Forget the token and all that was kept with it, and end the session if it is one of the console's
 * own. */
export async function signOut() {
  const ending = token();
  sessionStorage.clear();
  forget();
  await fetch(SESSION, { method: "DELETE", headers: bearer(ending), cache: "no-store" }).catch(
    () => {},
  );
}

/** The server does not know this token any more. */
export function forget() {
  sessionStorage.removeItem(KEY);
  session.dispatchEvent(new Event("changed"));
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
  const response = await fetch(SESSION, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ code }),
    cache: "no-store",
  });
  const answer = await response.json().catch(() => ({}));
  if (!response.ok) return answer.message ?? "this link does not work any more";
  signIn(answer.token);
  return "";
}

/**
 * @param {string} text
 * @returns {Record<string, string>}
 */
export function bearer(text) {
  return text ? { Authorization: `Bearer ${text}` } : {};
}
