/** Short messages to the person: what went wrong in a place, and what was done. */

import { isAborted, reasonOf } from "../core/api.js";
import { byId, fill, h } from "../core/dom.js";
import { whyRoute } from "../core/paths.js";

/** @import {Children} from "../core/dom.js" */

const LASTS = 6000; // milliseconds

// How the server says that somebody may not do something.
const REFUSAL =
  /User "((?:[^"\\]|\\.)*)" cannot (\S+) resource "([^"]+)" in API group "([^"]*)"(?: in the namespace "([^"]+)")?/;

/**
 * A box that says why something is not here; a refusal leads to what is missing.
 * @param {string} text
 */
export function problem(text) {
  return h("p", { class: "problem", role: "alert" }, text, whyLink(text));
}

/**
 * A page that has nothing to show: why, and where to go from there.
 * @param {string} why
 * @param {...Children} more that can be done
 */
export function nothing(why, ...more) {
  return [
    h("h1", {}, "There is nothing to show"),
    problem(why),
    h(
      "div",
      { class: "bar" },
      more,
      h("a", { class: "button", href: "#/kinds" }, "All kinds"),
      h("a", { class: "button", href: "#/overview" }, "Overview"),
    ),
  ];
}

/** @param {string} text */
function whyLink(text) {
  const [, , verb, full, group, namespace] = REFUSAL.exec(text) ?? [];
  if (!verb) return null;
  const [resource, subresource] = full.split("/");
  // It is the one who is signed in that was refused: nobody need be named.
  const href = whyRoute({ verb, resource, subresource, group, namespace });
  return [" ", h("a", { href }, "Why not?")];
}

/**
 * Show in an element what work there comes to, or why it failed.
 * @param {Element} host
 * @param {Promise<unknown>} work
 */
export async function guarded(host, work) {
  try {
    await work;
  } catch (error) {
    if (!isAborted(error)) fill(host, problem(reasonOf(error)));
  }
}

/**
 * Say something for a while, also to those who listen.
 * @param {string} text
 */
export function say(text) {
  const line = h("p", {}, text);
  byId("said").append(line);
  setTimeout(() => line.remove(), LASTS);
}
