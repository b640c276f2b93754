/** A table of any length: only what can be seen is in the document. */

import { fill, h } from "../core/dom.js";

/** @typedef {{title: string, width: string, hint?: string, key?: string}} GridColumn */
/**
 * @template R
 * @typedef {object} GridOptions
 * @property {string} label what it is a table of
 * @property {(row: R) => (Node | string)[]} cells of a row
 * @property {(row: R) => string} [mark] a class of a row
 * @property {(row: R) => void} open what to do with a chosen row
 * @property {(column: number) => void} sort
 * @property {(row: R) => object} [identity] what a row shows, where rows are made anew; it is drawn again when that is another one
 * @property {(row: R) => boolean} [isPicked] whether something is to be done with a row
 * @property {(row: R) => void} [pick] pick a row, or drop it
 */

const HEIGHT = 28; // of a row, as in style.css
const BETWEEN = 0.75; // rem of room beside a column, as in style.css
const BEYOND = 8; // rows above and below what can be seen

/**
 * A grid with one row chosen by arrow keys. Call `show` whenever rows or columns changed.
 * @template R
 */
export class Grid {
  /** @type {R[]} */
  #rows = [];
  /** @type {GridColumn[]} */
  #columns = [];
  #chosen = 0;
  #sorted = { column: -1, descending: false };
  /** Lines that need not be drawn again, by what they show. @type {Map<unknown, {state: string, line: HTMLElement}>} */
  #drawn = new Map();

  /** @param {GridOptions<R>} options */
  constructor(options) {
    this.options = options;
    this.head = h("div", { class: "grid-head", role: "row" });
    this.body = h("div", { class: "grid-body", role: "rowgroup" });
    this.element = h(
      "div",
      {
        class: "grid",
        role: "grid",
        tabindex: 0,
        "aria-label": options.label,
        onkeydown: this.#pressed,
        onscroll: () => this.#draw(),
      },
      h("div", { class: "grid-top", role: "rowgroup" }, this.head),
      this.body,
    );
    new ResizeObserver(() => this.#draw()).observe(this.element);
  }

  /**
   * @param {GridColumn[]} columns
   * @param {R[]} rows
   * @param {{column: number, descending: boolean}} sorted
   */
  show(columns, rows, sorted) {
    this.#rows = rows;
    const template = columns.map((one) => one.width).join(" ");
    if (columns !== this.#columns || sorted !== this.#sorted) {
      this.#columns = columns;
      this.#sorted = sorted;
      this.#drawn.clear();
      this.element.style.setProperty("--columns", template);
      this.element.style.setProperty("--least", leastWidth(columns));
      fill(
        this.head,
        columns.map((one, index) => this.#title(one, index)),
      );
    }
    this.element.setAttribute("aria-rowcount", String(rows.length + 1));
    this.body.style.setProperty("height", `${rows.length * HEIGHT}px`);
    this.#chosen = Math.max(0, Math.min(this.#chosen, rows.length - 1));
    this.#draw();
  }

  /** The row that keys act on. */
  get chosen() {
    return this.#rows.at(this.#chosen);
  }

  /** Draw all lines again: time has gone by. */
  renew() {
    this.#drawn.clear();
    this.#draw();
  }

  focus() {
    this.element.focus();
  }

  /**
   * @param {GridColumn} column
   * @param {number} index
   */
  #title(column, index) {
    const { column: by, descending } = this.#sorted;
    const order = by !== index ? "none" : descending ? "descending" : "ascending";
    return h(
      "div",
      { role: "columnheader", "aria-sort": order },
      h(
        "button",
        { class: "plain", title: column.hint, onclick: () => this.options.sort(index) },
        column.title,
        h(
          "span",
          { class: "order", "aria-hidden": "true" },
          { none: "", ascending: " ↑", descending: " ↓" }[order],
        ),
      ),
    );
  }

  #draw() {
    const { scrollTop, clientHeight } = this.element;
    const lowest = Math.max(0, this.#rows.length * HEIGHT - clientHeight); // it may just have shrunk
    const top = Math.max(0, Math.min(scrollTop - HEIGHT, lowest));
    const first = Math.max(0, Math.floor(top / HEIGHT) - BEYOND);
    const last = Math.min(this.#rows.length, Math.ceil((top + clientHeight) / HEIGHT) + BEYOND);
    this.body.style.setProperty("padding-top", `${first * HEIGHT}px`);
    const kept = this.#drawn;
    this.#drawn = new Map();
    const lines = this.#rows.slice(first, last).map((row, offset) => {
      const index = first + offset;
      const known = this.options.identity?.(row) ?? row;
      const state = this.#stateOf(row, index);
      const old = kept.get(known);
      const line = old?.state === state ? old.line : this.#line(row, index);
      this.#drawn.set(known, { state, line });
      return line;
    });
    place(this.body, lines);
    const chosen = this.#rows.length ? rowId(this.#chosen) : "";
    if (chosen) this.element.setAttribute("aria-activedescendant", chosen);
    else this.element.removeAttribute("aria-activedescendant");
  }

  /**
   * What else decides how a line looks.
   * @param {R} row
   * @param {number} index
   */
  #stateOf(row, index) {
    const mark = this.options.mark?.(row) ?? "";
    return `${index} ${index === this.#chosen} ${this.options.isPicked?.(row)} ${mark}`;
  }

  /**
   * @param {R} row
   * @param {number} index
   */
  #line(row, index) {
    const isChosen = index === this.#chosen;
    const mark = this.options.mark?.(row) ?? "";
    return h(
      "div",
      {
        class: `grid-row ${mark}`,
        role: "row",
        id: rowId(index),
        "aria-rowindex": index + 2,
        "aria-selected": String(isChosen),
        onclick: () => {
          this.#choose(index);
          this.options.open(row);
        },
      },
      this.options
        .cells(row)
        .map((cell, at) =>
          h("div", { role: "gridcell" }, !at && this.options.pick && this.#picker(row), cell),
        ),
    );
  }

  /** @param {R} row */
  #picker(row) {
    const isPicked = this.options.isPicked?.(row) ?? false;
    const pick = (/** @type {Event} */ event) => {
      event.stopPropagation();
      this.pick(row);
    };
    return [
      h("span", {
        class: `pick ${isPicked ? "picked" : ""}`,
        "aria-hidden": "true",
        onclick: pick,
      }),
      isPicked && h("span", { class: "unseen" }, "picked "),
    ];
  }

  /**
   * Pick a row, or drop it: the one that keys act on, if none is named.
   * @param {R | undefined} row
   */
  pick(row = this.chosen) {
    if (row === undefined) return;
    this.options.pick?.(row);
    this.#draw();
  }

  /** @param {KeyboardEvent} event */
  #pressed = (event) => {
    if (event.target !== this.element) return;
    const page = Math.max(1, Math.floor(this.element.clientHeight / HEIGHT) - 2);
    /** @type {Record<string, number>} */
    const steps = {
      ArrowDown: 1,
      ArrowUp: -1,
      j: 1,
      k: -1,
      PageDown: page,
      PageUp: -page,
      Home: -Infinity,
      End: Infinity,
    };
    const row = this.chosen;
    if (event.key === "Enter" && row !== undefined) this.options.open(row);
    else if (event.key in steps) this.#choose(this.#chosen + steps[event.key]);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };

  /** @param {number} index */
  #choose(index) {
    this.#chosen = Math.max(0, Math.min(index, this.#rows.length - 1));
    const top = this.#chosen * HEIGHT;
    const room = this.element.clientHeight - 2 * HEIGHT;
    if (top < this.element.scrollTop) this.element.scrollTop = top;
    else if (top > this.element.scrollTop + room) this.element.scrollTop = top - room;
    this.#draw();
  }
}

/**
 * How wide a grid is at least. What its cells hold does not count: a long one would make all wide.
 * @param {GridColumn[]} columns
 */
function leastWidth(columns) {
  const widths = columns.map(({ width }) => /[\d.]+rem/.exec(width)?.[0] ?? "4rem");
  return `calc(${[...widths, `${columns.length * BETWEEN}rem`].join(" + ")})`;
}

/**
 * Put lines into an element, and move none that is in its place.
 * @param {Element} host
 * @param {HTMLElement[]} lines
 */
function place(host, lines) {
  const wanted = new Set(lines);
  for (const one of [...host.children])
    if (!wanted.has(/** @type {HTMLElement} */ (one))) one.remove();
  let at = host.firstChild;
  for (const line of lines) {
    if (at === line) at = line.nextSibling;
    else host.insertBefore(line, at);
  }
}

/** @param {number} index */
function rowId(index) {
  return `row-${index}`;
}
