/** What was there at a revision, worked out from what is there now and from what happened. */

import { ApiError } from "./api.js";
import { list, metadataType } from "./listing.js";
import { kindOf, revisionOf } from "./past.js";
import { collectionPath } from "./paths.js";
import { Rights } from "./rights.js";

/** @import {Catalogue, Kind} from "./kinds.js" */
/** @import {Change} from "./past.js" */
/**
 * @typedef {object} Thing
 * @property {Kind} kind
 * @property {string} namespace
 * @property {string} name
 * @property {Change[]} changes oldest first
 * @property {boolean} isThere now, as far as changes do not say otherwise
 */
/** @typedef {"added" | "changed" | "removed" | "same"} Mark */
/** @typedef {{thing: Thing, mark: Mark}} Marked */

const MAX_OBJECTS = 1000; // objects of a kind that are listed
const NOISY = ["events", "leases"]; // the history leaves them out as well

export class Scene {
  /** @type {Map<string, Thing>} */
  #things = new Map();
  /** @type {Map<string, Thing>} */
  #listed = new Map();
  /** Kinds of which there are more than were listed. @type {string[]} */
  cut = [];
  /** Kinds that the user may not list. @type {string[]} */
  hidden = [];

  /**
   * @param {Catalogue} catalogue
   * @param {string} namespace
   */
  constructor(catalogue, namespace) {
    this.catalogue = catalogue;
    this.namespace = namespace;
  }

  /**
   * See what is there now; to be done before changes are asked for, so that nothing falls between.
   * @param {AbortSignal} signal
   */
  async load(signal) {
    const kinds = this.catalogue.listed.filter(
      (kind) =>
        (kind.namespaced || !this.namespace) &&
        kind.verbs.includes("watch") &&
        !NOISY.includes(kind.plural),
    );
    const rights = await Rights.load(this.catalogue, this.namespace, signal);
    const [seen, hidden] = [true, false].map((may) =>
      kinds.filter((kind) => rights.mayList(kind) === may),
    );
    this.hidden = hidden.map((kind) => kind.plural);
    await Promise.all(seen.map((kind) => this.#list(kind, signal)));
  }

  /**
   * @param {Kind} kind
   * @param {AbortSignal} signal
   */
  async #list(kind, signal) {
    const wanted = { accept: metadataType(this.catalogue), maximum: MAX_OBJECTS, signal };
    try {
      const { items, total } = await list(collectionPath(kind, this.namespace), wanted);
      if (total > items.length) this.cut.push(kind.plural);
      for (const { metadata } of items) {
        const { name, namespace = "" } = metadata;
        const thing = { kind, namespace, name, changes: [], isThere: true };
        this.#listed.set(keyOf(kind, namespace, name), thing);
      }
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      this.hidden.push(kind.plural);
    }
  }

  /** @param {Change[]} changes all that are known, oldest first */
  take(changes) {
    this.#things = new Map([...this.#listed].map(([key, one]) => [key, { ...one, changes: [] }]));
    for (const change of changes) {
      const kind = kindOf(change, this.catalogue);
      const { name, namespace = "" } = change;
      const key = keyOf(kind, namespace, name);
      let thing = this.#things.get(key);
      if (!thing) {
        thing = { kind, namespace, name, changes: [], isThere: false };
        this.#things.set(key, thing);
      }
      thing.changes.push(change);
    }
    this.#things = new Map([...this.#things].sort(([a], [b]) => (a < b ? -1 : 1)));
  }

  /**
   * What was there at one revision or the other, by kind, with how it is different.
   * @param {number} from
   * @param {number} to
   * @returns {Map<string, Marked[]>}
   */
  between(from, to) {
    const found = [];
    for (const thing of this.#things.values()) {
      const mark = markOf(thing, from, to);
      if (mark) found.push({ thing, mark });
    }
    return Map.groupBy(found, ({ thing }) => title(thing.kind));
  }
}

/**
 * @param {Thing} thing
 * @param {number} from
 * @param {number} to
 * @returns {Mark | null} null if it was there at neither
 */
function markOf(thing, from, to) {
  const [before, after] = [wasThere(thing, from), wasThere(thing, to)];
  if (!before && !after) return null;
  if (!before) return "added";
  if (!after) return "removed";
  const [first, last] = from < to ? [from, to] : [to, from];
  const isChanged = thing.changes.some((one) => {
    const revision = revisionOf(one);
    return revision > first && revision <= last;
  });
  return isChanged ? "changed" : "same";
}

/**
 * @param {Thing} thing
 * @param {number} revision
 */
function wasThere(thing, revision) {
  const last = thing.changes.findLast((one) => revisionOf(one) <= revision);
  if (last) return last.type !== "DELETED";
  const next = thing.changes[0];
  return next ? next.type !== "ADDED" : thing.isThere;
}

/** @param {Kind} kind */
function title(kind) {
  return kind.group ? `${kind.kind} · ${kind.group}` : kind.kind;
}

/**
 * @param {Kind} kind
 * @param {string} namespace
 * @param {string} name
 */
function keyOf(kind, namespace, name) {
  return `${kind.group}/${kind.plural}/${namespace}/${name}`;
}
