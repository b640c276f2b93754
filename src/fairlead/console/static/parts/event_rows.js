/** Events as rows of a table. */

import { h } from "../core/dom.js";
import { ago } from "./steady.js";

/** @import {Children} from "../core/dom.js" */

/**
 * When an event was seen last.
 * @param {any} event
 * @returns {string}
 */
export function seenAt(event) {
  const { series, lastTimestamp, eventTime, metadata } = event;
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
 * @param {Children} about what it is about, where that is to be told
 */
export function eventRow(event, about) {
  const count = event.series?.count ?? event.count ?? 1;
  const isWarning = event.type === "Warning";
  return h(
    "tr",
    {},
    h("td", { class: isWarning && "warn" }, isWarning && "! ", event.reason || event.type),
    about && h("td", {}, about),
    h("td", { class: "wrap" }, event.message ?? event.note, count > 1 && ` (${count} times)`),
    h("td", { class: "when" }, ago(seenAt(event))),
  );
}
