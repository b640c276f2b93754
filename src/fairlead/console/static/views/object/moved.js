/** What others changed in an object while somebody edits it. */

import { h } from "../../core/dom.js";
import { showDifference } from "../../parts/difference.js";

/** @typedef {{base: string, mine: string, theirs: string}} Texts */
/** @typedef {{rebase: () => void, restart: () => void}} Choices */

/**
 * @param {Texts} texts
 * @param {Choices} choices
 */
export function showMoved(texts, choices) {
  const [base, mine, theirs] = [texts.base, texts.mine, texts.theirs].map((one) => one.split("\n"));
  const isChanged = texts.mine !== texts.base;
  return h(
    "section",
    { "aria-label": "Changed meanwhile" },
    h(
      "p",
      { class: "warning", role: "alert" },
      "It was changed by others since you began. To save, choose first:",
    ),
    h(
      "div",
      { class: "bar" },
      isChanged && h("button", { onclick: choices.rebase }, "Take mine on top of theirs"),
      h("button", { onclick: choices.restart }, "Start again from theirs"),
    ),
    h(
      "div",
      { class: "two" },
      part("What others changed", showDifference(base, theirs, "What others changed")),
      isChanged && part("What you changed", showDifference(base, mine, "What you changed")),
    ),
  );
}

/**
 * @param {string} title
 * @param {HTMLElement} shown
 */
function part(title, shown) {
  return h("div", { class: "part" }, h("h2", {}, title), shown);
}
