/** The namespace that all views keep to. */

import { getJson } from "../core/api.js";
import { choose } from "./palette.js";

/** @import {Catalogue} from "../core/kinds.js" */

const KEY = "fairlead.namespace";

/** @returns {string} empty for all of them */
export function chosenNamespace() {
  return sessionStorage.getItem(KEY) ?? "";
}

/**
 * Let the person choose; where the namespaces cannot be listed, those that were used before are offered.
 * @param {Catalogue} catalogue
 * @param {() => void} changed
 */
export async function chooseNamespace(catalogue, changed) {
  const names = await namespaceNames();
  /** @param {string} name */
  const take = (name) => {
    sessionStorage.setItem(KEY, name);
    changed();
  };
  choose("Namespace", [
    { title: "all", detail: "every namespace", run: () => take("") },
    ...names.map((name) => ({ title: name, detail: "", run: () => take(name) })),
  ]);
}

/** @returns {Promise<string[]>} */
export async function namespaceNames() {
  const known = [chosenNamespace(), "default"].filter(Boolean);
  const list = await getJson("/api/v1/namespaces").catch(() => ({
    items: known.map((name) => ({ metadata: { name } })),
  }));
  return list.items.map((/** @type {any} */ one) => one.metadata.name);
}
