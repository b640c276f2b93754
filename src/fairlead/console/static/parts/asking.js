/** One question, before something that cannot be taken back. */

import { h } from "../core/dom.js";

/**
 * @param {string} question
 * @param {string} yes what the button says that does it
 * @returns {Promise<boolean>}
 */
export function ask(question, yes) {
  return new Promise((resolve) => {
    const dialog = h(
      "dialog",
      {
        "aria-labelledby": "question",
        onclose: () => {
          dialog.remove();
          resolve(dialog.returnValue === "yes");
        },
      },
      h("p", { id: "question", class: "wrap" }, question),
      h(
        "div",
        { class: "bar" },
        h("button", { class: "primary", onclick: () => dialog.close("yes") }, yes),
        h("button", { autofocus: true, onclick: () => dialog.close("no") }, "Cancel"),
      ),
    );
    document.body.append(dialog);
    dialog.showModal();
  });
}
