/** The difference of two texts, to look at. */

import { difference } from "../core/diff.js";
import { h } from "../core/dom.js";
import { coloured } from "./document.js";

/** @import {Step} from "../core/diff.js" */

const AROUND = 3; // lines shown before and after a change
const WORDS = { "+": "added", "-": "removed", " ": "" };

/**
 * @param {string[]} left
 * @param {string[]} right
 * @param {string} label
 * @returns {HTMLElement}
 */
export function showDifference(left, right, label) {
  const steps = difference(left, right);
  if (steps.every((step) => step.sign === " ")) {
    return h("p", { class: "faint", role: "status" }, "Nothing is different.");
  }
  const near = steps.map(() => false);
  steps.forEach((step, index) => {
    if (step.sign !== " ") near.fill(true, Math.max(0, index - AROUND), index + AROUND + 1);
  });
  const box = h("div", {
    class: "document mono",
    role: "region",
    "aria-label": label,
    tabindex: 0,
  });
  for (let index = 0; index < steps.length;) {
    if (near[index]) {
      box.append(row(steps[index++]));
      continue;
    }
    const start = index;
    while (index < steps.length && !near[index]) index++;
    box.append(gap(steps.slice(start, index)));
  }
  return box;
}

/** @param {Step} step */
function row(step) {
  const { sign, text, left, right } = step;
  const word = WORDS[sign];
  return h(
    "div",
    { class: `line ${word}` },
    h("span", { class: "number", "aria-hidden": "true" }, sign === "+" ? right : left),
    h("span", { class: "sign" }, sign),
    word && h("span", { class: "unseen" }, word),
    h("code", {}, coloured(text)),
  );
}

/** @param {Step[]} steps */
function gap(steps) {
  const open = () => button.replaceWith(...steps.map(row));
  const button = h(
    "button",
    { class: "line between plain", onclick: open },
    `${steps.length} lines that are the same`,
  );
  return button;
}
