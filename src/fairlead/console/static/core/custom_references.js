/** Which other objects an object of a custom kind names: by the names that fields have by custom. */

/** @import {Reference} from "./references.js" */

const DEEP = 8; // levels of a spec that are looked at
const MANY = 50; // references of an object
/** How fields end that name an object, and of which kind. @type {[RegExp, string, string][]} */
const FIELDS = [
  [/secret(Key)?(Ref|Selector|Name)s?$/i, "Secret", "reads"],
  [/config-?map(Key)?(Ref|Selector|Name)s?$/i, "ConfigMap", "reads"],
  [/serviceAccount(Name|Ref)$/i, "ServiceAccount", "runs as"],
  [/(claimName|persistentVolumeClaimRef)$/i, "PersistentVolumeClaim", "mounts"],
  [/serviceRef$/i, "Service", "uses"],
];
const ANY = /refs?$/i; // of a kind that the reference itself names
// Groups of the server itself, without the dialect's domain, in whose names there is a dot.
const OWN = ["rbac.authorization", "flowcontrol.apiserver", "internal.apiserver"];

/**
 * Whether a kind is a custom one.
 * @param {string} key of the kind
 */
export function isCustomKey(key) {
  const group = key.slice(key.indexOf(".") + 1);
  return group.includes(".") && !OWN.includes(group);
}

/**
 * @param {any} object
 * @returns {Reference[]}
 */
export function customReferences({ spec }) {
  /** @type {Reference[]} */
  const found = [];
  walk(spec, DEEP, found);
  return found;
}

/**
 * @param {unknown} value
 * @param {number} levels that are left
 * @param {Reference[]} found
 */
function walk(value, levels, found) {
  if (!levels || !value || typeof value !== "object") return;
  for (const [field, inside] of Object.entries(value)) {
    if (found.length >= MANY) return;
    for (const one of [inside].flat()) {
      const reference = referenceOf(field, one);
      if (reference) found.push(reference);
      else walk(one, levels - 1, found);
    }
  }
}

/**
 * @param {string} field
 * @param {any} value a name, or an object with it
 * @returns {Reference | null}
 */
function referenceOf(field, value) {
  const named = typeof value === "string" ? { name: value } : value;
  if (typeof named?.name !== "string" || !named.name) return null;
  const [, usual = "", label = "uses"] = FIELDS.find(([ending]) => ending.test(field)) ?? [];
  const { name, namespace, apiVersion = "", kind = usual } = named;
  const isTold = usual || (ANY.test(field) && typeof value === "object");
  if (!isTold || typeof kind !== "string" || !kind) return null;
  const group = named.group ?? (String(apiVersion).includes("/") ? apiVersion.split("/")[0] : "");
  const inside = typeof namespace === "string" ? namespace : undefined;
  return { label, kind, group: String(group), name, namespace: inside };
}
