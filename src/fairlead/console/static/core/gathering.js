/** All objects of a namespace, or of all of them, kept current by the one request that tells of
 * changes: browsers have six connections to a server, which are too few for a watch of each kind. */

import { ApiError, getJson, isAborted, reasonOf } from "./api.js";
import { Feed } from "./feed.js";
import { list, metadataType } from "./listing.js";
import { Live } from "./live.js";
import { exactly } from "./past.js";
import { collectionPath, objectPath } from "./paths.js";
import { STATELESS } from "./relations.js";
import { Rights } from "./rights.js";
import { keyOf } from "./states.js";

/** @import {Catalogue, Kind} from "./kinds.js" */
/** @import {Change} from "./past.js" */
/** @typedef {{kind: Kind, isWhole: boolean, items: Map<string, any>, version: number}} Gathered */
/** @typedef {{kind: Kind, namespace: string, name: string}} Stale */

const MAX_OBJECTS = 2_000; // objects of a kind
const AT_ONCE = 5; // requests: a browser has six connections, and the feed needs one
const MANY = 30; // stale objects of a kind after which a list is cheaper
const KEPT = 1_000; // changes between two frames of which each is heeded
const PERIOD = 5_000; // milliseconds between two looks where nobody tells of changes
// What follows other objects so closely that it tells nothing of its own.
const NOISY = ["events", "leases", "endpoints", "endpointslices", "controllerrevisions"];
const BEYOND = ["persistentvolumes."]; // kinds in no namespace that belong to what is in one

/** Tells of `changed`, at most once a frame. */
export class Gathering extends Live {
  /** @type {Map<Kind, Gathered>} */
  kinds = new Map();
  /** What could not be looked at. @type {Map<string, string>} */
  problems = new Map();
  /** Whether all kinds were looked at. */
  isComplete = false;
  /** @type {Map<string, Stale>} */
  #stale = new Map();
  /** Kinds of which too much changed to ask for each. @type {Set<Kind>} */
  #due = new Set();
  #heeded = 0;
  /** The revision since which the feed told of all changes. */
  #start = 0;
  #isFetching = false;

  /**
   * @param {Catalogue} catalogue
   * @param {string} namespace
   * @param {string} [revision] as it was then, if that is wanted
   */
  constructor(catalogue, namespace, revision = "") {
    super();
    this.catalogue = catalogue;
    this.namespace = namespace;
    this.revision = revision;
    this.feed = new Feed(catalogue, namespace, 1, KEPT);
  }

  /**
   * Look at everything, and then where something changes, until aborted.
   * @param {AbortSignal} signal
   */
  async run(signal) {
    const rights = await Rights.load(this.catalogue, this.namespace, signal);
    const wanted = this.catalogue.listed.filter((kind) => this.#isWanted(kind));
    const hidden = wanted.filter((kind) => !rights.mayList(kind)).map((kind) => kind.plural);
    if (hidden.length) this.problems.set("", `you may not list ${hidden.join(", ")}`);
    for (const kind of wanted.filter((one) => rights.mayList(one))) {
      const isWhole = !STATELESS.includes(keyOf(this.catalogue, kind));
      this.kinds.set(kind, { kind, isWhole, items: new Map(), version: 0 });
    }
    // What changes meanwhile is looked at afterwards: nothing falls between.
    if (!this.revision) this.#follow(signal);
    await this.#listAll([...this.kinds.keys()], signal);
    if (signal.aborted) return;
    this.isComplete = true;
    this.become("live", "");
    if (this.revision) return;
    void this.#fetch(signal);
    await this.#poll(signal);
  }

  /** How many objects there are. */
  get count() {
    return [...this.kinds.values()].reduce((sum, one) => sum + one.items.size, 0);
  }

  /** @param {Kind} kind */
  #isWanted(kind) {
    return (
      kind.verbs.includes("watch") &&
      !NOISY.includes(kind.plural) &&
      (kind.namespaced || BEYOND.includes(keyOf(this.catalogue, kind)))
    );
  }

  /** @param {AbortSignal} signal */
  #follow(signal) {
    this.feed.addEventListener(
      "changed",
      () => {
        const fresh = this.feed.count - this.#heeded;
        this.#heeded = this.feed.count;
        if (fresh > KEPT) for (const one of this.kinds.keys()) this.#due.add(one);
        else if (fresh) for (const one of this.feed.changes.slice(-fresh)) this.#heed(one);
        if (this.isComplete) void this.#fetch(signal);
      },
      { signal },
    );
    void this.feed.run(signal);
  }

  /** @param {Change} change */
  #heed({ type, group = "", resource = "", namespace = "", name }) {
    const kind = this.catalogue.find(group, resource);
    const gathered = kind && this.kinds.get(kind);
    if (!gathered) return;
    const id = `${namespace}/${name}`;
    if (type === "DELETED") {
      this.#stale.delete(`${group}/${resource}/${id}`);
      if (gathered.items.delete(id)) this.tell();
    } else this.#stale.set(`${group}/${resource}/${id}`, { kind, namespace, name });
  }

  /**
   * Ask for what changed until there is no more of it.
   * @param {AbortSignal} signal
   */
  async #fetch(signal) {
    this.#seekMissed();
    if (this.#isFetching) return;
    this.#isFetching = true;
    while (!signal.aborted && (this.#stale.size || this.#due.size)) {
      const counts = Map.groupBy(this.#stale.values(), (one) => one.kind);
      for (const [kind, found] of counts) if (found.length > MANY) this.#due.add(kind);
      const due = [...this.#due];
      const few = [...this.#stale.values()].filter((one) => !this.#due.has(one.kind));
      this.#due.clear();
      this.#stale.clear();
      await this.#listAll(due, signal);
      await inTurns(few, (one) => this.#get(one, signal));
    }
    this.#isFetching = false;
  }

  /** What was listed before the feed began may have changed in between. */
  #seekMissed() {
    if (this.#start === this.feed.start) return;
    this.#start = this.feed.start;
    for (const { kind, version } of this.kinds.values())
      if (version < this.#start) this.#due.add(kind);
  }

  /**
   * Where nobody tells of changes, look at everything now and then.
   * @param {AbortSignal} signal
   */
  async #poll(signal) {
    while (!signal.aborted) {
      await new Promise((resolve) => setTimeout(resolve, PERIOD));
      if (this.feed.state === "live" || document.hidden) continue;
      for (const kind of this.kinds.keys()) this.#due.add(kind);
      await this.#fetch(signal);
    }
  }

  /**
   * @param {Kind[]} kinds
   * @param {AbortSignal} signal
   */
  #listAll(kinds, signal) {
    return inTurns(kinds, (kind) => this.#list(kind, signal));
  }

  /**
   * @param {Kind} kind
   * @param {AbortSignal} signal
   */
  async #list(kind, signal) {
    const gathered = /** @type {Gathered} */ (this.kinds.get(kind));
    const accept = gathered.isWhole ? undefined : metadataType(this.catalogue);
    const query = exactly(this.revision);
    const path = collectionPath(kind, this.namespace);
    try {
      const wanted = { accept, query, maximum: MAX_OBJECTS, signal };
      const { items, total, version } = await list(path, wanted);
      gathered.version = Number(version);
      gathered.items = new Map(items.map((one) => [idOf(one.metadata), latest(gathered, one)]));
      const unseen = total - items.length;
      if (unseen) this.problems.set(kind.plural, `the last ${unseen} of ${total} ${kind.plural}`);
      else this.problems.delete(kind.plural);
    } catch (error) {
      if (isAborted(error) || signal.aborted) return;
      this.problems.set(kind.plural, `${kind.plural}: ${reasonOf(error)}`);
    }
    this.tell();
  }

  /**
   * @param {Stale} stale
   * @param {AbortSignal} signal
   */
  async #get({ kind, namespace, name }, signal) {
    const { isWhole, items } = /** @type {Gathered} */ (this.kinds.get(kind));
    const accept = isWhole ? undefined : metadataType(this.catalogue, "PartialObjectMetadata");
    try {
      const object = await getJson(objectPath(kind, { namespace, name }), { accept, signal });
      items.set(idOf(object.metadata), object);
    } catch (error) {
      if (isAborted(error) || signal.aborted) return;
      // What cannot be asked for now is heard of again when it is there.
      if (error instanceof ApiError && error.code === 404) items.delete(`${namespace}/${name}`);
      else this.problems.set(kind.plural, `${kind.plural}: ${reasonOf(error)}`);
    }
    this.tell();
  }
}

/**
 * The same object as before where it did not change: what was found out about it is remembered.
 * @param {Gathered} gathered
 * @param {any} object
 */
function latest({ items }, object) {
  const known = items.get(idOf(object.metadata));
  const { uid, resourceVersion } = object.metadata;
  const isSame = known?.metadata.uid === uid && known.metadata.resourceVersion === resourceVersion;
  return isSame ? known : object;
}

/** @param {{namespace?: string, name: string}} metadata */
function idOf({ namespace = "", name }) {
  return `${namespace}/${name}`;
}

/**
 * @template T
 * @param {T[]} things
 * @param {(thing: T) => Promise<void>} work
 */
async function inTurns(things, work) {
  const left = things.values();
  const go = async () => {
    for (const one of left) await work(one);
  };
  await Promise.all(Array.from({ length: Math.min(AT_ONCE, things.length) }, go));
}
