/** What goes with an object when it is deleted. */

import { list, metadataType } from "./listing.js";
import { isOwned } from "./near.js";
import { collectionPath } from "./paths.js";

/** @import {Catalogue, Kind} from "./kinds.js" */
/** @import {Named} from "./paths.js" */
/** @import {Rights} from "./rights.js" */
/** @typedef {{kind: Kind, metadata: any}} Dependent */

const MAX_OBJECTS = 2_000; // objects of a kind
const AT_ONCE = 5; // requests

/**
 * Everything that an object owns, directly or through others; all that is in it, if it is a
 * namespace. `hidden` are kinds that may not be listed.
 * @param {Catalogue} catalogue
 * @param {Rights} rights
 * @param {{kind: Kind, named: Named, uid: string}} target
 * @param {AbortSignal} signal
 * @returns {Promise<{found: Dependent[], hidden: string[]}>}
 */
export async function dependentsOf(catalogue, rights, { kind, named, uid }, signal) {
  const isNamespace = !kind.group && kind.plural === "namespaces";
  const inside = isNamespace ? named.name : named.namespace;
  const kinds = catalogue.listed.filter(
    (one) => one.verbs.includes("delete") && one.plural !== "events" && (one.namespaced || !inside),
  );
  const seen = kinds.filter((one) => rights.mayList(one));
  const hidden = kinds.filter((one) => !rights.mayList(one)).map((one) => one.plural);
  /** @type {Dependent[]} */
  const all = [];
  const left = seen.values();
  const go = async () => {
    for (const one of left) {
      const wanted = { accept: metadataType(catalogue), maximum: MAX_OBJECTS, signal };
      const found = await list(collectionPath(one, inside), wanted).catch(() => ({ items: [] }));
      for (const { metadata } of found.items) all.push({ kind: one, metadata });
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, go));
  if (isNamespace) return { found: all, hidden };
  /** @type {Dependent[]} */
  const found = [];
  for (let owners = [uid]; owners.length;) {
    const known = new Set(found.map((one) => one.metadata.uid));
    const next = all.filter(
      (one) => !known.has(one.metadata.uid) && owners.some((owner) => isOwned(one, owner)),
    );
    found.push(...next);
    owners = next.map((one) => one.metadata.uid);
  }
  return { found, hidden };
}
