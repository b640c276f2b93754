/** The objects of a kind as the server's Table: live, filtered, sorted. */

import { fill, h } from "../core/dom.js";
import { bind } from "../core/keys.js";
import { LiveTable } from "../core/live_table.js";
import { createRoute, objectRoute } from "../core/paths.js";
import { go, keep } from "../core/router.js";
import { Grid } from "../parts/grid.js";
import { emptyList, forbiddenList } from "./empty.js";
import { Picked } from "./actions/picked.js";
import { redraw } from "../parts/steady.js";
import { Shown } from "./shown.js";

/** @import {Place} from "../app.js" */
/** @import {Kind} from "../core/kinds.js" */
/** @import {Row} from "../core/live_table.js" */

const TICK = 10_000; // milliseconds between two looks at ages

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
  const picked = new Picked(place, kind, table);
  const grid = new Grid({
    label: kind.plural,
    isPicked: (/** @type {Row} */ row) => picked.has(row),
    pick: (row) => picked.toggle(row),
    cells: (/** @type {Row} */ row) => shown.cells(row),
    mark: (row) => (row.deleting ? "ending" : table.fresh.has(row.id) ? "fresh" : ""),
    open: (row) => go(objectRoute(kind, row)),
    sort: (column) => draw(() => shown.sortBy(column)),
  });
  const count = h("span", { class: "faint", id: "count" });
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
  const empty = h("div");
  const unfilter = () => {
    filter.value = "";
    draw(() => shown.keepTo(""));
    grid.focus();
  };
  fill(
    host,
    h("div", { class: "bar" }, h("h1", {}, kind.kind), filter, labels, count, creating(kind)),
    picked.element,
    grid.element,
    empty,
  );

  /** @param {() => void} [change] */
  const draw = (change) => {
    change?.();
    const rows = shown.rows();
    grid.show(shown.columns(), rows, shown.sorted);
    const isForbidden = table.isForbidden && !rows.length;
    fill(count, isForbidden ? "" : summary(table, rows.length));
    count.classList.toggle("bad", table.state === "waiting");
    const isEmpty = !rows.length && table.state === "live";
    const words = (isEmpty || isForbidden) && [table.rows.size, place.namespace, table.problem];
    redraw(empty, words, () =>
      isForbidden
        ? forbiddenList(place, kind, table.problem)
        : isEmpty && emptyList(place, kind, table.rows.size > 0, unfilter),
    );
    grid.element.classList.toggle("vacant", isEmpty || isForbidden);
    grid.element.hidden = isForbidden;
  };
  table.addEventListener("changed", () => draw(() => shown.refresh()), { signal });
  picked.addEventListener("changed", () => draw());
  const ticking = setInterval(() => grid.renew(), TICK);
  signal.addEventListener("abort", () => clearInterval(ticking));
  bind({ key: "c", says: `create a ${kind.kind}`, run: () => go(createRoute(kind)) }, signal);
  bind({ key: "x", says: "pick this row, or drop it", run: () => grid.pick() }, signal);
  const all = () => picked.all(shown.rows());
  bind({ key: "X", says: "pick all rows, or none", run: all }, signal);
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

/** @param {Kind} kind */
function creating(kind) {
  return (
    kind.verbs.includes("create") &&
    h("a", { class: "button", href: createRoute(kind) }, "Create", h("kbd", {}, "c"))
  );
}

/**
 * @param {LiveTable} table
 * @param {number} shown
 */
function summary(table, shown) {
  const all = table.rows.size + table.left;
  const number = shown === all ? `${all}` : `${shown} of ${all}`;
  if (table.state === "waiting") return `${number} · ${table.problem}`;
  return `${number} · ${table.state}`;
}
