/** A change in words: what was done, when and by whom. */

import { h } from "../core/dom.js";
import { actorOf } from "../core/past.js";
import { clock } from "../core/time.js";

/** @import {Change} from "../core/past.js" */

const COLOURS = 8; // as in style.css
const REMEMBERED = 1000; // names
/** @type {Map<string, number>} */
const colours = new Map();
export const DONE = {
  EXISTING: "was there",
  ADDED: "created",
  MODIFIED: "changed",
  DELETED: "deleted",
};

/**
 * In one line, for those who listen.
 * @param {Change} change
 */
export function inShort(change) {
  return `${DONE[change.type]} ${clock(change.time)} by ${actorOf(change)}`;
}

/**
 * A name with a colour, which it keeps.
 * @param {string} name
 */
export function actor(name) {
  if (!colours.has(name) && colours.size < REMEMBERED) colours.set(name, colours.size % COLOURS);
  const [, inside, account] = /^system:serviceaccount:([^:]+):(.+)$/.exec(name) ?? [];
  return h(
    "span",
    { class: `actor actor-${colours.get(name) ?? 0}`, title: name },
    account ? `${account} (${inside})` : name,
  );
}

/** @param {Change} change */
export function badge(change) {
  return h("span", { class: `badge done-${change.type.toLowerCase()}` }, DONE[change.type]);
}

/**
 * All that is known of it.
 * @param {Change} change
 */
export function told(change) {
  const managers = (change.by ?? []).map((one) =>
    [one.manager, one.operation && `(${one.operation})`, one.subresource && `/${one.subresource}`]
      .filter(Boolean)
      .join(" "),
  );
  return h(
    "div",
    { class: "told" },
    badge(change),
    h("span", {}, clock(change.time) || "at an unknown time"),
    h("span", {}, h("span", { class: "faint" }, "by "), actor(actorOf(change))),
    change.impersonator && h("span", {}, `acted for by ${change.impersonator}`),
    managers.length > 0 &&
      h("span", {}, h("span", { class: "faint" }, "manager "), managers.join(", ")),
    fields(change),
  );
}

/** @param {Change} change */
export function fields(change) {
  const { changed = [], more = 0 } = change;
  if (!changed.length) return "";
  return h(
    "span",
    { class: "mono faint wrap" },
    changed.join(", ") + (more ? ` and ${more} more` : ""),
  );
}

/** @param {number} oldest revision that is known */
export function lostBefore(oldest) {
  return oldest > 1
    ? `What was before revision ${oldest} is no longer known.`
    : "This is all that ever was.";
}
