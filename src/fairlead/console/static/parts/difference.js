/** The difference of two texts, to look at. */

import { difference } from "../core/diff.js";
import { h } from "../core/dom.js";
import { coloured } from "./document.js";

/** @import {Step} from "../core/diff.js" */
/** A line, or many that are the same. @typedef {Step | Step[]} Part */

const AROUND = 3; // lines shown before and after a change
const MAX_LINES = 1000; // lines that are shown without being asked for
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
  return h(
    "div",
    { class: "document mono", role: "region", "aria-label": label, tabindex: 0 },
    shown(partsOf(steps)),
  );
}

/**
 * @param {Step[]} steps
 * @returns {Part[]}
 */
function partsOf(steps) {
  const near = steps.map(() => false);
  steps.forEach((step, index) => {
    if (step.sign !== " ") near.fill(true, Math.max(0, index - AROUND), index + AROUND + 1);
  });
  /** @type {Part[]} */
  const parts = [];
  for (let index = 0; index < steps.length;) {
    const start = index;
    while (index < steps.length && !near[index]) index++;
    if (index > start) parts.push(steps.slice(start, index));
    else parts.push(steps[index++]);
  }
  return parts;
}

/**
 * As many lines as a browser shows without freezing, and a button for those after them.
 * @param {Part[]} parts
 * @returns {HTMLElement[]}
 */
function shown(parts) {
  const rest = parts.slice(MAX_LINES);
  const rows = parts
    .slice(0, MAX_LINES)
    .map((one) =>
      Array.isArray(one)
        ? later(
            one,
            one.length === 1 ? "1 line that is the same" : `${one.length} lines that are the same`,
          )
        : row(one),
    );
  return rest.length ? [...rows, later(rest, `${rest.flat().length} more lines`)] : rows;
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

/**
 * A button in the place of lines until they are asked for.
 * @param {Part[]} parts
 * @param {string} says
 */
function later(parts, says) {
  const open = () => {
    button.parentElement?.focus(); // which would go with the button
    button.replaceWith(...shown(parts));
  };
  const button = h("button", { class: "line between plain", onclick: open }, says);
  return button;
}
