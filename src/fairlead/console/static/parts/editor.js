/** A place to write YAML: numbered and coloured lines, with notes beside them. Tab indents; Escape
 * leaves, so that the keyboard is not caught. */

import { fill, h, visible } from "../core/dom.js";
import { coloured } from "./document.js";

/** @import {Problem} from "../core/problems.js" */
/**
 * @typedef {object} EditorOptions
 * @property {string} label
 * @property {() => void} changed
 * @property {() => void} check what Ctrl+S does
 * @property {() => void} leave what Escape does
 */

const INDENT = "  ";
const MAX_LINES = 4000; // lines that are coloured

export class Editor {
  /** @type {string[]} */
  #lines = [];
  /** @type {Map<number, string>} */
  #notes = new Map();

  /** @param {EditorOptions} options */
  constructor(options) {
    this.options = options;
    this.under = h("div", { class: "under", "aria-hidden": "true" });
    this.area = h("textarea", {
      wrap: "off",
      spellcheck: "false",
      autocomplete: "off",
      autocapitalize: "off",
      "aria-label": options.label,
      "aria-description": "Tab indents, Escape leaves, Control S checks",
      oninput: () => this.#changed(),
      onkeydown: (/** @type {KeyboardEvent} */ event) => this.#pressed(event),
      onscroll: () => this.#scrolled(),
    });
    this.element = h("div", { class: "editor mono" }, this.under, this.area);
  }

  get text() {
    return this.area.value;
  }

  /** Begin with a text. */
  set text(text) {
    this.area.value = text;
    this.#draw();
  }

  /**
   * Put another text in place of all; it can be taken back as if it had been typed.
   * @param {string} text
   */
  replace(text) {
    this.area.focus();
    this.area.select();
    this.#insert(text);
    this.area.setSelectionRange(0, 0);
    this.area.scrollTop = 0;
    this.#changed();
  }

  /**
   * Say something beside lines, in place of what was said before.
   * @param {Problem[]} problems
   */
  note(problems) {
    this.#notes = new Map();
    for (const { line, says } of problems) {
      if (line >= 0)
        this.#notes.set(line, [this.#notes.get(line), says].filter(Boolean).join("; "));
    }
    this.#lines = [];
    this.#draw();
  }

  /** @param {number} line */
  goTo(line) {
    const lines = this.text.split("\n");
    const start = lines.slice(0, line).join("\n").length + (line ? 1 : 0);
    this.area.focus();
    this.area.setSelectionRange(start, start + (lines[line] ?? "").length);
    const height = this.area.scrollHeight / lines.length;
    this.area.scrollTop = Math.max(0, (line - 3) * height);
    this.area.scrollLeft = 0;
  }

  #changed() {
    this.#draw();
    this.options.changed();
  }

  /** @param {KeyboardEvent} event */
  #pressed(event) {
    if (event.key === "Escape") this.options.leave();
    else if (event.key === "s" && (event.ctrlKey || event.metaKey)) this.options.check();
    else if (event.key === "Tab" && !event.shiftKey && !event.ctrlKey && !event.altKey) {
      this.#indent();
    } else if (event.key !== "Enter" || !this.#goOn()) return;
    event.preventDefault();
  }

  /** Move all lines of the selection in, or insert what a line is moved by. */
  #indent() {
    const { selectionStart, selectionEnd, value } = this.area;
    if (!value.slice(selectionStart, selectionEnd).includes("\n")) return this.#insert(INDENT);
    const start = value.lastIndexOf("\n", selectionStart - 1) + 1;
    this.area.setSelectionRange(start, selectionEnd);
    const moved = value.slice(start, selectionEnd).replace(/^(?=[^\n])/gm, INDENT);
    this.#insert(moved);
    this.area.setSelectionRange(start, start + moved.length);
  }

  /**
   * At the end of a line the next one begins below it.
   * @returns {boolean} whether that was so
   */
  #goOn() {
    const { selectionStart: at, selectionEnd, value } = this.area;
    if (at !== selectionEnd || !/^(\n|$)/.test(value.slice(at, at + 1))) return false;
    const line = value.slice(value.lastIndexOf("\n", at - 1) + 1, at);
    this.#insert(`\n${/^ */.exec(line)?.[0] ?? ""}`);
    return true;
  }

  /** @param {string} text in place of what is selected */
  #insert(text) {
    // The one way that the browser's own undo knows of.
    if (document.execCommand("insertText", false, text)) return;
    const { selectionStart, selectionEnd } = this.area;
    this.area.setRangeText(text, selectionStart, selectionEnd, "end");
    this.#changed();
  }

  /** Draw the lines that are not as they were. */
  #draw() {
    const lines = this.text.split("\n");
    // What is coloured lies below the text, and would be longer than it.
    const isPlain = lines.length > MAX_LINES || visible(this.text) !== this.text;
    this.element.classList.toggle("uncoloured", isPlain);
    if (isPlain || !this.#lines.length) {
      fill(this.under, isPlain ? [] : lines.map((text, index) => this.#row(text, index)));
      this.#lines = isPlain ? [] : lines;
      return this.#scrolled();
    }
    const old = this.#lines;
    const least = Math.min(old.length, lines.length);
    let start = 0;
    while (start < least && old[start] === lines[start]) start++;
    let end = 0;
    while (end < least - start && old[old.length - 1 - end] === lines[lines.length - 1 - end])
      end++;
    const rows = [...this.under.children].slice(start, old.length - end);
    const after = this.under.children[old.length - end] ?? null;
    for (const row of rows) row.remove();
    for (const text of lines.slice(start, lines.length - end)) {
      this.under.insertBefore(this.#row(text, -1), after);
    }
    this.#lines = lines;
    this.#scrolled();
  }

  /**
   * @param {string} text
   * @param {number} index
   */
  #row(text, index) {
    const note = this.#notes.get(index);
    return h(
      "div",
      { class: note ? "line noted" : "line" },
      h("code", {}, text ? coloured(text) : "\n"),
      note && h("span", { class: "beside" }, `← ${note}`),
    );
  }

  #scrolled() {
    this.under.scrollTop = this.area.scrollTop;
    this.under.scrollLeft = this.area.scrollLeft;
  }
}
