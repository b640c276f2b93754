/** Texts that somebody began to write, kept as long as the tab lives. */

/** @typedef {{text: string, base: string}} Draft `base` is what it began from */

const KEY = "fairlead.draft.";

/**
 * @param {string} path of what is being written
 * @returns {Draft | null}
 */
export function draftOf(path) {
  const kept = sessionStorage.getItem(KEY + path);
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
    sessionStorage.setItem(KEY + path, JSON.stringify(draft));
    return true;
  } catch {
    return false;
  }
}

/** @param {string} path */
export function dropDraft(path) {
  sessionStorage.removeItem(KEY + path);
}
