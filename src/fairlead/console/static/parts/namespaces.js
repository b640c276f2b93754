/** The namespace that all views keep to. */

import { getJson } from "../core/api.js";
import { choose } from "./palette.js";

const KEY = "fairlead.namespace";

/** @returns {string} empty for all of them */
export function chosenNamespace() {
  return sessionStorage.getItem(KEY) ?? "";
}

/** @param {string} name empty for all of them */
export function keepNamespace(name) {
  sessionStorage.setItem(KEY, name);
}

/**
 * Let the person choose.
 * @param {() => void} changed
 */
export function chooseNamespace(changed) {
  /** @param {string} name */
  const take = (name) => {
    keepNamespace(name);
    changed();
  };
  const all = { title: "all", detail: "every namespace", run: () => take("") };
  const others = namespaceNames().then((names) =>
    names.map((name) => ({ title: name, detail: "", run: () => take(name) })),
  );
  choose("Namespace", [all], [others], take);
}

/**
 * Those there are; where they cannot be listed, those that are likely.
 * @returns {Promise<string[]>}
 */
export async function namespaceNames() {
  const known = [chosenNamespace(), "default"].filter(Boolean);
  const list = await getJson("/api/v1/namespaces").catch(() => ({
    items: known.map((name) => ({ metadata: { name } })),
  }));
  return list.items.map((/** @type {any} */ one) => one.metadata.name);
}
