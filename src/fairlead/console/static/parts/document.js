/** YAML to look at: coloured, with parts that can be folded. */

import { fill, h } from "../core/dom.js";

/** @import {Children} from "../core/dom.js" */
/** @import {Line, Path} from "../core/yaml_lines.js" */
/**
 * What else there is to a line: a class for it, and something shown at its end.
 * @typedef {{mark?: string, note?: Children, hint?: string, style?: Record<string, string>}} Extra
 */

const PARTS = /^(\s*)((?:- )*)(?:("(?:[^"\\]|\\.)*"|[^\s"'#:][^:]*?)(:)(?= |$))?(.*)$/;
/** @type {Record<string, number>} */
const STEPS = { ArrowDown: 1, ArrowUp: -1, Home: -Infinity, End: Infinity };
const MAX_LINES = 5000; // lines that are shown without being asked for

/** A document. `show` replaces what is in it; what was folded stays so. Arrow keys go from line to
 * line (`looked` is told of each), to the sides they fold and unfold. */
export class Document {
  /** @type {Set<string>} */
  #folded = new Set();
  #current = "";
  /** @type {(line: Line) => void} */
  looked = () => {};
  /** @type {Line[]} */
  #lines = [];
  /** @type {Line[]} */
  #shown = [];
  /** @type {(line: Line) => Extra} */
  #extra = () => ({});
  #maximum = MAX_LINES;

  /** @param {string} label */
  constructor(label) {
    this.element = h("div", {
      class: "document mono",
      role: "region",
      "aria-label": label,
      tabindex: 0,
      onkeydown: (/** @type {KeyboardEvent} */ event) => this.#pressed(event),
    });
  }

  /**
   * @param {Line[]} lines
   * @param {(line: Line) => Extra} [extra]
   */
  show(lines, extra = () => ({})) {
    this.#lines = lines;
    this.#extra = extra;
    this.#draw();
  }

  /**
   * Go to the line of a path, unfolding what hides it.
   * @param {Path} path
   */
  goTo(path) {
    const line = this.#lines.find((one) => keyOf(one) === JSON.stringify(path));
    if (!line) return;
    for (const key of [...this.#folded]) {
      const around = JSON.parse(key);
      if (
        around.every((/** @type {unknown} */ step, /** @type {number} */ at) => step === path[at])
      )
        this.#folded.delete(key);
    }
    this.#draw();
    this.element.focus();
    this.#look(line);
  }

  /** @param {KeyboardEvent} event */
  #pressed(event) {
    const shown = this.#shown;
    const at = shown.findIndex((line) => keyOf(line) === this.#current);
    const line = shown[at];
    const step = STEPS[event.key];
    if (step) {
      // Lines of one text have one path: go on until it is another one.
      let next = at < 0 ? 0 : Math.max(0, Math.min(at + step, shown.length - 1));
      while (step === 1 && shown[next + 1] && at >= 0 && keyOf(shown[next]) === this.#current)
        next++;
      if (shown[next]) this.#look(shown[next]);
    } else if (line && ["ArrowLeft", "ArrowRight", "Enter"].includes(event.key)) {
      const isFolded = this.#folded.has(keyOf(line));
      if (event.key === "Enter" || isFolded === (event.key === "ArrowRight")) this.#fold(line);
    } else return;
    event.preventDefault();
  }

  /** @param {Line} line */
  #look(line) {
    this.#current = keyOf(line);
    const rows = this.element.querySelectorAll(".line");
    for (const [index, one] of this.#shown.entries()) {
      rows[index]?.classList.toggle("current", keyOf(one) === this.#current);
    }
    rows[this.#shown.indexOf(line)]?.scrollIntoView({ block: "nearest" });
    this.looked(line);
  }

  /** @param {Line} line */
  #fold(line) {
    const index = this.#lines.indexOf(line);
    if (!this.#opens(index)) return;
    const key = keyOf(line);
    if (!this.#folded.delete(key)) this.#folded.add(key);
    this.#current = key;
    this.#draw();
    this.element.focus({ preventScroll: true });
  }

  #draw() {
    const shown = [];
    this.#shown = [];
    let hidden = -1; // the depth of what is folded, while we are in it
    for (const [index, line] of this.#lines.entries()) {
      if (hidden >= 0 && isInside(line, hidden)) continue;
      hidden = -1;
      if (shown.length === this.#maximum) {
        shown.push(this.#rest(this.#lines.length - index));
        break;
      }
      const opens = this.#opens(index);
      const isFolded = opens && this.#folded.has(keyOf(line));
      if (isFolded) hidden = line.depth + (line.text.trimStart().startsWith("- ") ? 0.5 : 0);
      this.#shown.push(line);
      shown.push(this.#line(line, index, opens, isFolded));
    }
    fill(this.element, shown);
  }

  /** @param {number} left */
  #rest(left) {
    const more = () => {
      this.#maximum = Infinity;
      this.#draw();
    };
    return h("button", { onclick: more }, `${left} more lines`);
  }

  /** @param {number} index */
  #opens(index) {
    const line = this.#lines[index];
    const next = this.#lines[index + 1];
    if (!next) return false;
    return (
      next.depth > line.depth || (next.path.length > line.path.length && isInside(next, line.depth))
    );
  }

  /**
   * @param {Line} line
   * @param {number} index
   * @param {boolean} opens
   * @param {boolean} isFolded
   */
  #line(line, index, opens, isFolded) {
    const { mark = "", note, hint, style } = this.#extra(line);
    const current = keyOf(line) === this.#current ? "current" : "";
    return h(
      "div",
      {
        class: `line ${mark} ${current}`,
        title: hint,
        style,
        onclick: () => this.#look(line),
      },
      h("span", { class: "number", "aria-hidden": "true" }, index + 1),
      opens
        ? h(
            "button",
            {
              class: "fold plain",
              tabindex: -1,
              "aria-expanded": String(!isFolded),
              "aria-label": `Fold line ${index + 1}`,
              onclick: () => this.#fold(line),
            },
            isFolded ? "▸" : "▾",
          )
        : h("span", { class: "fold" }),
      h("code", {}, coloured(line.text), isFolded && h("span", { class: "faint" }, " …")),
      note !== undefined && h("span", { class: "note" }, note),
    );
  }
}

/**
 * Whether a line belongs to what was opened at a depth: it is further in, or an item of its list.
 * @param {Line} line
 * @param {number} depth
 */
function isInside(line, depth) {
  return line.depth > depth || (line.depth === depth && line.text.trimStart().startsWith("- "));
}

/** @param {Line} line */
function keyOf(line) {
  return JSON.stringify(line.path);
}

/**
 * A line of YAML with its key and its value told apart.
 * @param {string} text
 * @returns {Children}
 */
export function coloured(text) {
  const [, indent, dashes, key, colon, value] = PARTS.exec(text) ?? ["", "", "", "", "", text];
  return [
    indent,
    dashes && h("span", { class: "faint" }, dashes),
    key && h("span", { class: "key" }, key),
    colon,
    value && h("span", { class: kindOf(value.trim()) }, value),
  ];
}

/** @param {string} value */
function kindOf(value) {
  if (/^[-+]?[\d.]+$/.test(value)) return "number-value";
  if (/^(true|false|null|\{\}|\[\])$/.test(value)) return "word-value";
  return "text-value";
}

/**
 * Lines of a text that somebody else wrote; they have no paths of their own.
 * @param {string} text
 * @returns {Line[]}
 */
export function textLines(text) {
  const lines = text.replace(/\n$/, "").split("\n");
  return lines.map((one, index) => ({
    text: one,
    path: [index],
    depth: (one.length - one.trimStart().length) / 2,
  }));
}
