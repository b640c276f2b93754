/** What is drawn of all that was seen: the relations that are worth a line, and what belongs to one
 * object or to one application. */

import { keyOf } from "./states.js";

/** @import {Catalogue} from "./kinds.js" */
/** @import {Edge, Thing, World} from "./relations.js" */

const BEYOND = ["persistentvolumes."]; // kinds in no namespace that are drawn
// What every namespace has, and is worth drawing only where something refers to it.
const USUAL = { ConfigMap: "kube-root-ca.crt", ServiceAccount: "default" };
// Relations by which many that have nothing else in common meet.
const SHARED = ["mounts", "reads", "runs as", "pulls with", "serves with", "uses", "grants"];
// Relations of what has a reach of its own, which may be much more than one application.
const RULES = ["guards", "protects", "routes to", "mirrors to"];
const NAMES = ["name", "instance"]; // of labels that say to which application something belongs

/**
 * The edges between objects that are drawn.
 * @param {World} world
 * @returns {Edge[]}
 */
export function drawnEdges({ things, edges, catalogue }) {
  const isDrawn = (/** @type {string} */ id) => isOnMap(catalogue, things.get(id));
  return edges.filter(
    ({ from, to, label }) =>
      from !== to &&
      isDrawn(from) &&
      isDrawn(to) &&
      // Everything runs as somebody: only who was chosen tells something.
      !(label === "runs as" && things.get(to)?.name === USUAL.ServiceAccount),
  );
}

/**
 * All that is on the map of a namespace.
 * @param {World} world
 * @param {Edge[]} edges
 * @returns {Set<string>}
 */
export function everything({ things, catalogue }, edges) {
  const joined = new Set(edges.flatMap(({ from, to }) => [from, to]));
  const found = new Set();
  for (const thing of things.values()) {
    const isUsual = USUAL[/** @type {keyof typeof USUAL} */ (thing.title)] === thing.name;
    const isLoose = thing.object && thing.kind?.namespaced && !isUsual;
    if (joined.has(thing.id) ? isNear(thing, edges, things) : isLoose && isOnMap(catalogue, thing))
      found.add(thing.id);
  }
  return found;
}

/**
 * What is in no namespace counts where something refers to it.
 * @param {Thing} thing
 * @param {Edge[]} edges
 * @param {Map<string, Thing>} things
 */
function isNear(thing, edges, things) {
  if (!thing.kind || thing.kind.namespaced) return true;
  return edges.some((edge) => edge.to === thing.id && things.get(edge.from)?.kind?.namespaced);
}

/**
 * What is connected with some objects: what owns, uses, selects and routes to them and on, but not
 * what only uses the same configuration.
 * @param {Edge[]} edges
 * @param {Iterable<string>} centres
 * @returns {Set<string>}
 */
export function connected(edges, centres) {
  const leaving = Map.groupBy(edges, (edge) => edge.from);
  const coming = Map.groupBy(edges, (edge) => edge.to);
  /** By id, whether one goes on from there in both directions. @type {Map<string, boolean>} */
  const found = new Map([...centres].map((id) => [id, true]));
  const left = [...found.keys()];
  const take = (/** @type {string} */ id, /** @type {boolean} */ isOpen) => {
    if (found.get(id) || found.get(id) === isOpen) return;
    found.set(id, isOpen);
    left.push(id);
  };
  for (let id = left.pop(); id !== undefined; id = left.pop()) {
    const isOpen = found.get(id) ?? false;
    for (const { to, label } of leaving.get(id) ?? []) {
      if (isOpen || !RULES.includes(label)) take(to, isOpen && !SHARED.includes(label));
    }
    if (isOpen) {
      for (const { from, label } of coming.get(id) ?? []) take(from, !RULES.includes(label));
    }
  }
  return new Set(found.keys());
}

/**
 * The applications that labels tell of.
 * @param {World} world
 * @returns {Map<string, string[]>} ids of their objects by name
 */
export function applications({ things, catalogue }) {
  /** @type {Map<string, string[]>} */
  const found = new Map();
  for (const { id, object } of things.values()) {
    const labels = object?.metadata.labels ?? {};
    const domains = new Set(["app.kubernetes.io", `app.${catalogue.about.labelDomain}`]);
    const names = [...domains].flatMap((domain) => NAMES.map((one) => labels[`${domain}/${one}`]));
    for (const name of new Set(names.filter(Boolean)))
      found.set(name, [...(found.get(name) ?? []), id]);
  }
  return new Map([...found].sort(([a], [b]) => a.localeCompare(b)));
}

/**
 * @param {Catalogue} catalogue
 * @param {Thing | undefined} thing
 */
function isOnMap(catalogue, thing) {
  if (!thing) return false;
  if (!thing.kind) return !["User", "Group"].includes(thing.title);
  const key = keyOf(catalogue, thing.kind);
  if (key === "replicasets.apps" && isFormer(thing.object)) return false;
  return thing.kind.namespaced || BEYOND.includes(key);
}

/**
 * Whether a replica set is that of a revision which no longer runs.
 * @param {any} object
 */
function isFormer(object) {
  const { metadata, spec, status } = object ?? {};
  return metadata?.ownerReferences?.length && spec?.replicas === 0 && !status?.replicas;
}
