/** The objects of a kind as the server's Table: live, filtered, sorted. */

import { fill, h } from "../core/dom.js";
import { bind } from "../core/keys.js";
import { LiveTable } from "../core/live_table.js";
import { objectRoute } from "../core/paths.js";
import { go, keep } from "../core/router.js";
import { age } from "../core/time.js";
import { Grid } from "../parts/grid.js";

/** @import {Place} from "../app.js" */
/** @import {Kind} from "../core/kinds.js" */
/** @import {Column, Row} from "../core/live_table.js" */
/** @import {GridColumn} from "../parts/grid.js" */

const AGE = "Age";
const TICK = 10_000; // milliseconds between two looks at ages
const BAD =
  /^(error|failed|crashloopbackoff|imagepullbackoff|errimagepull|evicted|unknown|notready|lost|oomkilled)/i;

/**
 * @param {Place} place
 * @param {Kind} kind
 */
export function showTable(place, kind) {
  const { host, route, signal } = place;
  place.title(kind.kind);
  const selector = route.query.get("selector") ?? "";
  const meta = `meta.${place.catalogue.about.groupDomain}`;
  const table = new LiveTable(kind, place.namespace, meta, { labelSelector: selector });
  const shown = new Shown(table, !place.namespace && kind.namespaced, route.query);
  const grid = new Grid({
    label: kind.plural,
    cells: (/** @type {Row} */ row) => shown.cells(row),
    mark: (row) => (row.deleting ? "ending" : table.fresh.has(row.id) ? "fresh" : ""),
    open: (row) => go(objectRoute(kind, row)),
    sort: (column) => draw(() => shown.sortBy(column)),
  });
  const count = h("span", { class: "faint", role: "status" });
  const filter = h("input", {
    type: "search",
    placeholder: "Filter",
    "aria-label": "Filter",
    value: shown.filter,
    oninput: () => draw(() => shown.keepTo(filter.value)),
  });
  const labels = h("input", {
    type: "search",
    placeholder: "Label selector",
    "aria-label": "Label selector",
    value: selector,
    onchange: () => again(labels.value),
  });
  fill(
    host,
    h("div", { class: "bar" }, h("h1", {}, kind.kind), filter, labels, count),
    grid.element,
  );

  /** @param {() => void} [change] */
  const draw = (change) => {
    change?.();
    const rows = shown.rows();
    grid.show(shown.columns(), rows, shown.sorted);
    fill(count, summary(table, rows.length));
    count.classList.toggle("bad", table.state === "waiting");
  };
  table.addEventListener("changed", () => draw(() => shown.refresh()), { signal });
  const ticking = setInterval(draw, TICK);
  signal.addEventListener("abort", () => clearInterval(ticking));
  bind({ key: "s", says: "filter this list", run: () => filter.focus() }, signal);
  filter.addEventListener("keydown", (event) => {
    if (event.key === "Enter" || event.key === "Escape") grid.focus();
  });
  draw();
  grid.focus();
  void table.run(signal);

  /** @param {string} text */
  function again(text) {
    keep("selector", text);
    window.dispatchEvent(new HashChangeEvent("hashchange"));
  }
}

/**
 * @param {LiveTable} table
 * @param {number} shown
 */
function summary(table, shown) {
  const all = table.rows.size;
  const number = shown === all ? `${all}` : `${shown} of ${all}`;
  if (table.state === "waiting") return `${number} · ${table.problem}`;
  return `${number} · ${table.state}`;
}

/** What of a table is shown, and in which order. */
class Shown {
  sorted = { column: -1, descending: false };
  /** @type {Row[]} */
  #ordered = [];
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
    this.#places = this.#known.flatMap((one, index) => (one.priority ? [] : [index]));
    const own = this.#places.map((index) => this.#known[index]);
    this.#columns = own.map((one) => ({
      title: one.name,
      width: widthOf(one),
      hint: one.description,
    }));
    if (this.withNamespace)
      this.#columns.unshift({ title: "Namespace", width: "minmax(8rem, 1fr)" });
    return this.#columns;
  }

  /** @param {Row} row */
  cells(row) {
    const cells = this.#places.map((index) => this.#cell(row, index));
    return this.withNamespace ? [row.namespace, ...cells] : cells;
  }

  /** Take in what changed. What is nearly in order already is soon put in order again. */
  refresh() {
    const rows = this.table.rows;
    const known = this.#ordered
      .filter((row) => rows.has(row.id))
      .map((row) => /** @type {Row} */ (rows.get(row.id)));
    const before = new Set(known.map((row) => row.id));
    const added =
      known.length === rows.size ? [] : [...rows.values()].filter((row) => !before.has(row.id));
    this.#ordered = [...known, ...added];
    this.#order();
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
    const { column, descending } = this.sorted;
    const sign = descending ? -1 : 1;
    const keys = new Map(this.#ordered.map((row) => [row, this.#key(row, column)]));
    this.#ordered.sort(
      (a, b) => sign * compare(keys.get(a) ?? "", keys.get(b) ?? "") || compare(a.id, b.id),
    );
  }

  /**
   * @param {Row} row
   * @param {number} column
   * @returns {string | number}
   */
  #key(row, column) {
    if (column < 0) return row.id;
    const own = this.withNamespace ? column - 1 : column;
    if (own < 0) return row.namespace;
    const index = this.#places[own];
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
    return BAD.test(text) ? h("span", { class: "bad" }, text) : text;
  }
}

/** @param {Column} column */
function widthOf(column) {
  if (column.format === "name") return "minmax(12rem, 2.5fr)";
  return column.type === "string" && column.name !== AGE
    ? "minmax(5rem, 1fr)"
    : "minmax(4rem, .5fr)";
}

/**
 * @param {string | number} a
 * @param {string | number} b
 */
function compare(a, b) {
  if (typeof a !== typeof b) return typeof a === "number" ? -1 : 1;
  return a < b ? -1 : a > b ? 1 : 0;
}
