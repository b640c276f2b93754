import { enterByLink, leave, token, useToken } from "./session.js";

/** @param {string} id */
const at = (id) => /** @type {HTMLElement} */ (document.getElementById(id));

async function show() {
  if (!token()) {
    at("state").textContent = "Paste a token, or run: fairlead console";
    return;
  }
  const answer = await fetch("/api/v1/namespaces", {
    headers: { Authorization: `Bearer ${token()}` },
  });
  const told = await answer.json();
  at("state").textContent = answer.ok
    ? told.items.map((/** @type {any} */ one) => one.metadata.name).join(", ")
    : told.message;
}

at("sign-in").addEventListener("click", () => {
  useToken(/** @type {HTMLInputElement} */ (at("token")).value.trim());
  show();
});
at("sign-out").addEventListener("click", () => leave().then(show));
enterByLink()
  .then(show)
  .catch((error) => {
    at("state").textContent = error.message;
  });
