/** What can be done to objects, by their kinds. */

import { approve, deny } from "./signing.js";
import { deletion, finalizer } from "./deletion.js";
import { drain, evict } from "./draining.js";
import { cordon, pause, restart, resume, scale, suspend, uncordon, unsuspend } from "./changes.js";
import { runNow } from "./runs.js";

/** @import {Action} from "./parts.js" */

/** In the order in which they are offered. @type {Action[]} */
export const ACTIONS = [
  scale,
  restart,
  pause,
  resume,
  runNow,
  suspend,
  unsuspend,
  cordon,
  uncordon,
  drain,
  evict,
  approve,
  deny,
  finalizer,
  deletion,
];

/**
 * Those for objects of a kind.
 * @param {string} key
 */
export function actionsFor(key) {
  return ACTIONS.filter((one) => !one.keys || one.keys.includes(key));
}
