/** What can be done to objects, by their kinds. */

import { approve, deny } from "./signing.js";
import { deletion } from "./deletion.js";
import { drain, evict } from "./draining.js";
import { contentFinalizer, finalizer } from "./finalizers.js";
import { cordon, pause, restart, resume, scale, suspend, uncordon, unsuspend } from "./changes.js";
import { runNow } from "./runs.js";
import { undo, undoOthers } from "./undoing.js";

/** @import {Kind} from "../../core/kinds.js" */
/** @import {Action} from "./parts.js" */

/** In the order in which they are offered. @type {Action[]} */
export const ACTIONS = [
  scale,
  restart,
  pause,
  resume,
  undo,
  undoOthers,
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
  contentFinalizer,
  deletion,
];

/**
 * Those for objects of a kind.
 * @param {string} key
 * @param {Kind} kind
 */
export function actionsFor(key, { parts }) {
  return ACTIONS.filter(
    (one) => (!one.keys || one.keys.includes(key)) && (!one.part || parts.includes(one.part)),
  );
}
