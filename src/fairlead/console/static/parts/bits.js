/** Small things that many views are made of. */

import { h } from "../core/dom.js";

/** @import {Child, Children} from "../core/dom.js" */

/** @param {...Children} children */
export function faint(...children) {
  return h("span", { class: "faint" }, ...children);
}

/** @param {...Children} children */
export function bar(...children) {
  return h("div", { class: "bar" }, ...children);
}

/**
 * A number of things in words.
 * @param {number} count
 * @param {string} thing one of them
 */
export function counted(count, thing) {
  return `${count} ${thing}${count === 1 ? "" : "s"}`;
}

/**
 * A field of a form, with its label above it.
 * @param {string} label
 * @param {HTMLElement} control
 */
export function labelled(label, control) {
  return h("label", { class: "stacked" }, label, control);
}

/**
 * @param {string} [empty] what it means to leave it empty
 * @param {Record<string, unknown>} [properties]
 */
export function field(empty, properties) {
  const usual = { size: 11, autocomplete: "off", spellcheck: "false" };
  return h("input", { ...usual, placeholder: empty, ...properties });
}

/**
 * @param {string} button
 * @param {() => void} run
 * @param {...Children} fields
 */
export function form(button, run, ...fields) {
  const submitted = (/** @type {Event} */ event) => {
    event.preventDefault();
    run();
  };
  const last = h("button", { class: "primary" }, button);
  return h("form", { class: "bar asking", onsubmit: submitted }, ...fields, last);
}

/**
 * A table as it is: for few rows.
 * @param {string} label
 * @param {string[]} titles
 * @param {Child[][]} rows
 */
export function plainTable(label, titles, rows) {
  const head = titles.map((one) => (one ? h("th", { scope: "col" }, one) : h("td")));
  const made = h(
    "table",
    { class: "plain", "aria-label": label },
    h("thead", {}, h("tr", {}, head)),
    h("tbody", {}, rows.map(line)),
  );
  const named = { role: "region", "aria-label": `Table: ${label}` };
  return h("div", { class: "scrolled", ...named, tabindex: 0 }, made);
}

/** @param {Child[]} cells */
function line(cells) {
  const made = cells.map((cell) => h("td", {}, cell));
  return h("tr", {}, made);
}

/** @param {string} text */
export function wordsOf(text) {
  return text.split(/[\s,]+/).filter(Boolean);
}
