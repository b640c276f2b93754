/** What others changed in an object while somebody edits it. */

import { fill, h } from "../../core/dom.js";
import { showDifference } from "../../parts/difference.js";

/** @typedef {{base: string, mine: string, theirs: string}} Texts */
/** @typedef {{rebase: () => void, restart: () => void}} Choices */

/**
 * A line that says so and what can be done, and the changes in full. `tell` what is written now,
 * whenever that changes.
 * @param {Texts} texts
 * @param {Choices} choices
 * @returns {{line: HTMLElement, full: HTMLElement, tell: (mine: string) => void}}
 */
export function showMoved(texts, choices) {
  const [base, theirs] = [texts.base, texts.theirs].map((one) => one.split("\n"));
  const yours = h("div", { class: "part" });
  const rebase = h("button", { onclick: choices.rebase }, "Take mine on top of theirs");
  /** @param {string} mine */
  const tell = (mine) => {
    rebase.disabled = mine === texts.base;
    const shown = showDifference(base, mine.split("\n"), "What you changed");
    fill(yours, h("h2", {}, "What you changed"), shown);
  };
  tell(texts.mine);
  const line = h(
    "div",
    { class: "bar" },
    h("p", { class: "warning", role: "alert" }, "It was changed by others since you began."),
    rebase,
    h("button", { onclick: choices.restart }, "Start again from theirs"),
  );
  const others = showDifference(base, theirs, "What others changed");
  const full = h(
    "div",
    { class: "two" },
    h("div", { class: "part" }, h("h2", {}, "What others changed"), others),
    yours,
  );
  return { line, full, tell };
}
