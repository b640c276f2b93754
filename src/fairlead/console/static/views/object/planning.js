/** What an apply of a text would do to an object: asked of the server, which changes nothing. */

import { ApiError, APPLY_TYPE, getJson } from "../../core/api.js";
import { difference } from "../../core/diff.js";
import { locate, valueAt } from "../../core/field_paths.js";
import { fieldsOf, managersOf } from "../../core/fields.js";
import { isSecret, masked } from "../../core/secrets.js";
import { yamlLines } from "../../core/yaml_lines.js";

/** @import {Manager} from "../../core/fields.js" */
/** @import {Path} from "../../core/yaml_lines.js" */
/** @typedef {{field: string, path: Path, with: string, now: string, mine: string}} Conflict */
/** @typedef {{field: string, before: string, after: string}} Handover */
/**
 * @typedef {object} Plan
 * @property {Conflict[]} conflicts
 * @property {Handover[]} handovers
 * @property {string[]} removed fields
 * @property {string[]} before the object as lines
 * @property {string[]} after
 */
/** @typedef {{path: string, text: string, manager: string, signal: AbortSignal}} Wish */

const MAX_LETTERS = 80; // letters of a value in a line

/**
 * Apply a text, by default without effect.
 * @param {Wish} wish
 * @param {{force?: boolean, dryRun?: string}} query
 * @returns {Promise<any>}
 */
export function apply({ path, text, manager, signal }, query) {
  return getJson(path, {
    method: "PATCH",
    body: text,
    type: APPLY_TYPE,
    query: { fieldManager: manager, fieldValidation: "Strict", ...query },
    signal,
  });
}

/**
 * Throws what a real apply would, conflicts with other managers excepted.
 * @param {Wish} wish
 * @returns {Promise<Plan>}
 */
export async function planOf(wish) {
  const live = await getJson(wish.path, { signal: wish.signal }).catch((error) => {
    if (error instanceof ApiError && error.code === 404) return null;
    throw error;
  });
  /** @type {ApiError | null} */
  let refusal = null;
  let outcome;
  try {
    outcome = await apply(wish, { dryRun: "All" });
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== 409 || !error.causes.length) throw error;
    refusal = error;
    outcome = await apply(wish, { dryRun: "All", force: true });
  }
  if (!live) {
    // These are others each time.
    const { uid, creationTimestamp, managedFields, ...metadata } = outcome.metadata;
    const after = yamlLines(masked({ ...outcome, metadata })).map((line) => line.text);
    return { conflicts: [], handovers: [], removed: [], before: [], after };
  }
  return {
    conflicts: refusal ? conflictsOf(refusal, live, outcome) : [],
    ...compared(live, outcome),
    before: shown(live, outcome, "before"),
    after: shown(outcome, live, "after", live),
  };
}

/**
 * Whether two plans would do the same, whatever else goes on in the object.
 * @param {Plan} one
 * @param {Plan} other
 */
export function isSame(one, other) {
  const [a, b] = [one, other].map(({ conflicts, handovers, removed, before, after }) => {
    const changes = difference(before, after).filter((step) => step.sign !== " ");
    return JSON.stringify([conflicts, handovers, removed, changes.map((step) => step.text)]);
  });
  return a === b;
}

/**
 * @param {ApiError} refusal
 * @param {any} live
 * @param {any} outcome
 * @returns {Conflict[]}
 */
function conflictsOf(refusal, live, outcome) {
  /** @type {Map<string, string[]>} */
  const owners = new Map();
  for (const { field = "", message = "" } of refusal.causes) {
    const name = /conflict with "((?:[^"\\]|\\.)*)"/.exec(message)?.[1] ?? message;
    owners.set(field, [...(owners.get(field) ?? []), name]);
  }
  return [...owners].map(([field, names]) => {
    const { path } = locate(live, field);
    const then = locate(outcome, field).path;
    const isHidden = isSecret(live);
    return {
      field,
      path,
      with: names.join(", "),
      now: isHidden ? "hidden" : brief(valueAt(live, path)),
      mine: isHidden ? "hidden" : brief(valueAt(outcome, then)),
    };
  });
}

/** @param {unknown} value */
function brief(value) {
  const text = JSON.stringify(value) ?? "nothing";
  return text.length > MAX_LETTERS ? `${text.slice(0, MAX_LETTERS)}…` : text;
}

/**
 * Fields that change hands, and those that go. What is said of a field is not repeated for those
 * in it.
 * @param {any} live
 * @param {any} outcome
 * @returns {{handovers: Handover[], removed: string[]}}
 */
function compared(live, outcome) {
  const after = new Map(fieldsOf(outcome, managersOf(live)).map((one) => [one.name, one.owners]));
  /** @type {Map<string, string>} */
  const said = new Map(); // by path: what happens to a field
  /** @type {Handover[]} */
  const handovers = [];
  /** @type {string[]} */
  const removed = [];
  for (const { name, path, owners } of fieldsOf(live, managersOf(outcome))) {
    const [now, then] = [ownerNames(owners), ownerNames(after.get(name) ?? [])];
    const news = !after.has(name) ? "removed" : now === then ? "" : JSON.stringify([now, then]);
    said.set(JSON.stringify(path), news);
    if (!news || said.get(JSON.stringify(path.slice(0, -1))) === news) continue;
    if (after.has(name)) handovers.push({ field: name, before: now, after: then });
    else removed.push(name);
  }
  return { handovers, removed };
}

/** @param {Manager[]} owners */
function ownerNames(owners) {
  return (
    owners
      .map((one) => `${one.name} (${one.way})`)
      .sort()
      .join(", ") || "nobody"
  );
}

/**
 * The lines of an object, without what an apply does not decide.
 * @param {any} object
 * @param {any} other
 * @param {string} word
 * @param {any} [settled] whose versions it is shown with
 */
function shown(object, other, word, settled = object) {
  const { managedFields, ...metadata } = masked(object, other, word).metadata;
  const { resourceVersion, generation } = settled.metadata;
  const made = { ...metadata, resourceVersion, ...(generation && { generation }) };
  return yamlLines({ ...masked(object, other, word), metadata: made }).map((line) => line.text);
}
