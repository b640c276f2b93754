/** What the server still knows of the past: who changed what, and how things were. */

import { ApiError, getJson } from "./api.js";
import { historyPath } from "./paths.js";

/** @import {Catalogue, Kind} from "./kinds.js" */
/** @import {Options} from "./api.js" */
/** @typedef {{manager?: string, operation?: string, subresource?: string, time?: string}} Manager */
/** What a manager lost; `to` is who has it now, nobody where it was removed. @typedef {Manager & {fields: string[], more?: number, to: string[]}} Loss */
/**
 * A change, as the history tells it; those of everything say their kind, too.
 * @typedef {object} Change
 * @property {string} resourceVersion
 * @property {"EXISTING" | "ADDED" | "MODIFIED" | "DELETED"} type
 * @property {string} name
 * @property {string} [namespace]
 * @property {string} [uid]
 * @property {string} [time]
 * @property {Manager[]} [by]
 * @property {string} [user]
 * @property {string} [impersonator]
 * @property {Loss[]} [lost]
 * @property {string[]} [changed] fields
 * @property {number} [more] fields than are named
 * @property {string} [group]
 * @property {string} [version]
 * @property {string} [kind]
 * @property {string} [resource]
 */
/**
 * Changes, oldest first. `before` is there if there are more before them.
 * @typedef {{items: Change[], metadata: {resourceVersion: string, oldest: string, before?: string}}} Past
 */

export const EVERYTHING = "/history";

/**
 * @param {string} path of an object or a collection in the API; empty for everything
 * @param {Options["query"]} query
 * @param {AbortSignal} signal
 * @returns {Promise<Past>}
 */
export function pastOf(path, query, signal) {
  return getJson(historyPath(path), { query, signal });
}

/**
 * An object as it was; null if it was not there then.
 * @param {string} path in the API
 * @param {number} revision
 * @param {AbortSignal} signal
 * @returns {Promise<any>}
 */
export async function stateAt(path, revision, signal) {
  try {
    return await getJson(historyPath(path), { query: { resourceVersion: revision }, signal });
  } catch (error) {
    if (error instanceof ApiError && error.code === 404) return null;
    throw error;
  }
}

/**
 * When a revision was written; nothing if that is not known.
 * @param {number} revision
 * @param {string | undefined} namespace empty for all of them
 * @param {AbortSignal} signal
 */
export async function timeOf(revision, namespace, signal) {
  const { items } = await pastOf("", { namespace, limit: 1, before: revision + 1 }, signal);
  return items.at(-1)?.time;
}

/**
 * What a list is asked with to be as it was at a revision; nothing for 0.
 * @param {number | string} revision
 * @returns {Record<string, string>}
 */
export function exactly(revision) {
  if (!Number(revision)) return {};
  return { resourceVersion: String(revision), resourceVersionMatch: "Exact" };
}

/** @param {Change} change */
export function revisionOf(change) {
  return Number(change.resourceVersion);
}

/**
 * Under which names a change was made.
 * @param {Change} change
 */
export function managerOf({ by = [] }) {
  return [...new Set(by.map((one) => one.manager))].filter(Boolean).join(", ");
}

/**
 * Who is behind a change: the user where that is known, else who says so in the object.
 * @param {Change} change
 */
export function actorOf(change) {
  return change.user || managerOf(change) || "unknown";
}

/**
 * The user who last wrote as a manager, as far as the changes know.
 * @param {Change[]} changes
 * @param {{name: string, way: string, time: string}} manager
 */
export function userOf(changes, { name, way, time }) {
  const found = changes.findLast(({ by = [] }) =>
    by.some(
      (one) =>
        one.manager === name &&
        one.time === time &&
        [one.operation, one.subresource].filter(Boolean).join(" ") === way,
    ),
  );
  return found?.user ?? "";
}

/**
 * The kind of what changed, also of one that is served no more.
 * @param {Change} change
 * @param {Catalogue} catalogue
 * @returns {Kind}
 */
export function kindOf(change, catalogue) {
  const { group = "", version = "", kind = "", resource: plural = "", namespace } = change;
  const known = catalogue.find(group, plural);
  if (known) return known;
  return {
    group,
    version,
    plural,
    kind,
    namespaced: !!namespace,
    verbs: [],
    shortNames: [],
    parts: [],
  };
}
