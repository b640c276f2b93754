/** Finding kinds, and objects by their names. */

import { getJson } from "../core/api.js";
import { metadataType } from "../core/listing.js";
import { collectionPath, kindRoute, objectRoute } from "../core/paths.js";
import { go } from "../core/router.js";
import { chosenNamespace } from "./namespaces.js";
import { choose } from "./palette.js";

/** @import {Catalogue, Kind} from "../core/kinds.js" */
/** @import {Choice} from "./palette.js" */

// Whose objects people look for by name.
const SOUGHT = [
  "pods",
  "deployments",
  "services",
  "configmaps",
  "secrets",
  "namespaces",
  "nodes",
  "jobs",
  "statefulsets",
];
const MAX_OBJECTS = 1000; // objects of a kind

/** @param {Catalogue} catalogue */
export function chooseKind(catalogue) {
  choose("Go to a kind", kindChoices(catalogue));
}

/** @param {Catalogue} catalogue */
export function search(catalogue) {
  const sought = catalogue.listed.filter(
    (one) => SOUGHT.includes(one.plural) && one.verbs.includes("create"), // not their metrics
  );
  const objects = sought.map((kind) => objectChoices(kind, catalogue));
  choose("Search kinds and objects", kindChoices(catalogue), objects);
}

/**
 * @param {Catalogue} catalogue
 * @returns {Choice[]}
 */
function kindChoices(catalogue) {
  return catalogue.listed.map((kind) => ({
    title: kind.kind,
    detail: [kind.plural, ...kind.shortNames, kind.group].filter(Boolean).join(" "),
    run: () => go(kindRoute(kind)),
  }));
}

/**
 * @param {Kind} kind
 * @param {Catalogue} catalogue
 * @returns {Promise<Choice[]>}
 */
async function objectChoices(kind, catalogue) {
  const accept = metadataType(catalogue);
  const path = collectionPath(kind, chosenNamespace());
  const list = await getJson(path, { accept, query: { limit: MAX_OBJECTS } }).catch(() => ({
    items: [],
  }));
  return list.items.map((/** @type {any} */ { metadata }) => ({
    title: metadata.name,
    detail: [kind.kind, metadata.namespace].filter(Boolean).join(" in "),
    run: () => go(objectRoute(kind, metadata)),
  }));
}
