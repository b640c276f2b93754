/** Short messages to the person: what went wrong in a place, and what was done. */

import { isAborted, reasonOf } from "../core/api.js";
import { byId, fill, h } from "../core/dom.js";

const LASTS = 6000; // milliseconds

/**
 * A box that says why something is not here.
 * @param {string} text
 */
export function problem(text) {
  return h("p", { class: "problem", role: "alert" }, text);
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
