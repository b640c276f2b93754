/** The way in: a token, or the link that `fairlead console` opens. */

import { fill, h } from "../core/dom.js";
import { signIn } from "../core/session.js";
import { problem } from "../parts/messages.js";

/**
 * @param {HTMLElement} host
 * @param {string} why nobody is signed in, if that needs a word
 */
export function showSignIn(host, why) {
  document.title = "Sign in · Fairlead";
  const field = h("input", {
    id: "token",
    type: "password",
    autocomplete: "off",
    spellcheck: "false",
    required: true,
  });
  fill(
    host,
    h(
      "main",
      { class: "sign-in" },
      h("h1", {}, "Fairlead"),
      why && problem(why),
      h(
        "form",
        {
          onsubmit: (/** @type {Event} */ event) => {
            event.preventDefault();
            signIn(field.value);
          },
        },
        h("label", { for: "token" }, "Token"),
        field,
        h("button", { class: "primary" }, "Sign in"),
      ),
      h(
        "p",
        { class: "faint" },
        "Or run ",
        h("code", {}, "fairlead console"),
        ", which opens this page for the user of your kubeconfig.",
      ),
    ),
  );
  field.focus();
}
