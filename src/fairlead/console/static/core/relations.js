/** Objects and how they hang together: who owns, selects, mounts or names whom. */

import { ApiError, getJson, isAborted, reasonOf } from "./api.js";
import { list, metadataType } from "./listing.js";
import { collectionPath, objectPath } from "./paths.js";
import { mayName, NAMING, referencesOf, selectionOf } from "./references.js";
import { selects } from "./selectors.js";
import { keyOf, stateOf } from "./states.js";

/** @import {Catalogue, Kind} from "./kinds.js" */
/** @import {Named} from "./paths.js" */
/** @import {Reference} from "./references.js" */
/** @import {Selector} from "./selectors.js" */
/** @import {Rights} from "./rights.js" */
/** @import {State} from "./states.js" */
/** @import {Subject} from "./subject.js" */
/**
 * @typedef {object} Thing
 * @property {string} id
 * @property {string} title the name of its kind
 * @property {Kind | undefined} kind none for users and groups, and where it is not served
 * @property {string} namespace
 * @property {string} name
 * @property {string} uid the one that is meant, empty if any is
 * @property {any} object as far as known, null if it was not seen
 * @property {boolean} isWhole
 * @property {State} state
 */
/** @typedef {{from: string, to: string, label: string}} Edge */

const MAX_OBJECTS = 1_000; // objects of a kind
const NOTHING = /** @type {State} */ ({ word: "", tone: "", why: "" });
// Kinds whose metadata tells all that matters here.
export const STATELESS = ["secrets.", "configmaps.", "endpoints.", "controllerrevisions.apps"];
// Kinds that are read whole, beside those that name others.
const WHOLE = ["deployments.apps", "replicasets.apps", "daemonsets.apps", "jobs.batch"];

/** All that could be seen around one object. */
export class World {
  /** @type {Map<string, Thing>} */
  things = new Map();
  /** @type {Edge[]} */
  edges = [];
  /** What could not be looked at. @type {string[]} */
  notes = [];
  /** Ids of what was asked for by name. @type {Set<string>} */
  #asked = new Set();
  /** By namespace, and by namespace and label. @type {Map<string, Thing[]>} */
  #pods = new Map();
  /** Edges in one text each. @type {Set<string>} */
  #joined = new Set();

  /**
   * @param {Catalogue} catalogue
   * @param {AbortSignal} signal
   */
  constructor(catalogue, signal) {
    this.catalogue = catalogue;
    this.signal = signal;
  }

  /**
   * Look at everything in the namespace of an object, or everywhere if it is in none.
   * @param {Subject} subject
   * @param {Rights} rights
   * @returns {Promise<Thing>} the object itself
   */
  async load(subject, rights) {
    const { kind, object } = subject;
    const kinds = this.catalogue.listed.filter(
      (one) =>
        one.verbs.includes("watch") &&
        one.plural !== "events" &&
        (one.namespaced || !kind.namespaced || NAMING.has(this.#key(one))),
    );
    const hidden = kinds.filter((one) => !rights.mayList(one)).map((one) => one.plural);
    if (hidden.length) this.notes.push(`you may not list ${hidden.join(", ")}`);
    const centre = this.see(kind, object, true);
    await Promise.all(
      kinds.filter((one) => rights.mayList(one)).map((one) => this.#list(one, subject)),
    );
    this.join(centre);
    return centre;
  }

  /**
   * Find out how all that was seen hangs together.
   * @param {Thing} [centre] the workload whose pods count even before there are any
   */
  join(centre) {
    const seen = [...this.things.values()];
    const pods = seen.filter((one) => one.object && one.kind && this.#key(one.kind) === "pods.");
    this.#pods = Map.groupBy(pods, (one) => one.namespace);
    for (const pod of pods) {
      for (const [name, value] of Object.entries(pod.object.metadata.labels ?? {})) {
        const key = `${pod.namespace} ${name}=${value}`;
        const known = this.#pods.get(key);
        if (known) known.push(pod);
        else this.#pods.set(key, [pod]);
      }
    }
    for (const thing of seen) this.#connect(thing, centre);
  }

  /**
   * See those that were only heard of.
   * @param {Thing[]} things
   * @param {Thing} centre
   * @returns {Promise<boolean>} whether that told of others
   */
  async resolve(things, centre) {
    const unknown = things.filter(
      (one) =>
        one.kind &&
        !one.isWhole &&
        !this.#asked.has(one.id) &&
        !(one.object && STATELESS.includes(this.#key(one.kind))),
    );
    const before = this.edges.length;
    await Promise.all(unknown.map((one) => this.#get(one)));
    for (const one of unknown) this.#connect(one, centre);
    return this.edges.length > before;
  }

  /**
   * @param {Kind} kind
   * @param {Subject} subject
   */
  async #list(kind, subject) {
    const key = this.#key(kind);
    const isWhole = mayName(key) || WHOLE.includes(key);
    const accept = isWhole ? undefined : metadataType(this.catalogue);
    const isOfNode = key === "pods." && this.#key(subject.kind) === "nodes.";
    /** @type {Record<string, string>} */
    const query = isOfNode ? { fieldSelector: `spec.nodeName=${subject.named.name}` } : {};
    const path = collectionPath(kind, subject.named.namespace);
    try {
      const found = await list(path, { accept, query, maximum: MAX_OBJECTS, signal: this.signal });
      for (const item of found.items) this.see(kind, item, isWhole);
      const unseen = found.total - found.items.length;
      if (unseen) this.notes.push(`the last ${unseen} of ${found.total} ${kind.plural}`);
    } catch (error) {
      if (isAborted(error)) throw error;
      this.notes.push(`${kind.plural}: ${reasonOf(error)}`);
    }
  }

  /** @param {Thing} thing */
  async #get(thing) {
    const kind = /** @type {Kind} */ (thing.kind);
    this.#asked.add(thing.id);
    const isBrief = STATELESS.includes(this.#key(kind));
    const accept = isBrief ? metadataType(this.catalogue, "PartialObjectMetadata") : undefined;
    try {
      const object = await getJson(objectPath(kind, thing), { accept, signal: this.signal });
      if (thing.uid && object.metadata.uid !== thing.uid)
        thing.state = missing("another one has its name");
      else this.see(kind, object, !isBrief);
    } catch (error) {
      if (isAborted(error)) throw error;
      if (error instanceof ApiError && error.code === 404) thing.state = missing("");
      else thing.state = { ...NOTHING, why: reasonOf(error) };
    }
  }

  /**
   * Take in an object, to be joined with others later.
   * @param {Kind} kind
   * @param {any} object
   * @param {boolean} isWhole
   */
  see(kind, object, isWhole) {
    const { namespace = "", name, uid } = object.metadata;
    const thing = this.#thing(kind, kind.kind, namespace, name);
    if (thing.isWhole) return thing;
    const state = stateOf(this.#key(kind), object);
    return Object.assign(thing, { uid, object, isWhole, state });
  }

  /**
   * @param {Kind | undefined} kind
   * @param {string} title
   * @param {string} namespace
   * @param {string} name
   * @param {string} [uid]
   * @returns {Thing}
   */
  #thing(kind, title, namespace, name, uid = "") {
    // An owner that was replaced is not the object that has its name now.
    let id = idOf(kind, title, namespace, name);
    const found = this.things.get(id);
    if (found && (!uid || !found.uid || found.uid === uid)) return found;
    if (found) id += `/${uid}`;
    const known = this.things.get(id);
    if (known) return known;
    const state = found ? missing("another one has its name") : NOTHING;
    if (found) this.#asked.add(id);
    const made = { id, title, kind, namespace, name, uid, object: null, isWhole: false, state };
    this.things.set(id, made);
    return made;
  }

  /**
   * @param {Thing} thing
   * @param {Thing} [centre]
   */
  #connect(thing, centre) {
    if (!thing.object || !thing.kind) return;
    const key = this.#key(thing.kind);
    for (const owner of thing.object.metadata.ownerReferences ?? []) {
      const kind = this.catalogue.of(owner);
      const namespace = kind?.namespaced ? thing.namespace : "";
      const from = this.#thing(kind, owner.kind, namespace, owner.name, owner.uid);
      this.#join(from, thing, "owns");
    }
    if (!thing.isWhole) return;
    for (const one of referencesOf(key, thing.object))
      this.#join(thing, this.#named(one, thing), one.label);
    const selection = selectionOf(key, thing.object);
    if (!selection) return;
    for (const pod of this.#candidates(thing.namespace, selection.selector))
      if (selects(selection.selector, pod.object.metadata.labels))
        this.#join(thing, pod, selection.label);
    const made = centre?.object.spec?.template?.metadata?.labels;
    if (made && thing.namespace === centre?.namespace && selects(selection.selector, made))
      this.#join(thing, centre, `${selection.label} pods of`);
  }

  /**
   * The pods that have the first label of a selector, or all if it asks for none.
   * @param {string} namespace
   * @param {Selector} selector
   */
  #candidates(namespace, { matchLabels = {} }) {
    const [first] = Object.entries(matchLabels);
    const key = first ? `${namespace} ${first[0]}=${first[1]}` : namespace;
    return this.#pods.get(key) ?? [];
  }

  /**
   * @param {Reference} reference
   * @param {Thing} by
   */
  #named({ kind: title, name, group, namespace }, by) {
    const full = `${group}.${this.catalogue.about.groupDomain}`;
    const kind = this.catalogue.find(group, title) ?? this.catalogue.find(full, title);
    const inside = kind && !kind.namespaced ? "" : (namespace ?? (kind ? by.namespace : ""));
    return this.#thing(kind, title, inside, name);
  }

  /**
   * @param {Thing} from
   * @param {Thing} to
   * @param {string} label
   */
  #join(from, to, label) {
    const text = `${from.id} ${to.id} ${label}`; // there are no spaces in ids
    if (this.#joined.has(text)) return;
    this.#joined.add(text);
    this.edges.push({ from: from.id, to: to.id, label });
  }

  /** @param {Kind} kind */
  #key(kind) {
    return keyOf(this.catalogue, kind);
  }
}

/**
 * @param {Kind} kind
 * @param {Named} named
 */
export function idOfObject(kind, { namespace = "", name }) {
  return idOf(kind, kind.kind, namespace, name);
}

/**
 * @param {Kind | undefined} kind
 * @param {string} title
 * @param {string} namespace
 * @param {string} name
 */
function idOf(kind, title, namespace, name) {
  return [kind?.group ?? "", title, namespace, name].join("/");
}

/**
 * What is joined to an object directly, in both directions.
 * @param {Catalogue} catalogue
 * @param {Subject} subject
 * @param {Rights} rights
 * @param {AbortSignal} signal
 * @returns {Promise<{label: string, isFrom: boolean, thing: Thing}[]>}
 */
export async function relatedTo(catalogue, subject, rights, signal) {
  const world = new World(catalogue, signal);
  const centre = await world.load(subject, rights);
  const joined = world.edges.flatMap(({ from, to, label }) => {
    const isFrom = from === centre.id;
    const thing = world.things.get(isFrom ? to : from);
    return thing && (isFrom || to === centre.id) ? [{ label, isFrom, thing }] : [];
  });
  await world.resolve(
    joined.map((one) => one.thing),
    centre,
  );
  return joined;
}

/**
 * @param {string} why
 * @returns {State}
 */
export function missing(why) {
  return { word: "missing", tone: "bad", why };
}
