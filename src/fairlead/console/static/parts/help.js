/** What keys do. */

import { h } from "../core/dom.js";
import { bound } from "../core/keys.js";

/** Keys of things that may be on the page, by what they are. @type {[string, string, [string, string][]][]} */
const PARTS = [
  [
    ".grid",
    "In the list",
    [
      ["↑ ↓ j k", "go from row to row"],
      ["PgUp PgDn Home End", "go further"],
      ["Enter", "open the row"],
    ],
  ],
  [
    ".map",
    "In the map",
    [
      ["← →", "follow a line to what is joined"],
      ["↑ ↓", "go through a column"],
      ["Shift ← → ↑ ↓", "move the map"],
      ["Enter", "open the object, or a strip of many"],
    ],
  ],
  [
    ".document",
    "In a document",
    [
      ["↑ ↓ Home End", "go from line to line"],
      ["← → Enter", "fold and unfold"],
    ],
  ],
  [
    ".editor",
    "In the editor",
    [
      ["Tab", "indent"],
      ["Escape", "leave it"],
      ["Ctrl+S", "check"],
      ["Ctrl+Z", "take back"],
    ],
  ],
];

export function help() {
  const dialog = h(
    "dialog",
    { class: "help", "aria-labelledby": "help-title", onclose: () => dialog.remove() },
    h("h2", { id: "help-title" }, "Keys"),
    list(bound().map((one) => [one.key === " " ? "space" : one.key, one.says])),
    PARTS.filter(([selector]) => document.querySelector(`#main ${selector}`)).map(
      ([, title, keys]) => [h("h3", {}, title), list(keys)],
    ),
    h("button", { autofocus: true, onclick: () => dialog.close() }, "Close"),
  );
  document.body.append(dialog);
  dialog.showModal();
}

/** @param {[string, string][]} keys */
function list(keys) {
  return h(
    "dl",
    {},
    keys.map(([key, says]) => [h("dt", {}, h("kbd", {}, key)), h("dd", {}, says)]),
  );
}
