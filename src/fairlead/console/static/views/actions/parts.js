/** What actions are made of: what they act on, and the ways in which they change it. */

import { getJson, JSON_PATCH, MERGE_TYPE } from "../../core/api.js";
import { command, inside, reference } from "../../core/commands.js";
import { objectPath } from "../../core/paths.js";
import { MANAGER } from "../object/sending.js";

/** @import {Place} from "../../app.js" */
/** @import {Kind} from "../../core/kinds.js" */
/** @import {Named} from "../../core/paths.js" */
/** @import {Deed} from "../../parts/doing.js" */
/** `object` is known where it is shown. @typedef {{kind: Kind, named: Named, object?: any}} Target */
/** A right by its verb, and a subresource or the key of another kind. @typedef {[verb: string, part?: string, key?: string]} Right */
/**
 * @typedef {object} Action
 * @property {string} title
 * @property {string[]} [keys] of the kinds it is for; it is for all where it names none
 * @property {string} [part] a subresource that the kind must have
 * @property {Right[]} needs
 * @property {(object: any) => boolean} [fits] whether there is something to do
 * @property {boolean} [isSingle] whether it is for one object at a time
 * @property {(targets: Target[], place: Place) => Deed | Promise<Deed>} deed
 */

/** @param {Target} target */
export function titleOf({ kind, named }) {
  return `${kind.kind} ${named.name}`;
}

/** @param {Target[]} targets */
export function allOf(targets) {
  return targets.length === 1 ? titleOf(targets[0]) : `${targets.length} ${targets[0].kind.plural}`;
}

/**
 * A command for each target.
 * @param {Place} place
 * @param {Target[]} targets
 * @param {(target: Target) => string[]} words
 */
export function commands(place, targets, words) {
  return targets
    .map((one) => command(place.catalogue, ...words(one), ...inside(one.named)))
    .join("\n");
}

/** @param {Target} target */
export function referenceOf({ kind, named }) {
  return reference(kind, named.name);
}

/**
 * Change a part of an object.
 * @param {Target} target
 * @param {unknown} change
 * @param {AbortSignal} signal
 * @param {string} [part] a subresource
 */
export function merge({ kind, named }, change, signal, part) {
  const path = objectPath(kind, named) + (part ? `/${part}` : "");
  const query = { fieldManager: MANAGER };
  return getJson(path, {
    ...{ method: "PATCH", type: MERGE_TYPE, body: JSON.stringify(change), query, signal },
  });
}

/**
 * Change an object by operations.
 * @param {Target} target
 * @param {unknown[]} operations
 * @param {AbortSignal} signal
 */
export function edit({ kind, named }, operations, signal) {
  const query = { fieldManager: MANAGER };
  const body = JSON.stringify(operations);
  return getJson(objectPath(kind, named), { ...JSON_PATCH, body, query, signal });
}

/**
 * Do something to one after the other. What fails does not keep the others from it.
 * @param {Target[]} targets
 * @param {(target: Target) => Promise<unknown>} work
 */
export async function each(targets, work) {
  /** @type {string[]} */
  const failed = [];
  for (const one of targets) {
    try {
      await work(one);
    } catch (error) {
      if (targets.length === 1) throw error;
      failed.push(`${titleOf(one)}: ${error instanceof Error ? error.message : error}`);
    }
  }
  if (failed.length) throw new Error(failed.join("\n"));
}
