/** What of a live table is shown, and in which order. */

import { h } from "../core/dom.js";
import { keep } from "../core/router.js";
import { age } from "../core/time.js";

/** @import {Column, LiveTable, Row} from "../core/live_table.js" */
/** @import {GridColumn} from "../parts/grid.js" */

/** @typedef {string | number} Key that rows are sorted by */

const AGE = "Age";
const NAMESPACE = -1; // the place of the column that only lists of all namespaces have
const STATES = /^(status|state|phase)$/i; // columns that come first where there is little room
const NARROW = "(max-width: 700px)";
const FEW = 500; // rows that are put in their places one by one
const BAD =
  /^(init:)?(error|failed|crashloopbackoff|imagepullbackoff|errimagepull|invalidimagename|create\w+error|runcontainererror|starterror|outof\w+|evicted|unknown|notready|lost|oomkilled)/i;
const WARN = /^(pending|terminating|containercreating|podinitializing|init:|suspended)|disabled$/i;
const READY = /^ready$/i; // a column with how many of how many are ready
const OVER = /^(completed|succeeded)$/i; // the state of what need not be ready any more

/** The rows of a table that a filter lets through, sorted by a column. */
export class Shown {
  sorted = { column: -1, descending: false };
  /** @type {Row[]} */
  #ordered = [];
  /** @type {Map<string, Row> | null} */
  #source = null;
  /** @type {GridColumn[]} */
  #columns = [];
  /** @type {Column[]} */
  #known = [];
  /** @type {number[]} */
  #places = [];

  /**
   * @param {LiveTable} table
   * @param {boolean} withNamespace
   * @param {URLSearchParams} query
   */
  constructor(table, withNamespace, query) {
    this.table = table;
    this.withNamespace = withNamespace;
    this.filter = query.get("filter") ?? "";
    if (query.get("sort"))
      this.sorted = { column: Number(query.get("sort")), descending: query.has("descending") };
  }

  columns() {
    if (this.#known === this.table.columns) return this.#columns;
    this.#known = this.table.columns;
    const own = this.#known.flatMap((one, index) => (one.priority ? [] : [index]));
    this.#places = this.withNamespace ? [NAMESPACE, ...own] : own;
    const isNarrow = matchMedia(NARROW).matches;
    if (isNarrow) this.#places.sort((a, b) => rankOf(this.#known[a]) - rankOf(this.#known[b]));
    this.#columns = this.#places.map((index) => {
      const one = this.#known[index];
      const width = isNarrow ? narrowWidthOf(one) : widthOf(one);
      return { title: one?.name ?? "Namespace", width, hint: one?.description };
    });
    return this.#columns;
  }

  /** @param {Row} row */
  cells(row) {
    return this.#places.map((index) =>
      index === NAMESPACE ? row.namespace : this.#cell(row, index),
    );
  }

  /** Take in what changed: a few rows are put in their places, else all are sorted. */
  refresh() {
    const { rows, touched } = this.table;
    this.columns();
    if (rows !== this.#source || touched.size > FEW) {
      this.#source = rows;
      this.#ordered = [...rows.values()];
      this.#order();
      return;
    }
    this.#ordered = this.#ordered.filter((row) => !touched.has(row.id));
    for (const id of touched) {
      const row = rows.get(id);
      if (row) this.#ordered.splice(this.#placeOf(row), 0, row);
    }
  }

  rows() {
    const words = this.filter.toLowerCase().split(/\s+/).filter(Boolean);
    if (!words.length) return this.#ordered;
    return this.#ordered.filter((row) => words.every((word) => row.text.includes(word)));
  }

  /** @param {string} text */
  keepTo(text) {
    this.filter = text;
    keep("filter", text);
  }

  /** @param {number} column */
  sortBy(column) {
    const descending = this.sorted.column === column && !this.sorted.descending;
    this.sorted = { column, descending };
    keep("sort", String(column));
    keep("descending", descending ? "yes" : "");
    this.#order();
  }

  #order() {
    const keys = new Map(this.#ordered.map((row) => [row, this.#key(row)]));
    const key = (/** @type {Row} */ row) => /** @type {Key} */ (keys.get(row));
    this.#ordered.sort((a, b) => this.#compare(a, key(a), b, key(b)));
  }

  /** @param {Row} row */
  #placeOf(row) {
    const key = this.#key(row);
    let low = 0;
    let high = this.#ordered.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      const other = this.#ordered[middle];
      if (this.#compare(other, this.#key(other), row, key) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /**
   * @param {Row} a
   * @param {Key} keyA
   * @param {Row} b
   * @param {Key} keyB
   */
  #compare(a, keyA, b, keyB) {
    return (this.sorted.descending ? -1 : 1) * compare(keyA, keyB) || compare(a.id, b.id);
  }

  /**
   * @param {Row} row
   * @returns {Key}
   */
  #key(row) {
    const { column } = this.sorted;
    if (column < 0) return row.id;
    const index = this.#places[column];
    if (index === NAMESPACE) return row.namespace;
    if (this.#known[index]?.name === AGE) return -Date.parse(row.created);
    const cell = row.cells[index];
    const number = typeof cell === "number" ? cell : parseFloat(String(cell));
    return Number.isNaN(number) ? String(cell ?? "") : number;
  }

  /**
   * @param {Row} row
   * @param {number} index
   */
  #cell(row, index) {
    if (this.#known[index].name === AGE && row.created) return age(row.created);
    const text = String(row.cells[index] ?? "");
    const tone = BAD.test(text) ? "bad" : this.#isWarning(row, index, text) ? "warn" : "";
    return tone ? h("span", { class: tone }, text) : text;
  }

  /**
   * Whether a cell tells that something is not as it should be, yet.
   * @param {Row} row
   * @param {number} index
   * @param {string} text
   */
  #isWarning(row, index, text) {
    const { name } = this.#known[index];
    if (STATES.test(name)) return WARN.test(text);
    const [, ready, all] = (READY.test(name) && /^(\d+)\/(\d+)$/.exec(text)) || [];
    if (!all || Number(ready) >= Number(all)) return false;
    return !this.#known.some(
      (one, at) => STATES.test(one.name) && OVER.test(String(row.cells[at])),
    );
  }
}

/**
 * Where there is little room, how an object is comes first and its namespace last.
 * @param {Column | undefined} column none for that of the namespace
 */
function rankOf(column) {
  if (!column) return 3;
  return STATES.test(column.name) ? 0 : column.format === "name" ? 1 : 2;
}

/** @param {Column | undefined} column */
function narrowWidthOf(column) {
  if (!column) return "9rem";
  return STATES.test(column.name) ? "8rem" : column.format === "name" ? "12rem" : "5rem";
}

/** @param {Column | undefined} column */
function widthOf(column) {
  if (!column) return "minmax(8rem, 1fr)";
  if (column.format === "name") return "minmax(12rem, 2.5fr)";
  return column.type === "string" && column.name !== AGE
    ? "minmax(5rem, 1fr)"
    : "minmax(4rem, .5fr)";
}

/**
 * @param {Key} a
 * @param {Key} b
 */
function compare(a, b) {
  if (typeof a !== typeof b) return typeof a === "number" ? -1 : 1;
  return a < b ? -1 : a > b ? 1 : 0;
}
