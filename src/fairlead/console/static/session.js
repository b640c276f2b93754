// Who is signed in at this tab. The token is kept in the tab's own storage and nowhere else.

const KEY = "fairlead-token";

/** @returns {string} the token of this tab, or nothing */
export const token = () => sessionStorage.getItem(KEY) ?? "";

/** @param {string} value */
export const useToken = (value) => sessionStorage.setItem(KEY, value);

/**
 * Exchange the code of a one-time link, if the page was opened by one.
 * @returns {Promise<void>}
 */
export async function enterByLink() {
  const code = new URLSearchParams(location.hash.slice(1)).get("code");
  if (!code) return;
  history.replaceState(null, "", location.pathname);
  const answer = await fetch("/console/session", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ code }),
  });
  const told = await answer.json();
  if (!answer.ok) throw new Error(told.message);
  useToken(told.token);
}

/** @returns {Promise<void>} */
export async function leave() {
  const headers = { Authorization: `Bearer ${token()}` };
  sessionStorage.removeItem(KEY);
  await fetch("/console/session", { method: "DELETE", headers });
}
