/** What the server serves, custom kinds included, as discovery tells it. */

import { getJson } from "./api.js";

/**
 * @typedef {object} Kind
 * @property {string} group
 * @property {string} version
 * @property {string} plural
 * @property {string} kind
 * @property {boolean} namespaced
 * @property {string[]} verbs
 * @property {string[]} shortNames
 * @property {string[]} parts its subresources
 */
/**
 * What is known about the server. A foreign one is no Fairlead server: it has no history. `context`
 * is there where one console shows several servers.
 * @typedef {object} About
 * @property {string} dialect
 * @property {string} groupDomain
 * @property {string} labelDomain
 * @property {string} version
 * @property {boolean} testing
 * @property {boolean} [foreign]
 * @property {string[]} [contexts]
 * @property {string} [context]
 * @property {string} [server]
 */

const AT_ONCE = 5; // requests; browsers have six connections to a server
const PATIENCE = 5_000; // milliseconds that a group may take
// Everything in one answer, where the server has that.
const WHOLE =
  "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json";

/** What is served. Call `load` once, and again where something may have been added. */
export class Catalogue {
  /** @type {Kind[]} */
  kinds = [];
  /** @type {About} */
  about = { dialect: "", groupDomain: "", labelDomain: "", version: "", testing: false };

  /** @param {AbortSignal} [signal] */
  async load(signal) {
    const about = getJson("/console/about", { signal }).then((one) => (this.about = one));
    const [, core, groups] = await Promise.all([
      about,
      getJson("/api", { accept: WHOLE, signal }),
      getJson("/apis", { accept: WHOLE, signal }),
    ]);
    const found =
      isWhole(core) && isWhole(groups)
        ? [...core.items, ...groups.items].flatMap(kindsWithin)
        : await kindsOfAll(groups, signal);
    this.kinds = preferred(found).sort(byName);
  }

  /**
   * The kind of a path or of a reference; `plural` may be the kind's own name.
   * @param {string} group
   * @param {string} plural
   * @returns {Kind | undefined}
   */
  find(group, plural) {
    return this.kinds.find(
      (one) => one.group === group && (one.plural === plural || one.kind === plural),
    );
  }

  /**
   * The same for a kind that may have been added since.
   * @param {string} group
   * @param {string} plural
   * @param {AbortSignal} signal
   */
  async seek(group, plural, signal) {
    if (!this.find(group, plural)) await this.load(signal);
    return this.find(group, plural);
  }

  /**
   * The kind of an object or an owner reference.
   * @param {{apiVersion?: string, kind?: string}} reference
   */
  of(reference) {
    const parts = (reference.apiVersion ?? "").split("/");
    return this.find(parts.length > 1 ? parts[0] : "", reference.kind ?? "");
  }

  /** Those that can be looked at. */
  get listed() {
    return this.kinds.filter((one) => one.verbs.includes("list"));
  }
}

/** @param {any} answer */
function isWhole({ kind, items }) {
  return kind === "APIGroupDiscoveryList" && Array.isArray(items);
}

/**
 * The kinds of a group that tells them itself, its preferred version first.
 * @param {any} group
 * @returns {Kind[]}
 */
function kindsWithin({ metadata, versions }) {
  return versions.flatMap((/** @type {any} */ { version, resources }) =>
    (resources ?? [])
      .map((/** @type {any} */ one) => ({
        name: one.resource,
        kind: one.responseKind?.kind,
        namespaced: one.scope === "Namespaced",
        verbs: one.verbs,
        shortNames: one.shortNames,
        parts: (one.subresources ?? []).map((/** @type {any} */ part) => part.subresource),
      }))
      .filter(isSound)
      .map((/** @type {any} */ one) => kindFrom(metadata.name ?? "", version, one)),
  );
}

/**
 * The kinds of groups that have to be asked one by one.
 * @param {any} groups
 * @param {AbortSignal} [signal]
 */
async function kindsOfAll(groups, signal) {
  /** @type {[string, string][]} */
  const asked = [
    ["", "v1"],
    ...groups.groups.flatMap((/** @type {any} */ group) =>
      versionsOf(group).map((version) => [group.name, version]),
    ),
  ];
  return (await inTurns(asked, ([group, version]) => kindsOf(group, version, signal))).flat();
}

/**
 * Versions with the preferred one first.
 * @param {any} group
 * @returns {string[]}
 */
function versionsOf(group) {
  const names = group.versions.map((/** @type {any} */ one) => one.version);
  const first = group.preferredVersion?.version;
  return names.sort(
    (/** @type {string} */ a, /** @type {string} */ b) => Number(b === first) - Number(a === first),
  );
}

/**
 * Work on many things, a few at a time: what waits in the browser's own queue would run out of time.
 * @template T, R
 * @param {T[]} things
 * @param {(thing: T) => Promise<R>} work
 * @returns {Promise<R[]>}
 */
async function inTurns(things, work) {
  /** @type {R[]} */
  const found = [];
  const left = things.entries();
  const go = async () => {
    for (const [at, thing] of left) found[at] = await work(thing);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, go));
  return found;
}

/**
 * A group that another server has may be away, or not answer in time: then it has no kinds.
 * @param {string} group
 * @param {string} version
 * @param {AbortSignal} [signal]
 * @returns {Promise<Kind[]>}
 */
async function kindsOf(group, version, signal) {
  const path = group ? `/apis/${group}/${version}` : `/api/${version}`;
  const timeout = AbortSignal.timeout(PATIENCE);
  const either = signal ? AbortSignal.any([signal, timeout]) : timeout;
  const list = await getJson(path, { signal: either }).catch((error) => {
    // Without those that are always here nothing would be right.
    if (!group || signal?.aborted) throw error;
    return null;
  });
  /** @type {any[]} */
  const resources = Array.isArray(list?.resources) ? list.resources : [];
  const names = resources.map((one) => String(one?.name));
  return resources.filter(isSound).map((one) => {
    const within = names.filter((name) => name.startsWith(`${one.name}/`));
    const parts = within.map((name) => name.slice(one.name.length + 1));
    return kindFrom(group, version, { ...one, parts });
  });
}

/**
 * @param {string} group
 * @param {string} version
 * @param {any} resource as discovery tells it
 * @returns {Kind}
 */
function kindFrom(group, version, { name, kind, namespaced, verbs, shortNames = [], parts = [] }) {
  return { group, version, plural: name, kind, namespaced, verbs, shortNames, parts };
}

/**
 * Whether it is a kind, as far as another server tells that right; subresources are none.
 * @param {any} one
 */
function isSound(one) {
  const isNamed = typeof one?.name === "string" && typeof one.kind === "string";
  return isNamed && /^[\w-]+$/.test(one.name) && Array.isArray(one.verbs);
}

/** @param {Kind[]} kinds in the order of preference */
function preferred(kinds) {
  const seen = new Map();
  for (const one of kinds) {
    const key = `${one.group}/${one.plural}`;
    if (!seen.has(key)) seen.set(key, one);
  }
  return [...seen.values()];
}

/**
 * @param {Kind} a
 * @param {Kind} b
 */
function byName(a, b) {
  return a.group.localeCompare(b.group) || a.kind.localeCompare(b.kind);
}
