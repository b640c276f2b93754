/** What keys do. */

import { h } from "../core/dom.js";
import { bound } from "../core/keys.js";

export function help() {
  const dialog = h(
    "dialog",
    { class: "help", "aria-labelledby": "help-title", onclose: () => dialog.remove() },
    h("h2", { id: "help-title" }, "Keys"),
    h(
      "dl",
      {},
      bound().flatMap((one) => [
        h("dt", {}, h("kbd", {}, one.key === " " ? "space" : one.key)),
        h("dd", {}, one.says),
      ]),
    ),
    h("button", { autofocus: true, onclick: () => dialog.close() }, "Close"),
  );
  document.body.append(dialog);
  dialog.showModal();
}
