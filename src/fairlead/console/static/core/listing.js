/** Lists of whole objects or of their metadata alone, in pages and up to a bound. */

import { getJson } from "./api.js";

/** @import {Catalogue} from "./kinds.js" */
/**
 * @typedef {object} Wanted
 * @property {string} [accept]
 * @property {Record<string, string>} [query]
 * @property {number} maximum objects to ask for
 * @property {AbortSignal} [signal]
 */
/** @typedef {{items: any[], total: number, version: string}} Listed */

const PAGE = 500;

/**
 * The type of lists, or of objects, that have nothing but metadata.
 * @param {Catalogue} catalogue
 * @param {string} [form]
 */
export function metadataType(catalogue, form = "PartialObjectMetadataList") {
  const meta = `meta.${catalogue.about.groupDomain}`;
  return `application/json;as=${form};v=v1;g=${meta},application/json`;
}

/**
 * The objects at a path; `total` counts those beyond the bound, too, as far as the server tells.
 * @param {string} path
 * @param {Wanted} wanted
 * @returns {Promise<Listed>}
 */
export async function list(path, { accept, query, maximum, signal }) {
  /** @type {any[]} */
  const items = [];
  let next = "";
  let remaining = 0;
  let version = "";
  do {
    const limit = Math.min(PAGE, maximum - items.length);
    // Further pages are of the revision of the first one, which must not be said again.
    const { resourceVersion: _, resourceVersionMatch: __, ...rest } = query ?? {};
    const asked = next ? { ...rest, limit, continue: next } : { ...query, limit };
    const page = await getJson(path, { accept, query: asked, signal });
    items.push(...(page.items ?? []));
    next = page.metadata?.continue ?? "";
    version = page.metadata?.resourceVersion ?? "";
    remaining = page.metadata?.remainingItemCount ?? 0;
  } while (next && items.length < maximum);
  return { items, total: items.length + remaining, version };
}
