/** What others changed in an object while somebody edits it. */

import { fill, h } from "../../core/dom.js";
import { showDifference } from "../../parts/difference.js";

/** @typedef {{base: string, mine: string, theirs: string}} Texts */
/** @typedef {{rebase: () => void, restart: () => void}} Choices */

/**
 * `tell` what is written now, whenever that changes.
 * @param {Texts} texts
 * @param {Choices} choices
 * @returns {{element: HTMLElement, tell: (mine: string) => void}}
 */
export function showMoved(texts, choices) {
  const [base, theirs] = [texts.base, texts.theirs].map((one) => one.split("\n"));
  const yours = h("div", { class: "part" });
  const rebase = h("button", { onclick: choices.rebase }, "Take mine on top of theirs");
  /** @param {string} mine */
  const tell = (mine) => {
    rebase.disabled = mine === texts.base;
    fill(
      yours,
      h("h2", {}, "What you changed"),
      showDifference(base, mine.split("\n"), "What you changed"),
    );
  };
  tell(texts.mine);
  const element = h(
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
      rebase,
      h("button", { onclick: choices.restart }, "Start again from theirs"),
    ),
    h(
      "div",
      { class: "two" },
      h(
        "div",
        { class: "part" },
        h("h2", {}, "What others changed"),
        showDifference(base, theirs, "What others changed"),
      ),
      yours,
    ),
  );
  return { element, tell };
}
