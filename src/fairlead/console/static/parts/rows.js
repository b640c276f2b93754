/** A table of a few rows, and events as such rows. */

import { h } from "../core/dom.js";
import { ago } from "./steady.js";

/** @import {Children} from "../core/dom.js" */

/**
 * @param {Children[][]} cells of each row
 * @param {string} [name] of the class
 */
export function rows(cells, name = "") {
  const line = (/** @type {Children[]} */ row) => row.map((one) => h("td", {}, one));
  const lines = cells.map((row) => h("tr", {}, line(row)));
  return h("table", { class: `plain rows ${name}` }, h("tbody", {}, lines));
}

/**
 * When an event was seen last.
 * @param {any} event
 * @returns {string}
 */
function seenAt({ series, lastTimestamp, eventTime, metadata }) {
  return series?.lastObservedTime || lastTimestamp || eventTime || metadata.creationTimestamp || "";
}

/**
 * Events with those seen last first.
 * @param {any[]} events
 */
export function newestFirst(events) {
  return events.sort((a, b) => Date.parse(seenAt(b)) - Date.parse(seenAt(a)));
}

/**
 * @param {any} event
 * @param {Children[]} about what it is about, where that is to be told
 * @returns {Children[]}
 */
export function eventRow(event, ...about) {
  const count = event.series?.count ?? event.count ?? 1;
  const reason = event.reason || event.type;
  return [
    event.type === "Warning" ? h("span", { class: "warn" }, `! ${reason}`) : reason,
    ...about,
    [event.message, count > 1 && ` (${count} times)`],
    ago(seenAt(event)),
  ];
}
