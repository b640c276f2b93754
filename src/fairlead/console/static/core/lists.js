/** Whole lists. */

import { getJson } from "./api.js";
import { collectionPath } from "./paths.js";

/** @import {Kind} from "./kinds.js" */

const PAGE = 500;

/**
 * The objects of a kind; throws ApiError.
 * @param {Kind} kind
 * @param {string} namespace empty for all
 * @param {AbortSignal} signal
 * @param {{accept?: string, most?: number}} [options]
 * @returns {Promise<any[]>} at most so many, or a page more
 */
export async function listAll(kind, namespace, signal, { accept, most = Infinity } = {}) {
  const found = [];
  let next = "";
  do {
    const query = { limit: PAGE, continue: next };
    const list = await getJson(collectionPath(kind, namespace), { accept, query, signal });
    found.push(...(list.items ?? []));
    next = list.metadata?.continue ?? "";
  } while (next && found.length < most);
  return found;
}
