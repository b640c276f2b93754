/** Fields of an object that changed hands, as its history tells it. */

import { h } from "../../core/dom.js";
import { actorOf } from "../../core/past.js";
import { objectRoute } from "../../core/paths.js";
import { clock } from "../../core/time.js";
import { faint } from "../../parts/bits.js";
import { actor, lossText } from "../../parts/change.js";

/** @import {Kind} from "../../core/kinds.js" */
/** @import {Change} from "../../core/past.js" */
/** @import {Named} from "../../core/paths.js" */

const SHOWN = 20; // changes

/**
 * @param {Kind} kind
 * @param {Named} named
 * @param {Change[]} changes with losses, oldest first
 */
export function takeovers(kind, named, changes) {
  if (!changes.length) return null;
  const lines = changes.slice(-SHOWN).reverse();
  return h(
    "details",
    { "data-mark": "takeovers", open: true },
    h("summary", {}, "Fields that managers lost"),
    h(
      "ul",
      { class: "links" },
      lines.map((one) => line(kind, named, one)),
    ),
  );
}

/**
 * @param {Kind} kind
 * @param {Named} named
 * @param {Change} change
 */
function line(kind, named, change) {
  const href = `${objectRoute(kind, named, "history")}?at=${change.resourceVersion}`;
  return h(
    "li",
    { class: "told" },
    h("a", { href }, clock(change.time) || change.resourceVersion),
    h("span", {}, faint("by "), actor(actorOf(change))),
    (change.lost ?? []).map((one) => h("span", { class: "wrap" }, lossText(one))),
  );
}
