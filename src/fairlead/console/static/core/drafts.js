/** Texts that somebody began to write, kept as long as the tab lives. */

import { contextName } from "./session.js";

/** @typedef {{text: string, base: string}} Draft `base` is what it began from */

const KEY = "fairlead.draft.";
/** What a text with any objects is kept under, beside the paths of objects. */
export const ANYTHING = "apply anything";

/**
 * @param {string} path of what is being written
 * @returns {Draft | null}
 */
export function draftOf(path) {
  const kept = sessionStorage.getItem(keyOf(path));
  return kept && JSON.parse(kept);
}

/**
 * Keep a draft; one that changes nothing is forgotten.
 * @param {string} path
 * @param {Draft} draft
 * @returns {boolean} false where there is no room for it
 */
export function keepDraft(path, draft) {
  if (draft.text === draft.base) {
    dropDraft(path);
    return true;
  }
  try {
    sessionStorage.setItem(keyOf(path), JSON.stringify(draft));
    return true;
  } catch {
    return false;
  }
}

/** @param {string} path */
export function dropDraft(path) {
  sessionStorage.removeItem(keyOf(path));
}

/**
 * A draft for one server is none for another one.
 * @param {string} path
 */
function keyOf(path) {
  const context = contextName();
  return KEY + (context && `${context} `) + path;
}
