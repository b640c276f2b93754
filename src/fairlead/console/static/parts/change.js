/** A change in words: what was done, when and by whom. */

import { h } from "../core/dom.js";
import { actorOf, managerOf } from "../core/past.js";
import { age, clock } from "../core/time.js";
import { faint } from "./bits.js";

/** @import {Change, Loss} from "../core/past.js" */

const COLOURS = 8; // as in style.css
const REMEMBERED = 1000; // names
const DONE = { EXISTING: "was there", ADDED: "created", MODIFIED: "changed", DELETED: "deleted" };
/** @type {Map<string, number>} */
const colours = new Map();

/**
 * In one line, for those who listen.
 * @param {Change} change
 */
export function inShort(change) {
  const manager = change.user && managerOf(change);
  const as = manager ? ` as ${manager}` : "";
  return `${DONE[change.type]} ${clock(change.time)} by ${actorOf(change)}${as}`;
}

/**
 * What is said above a view of the past.
 * @param {number} revision
 * @param {string} [time] when it was written
 */
export function howItWas(revision, time) {
  const when = time ? `at ${clock(time)}, ${age(time, Date.now())} ago` : "at an unknown time";
  return `This is how it was ${when} (revision ${revision}). `;
}

/**
 * A name with a colour, which it keeps.
 * @param {string} name
 */
export function actor(name) {
  if (!colours.has(name) && colours.size < REMEMBERED) colours.set(name, colours.size % COLOURS);
  const [, inside, account] = /^system:serviceaccount:([^:]+):(.+)$/.exec(name) ?? [];
  const shown = account ? `${account} (${inside})` : name;
  return h("span", { class: `actor actor-${colours.get(name) ?? 0}`, title: name }, shown);
}

/** @param {Change} change */
export function badge({ type }) {
  return h("span", { class: `badge done-${type.toLowerCase()}` }, DONE[type]);
}

/**
 * All that is known of it.
 * @param {Change} change
 */
export function told(change) {
  const managers = (change.by ?? []).map(({ manager, operation, subresource }) =>
    [manager, operation && `(${operation})`, subresource && `/${subresource}`].join(" ").trim(),
  );
  return h(
    "div",
    { class: "told" },
    badge(change),
    h("span", {}, clock(change.time) || "at an unknown time"),
    h("span", {}, faint("by "), actor(actorOf(change))),
    change.impersonator && h("span", {}, faint("for whom acted "), change.impersonator),
    managers.length > 0 && h("span", {}, faint("manager "), managers.join(", ")),
    fields(change),
    (change.lost ?? []).map((one) => h("span", { class: "warn wrap" }, lossText(one))),
  );
}

/**
 * Who lost what to whom.
 * @param {Loss} loss
 */
export function lossText({ manager, fields: lost, more = 0, to }) {
  const what = lost.join(", ") + (more ? ` and ${more} more` : "");
  return to.length
    ? `${to.join(", ")} took ${what} from ${manager}`
    : `removed ${what} of ${manager}`;
}

/**
 * The same in a few words, beside the fields.
 * @param {Change} change
 */
export function losses({ lost = [] }) {
  if (!lost.length) return null;
  const names = [...new Set(lost.map((one) => one.manager))].join(", ");
  const title = lost.map(lossText).join("\n");
  return h("span", { class: "warn", title }, `lost by ${names} `);
}

/** @param {Change} change */
export function fields({ changed = [], more = 0 }) {
  const text = changed.join(", ") + (more ? ` and ${more} more` : "");
  return h("span", { class: "mono faint wrap" }, text);
}

/** @param {number} oldest revision that is known */
export function lostBefore(oldest) {
  if (oldest <= 1) return "This is all that ever was.";
  const flag = "--history-retention";
  return `What was before revision ${oldest} is no longer known: the server keeps as much as ${flag} says.`;
}
