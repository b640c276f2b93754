/** All kinds looked at one after the other, a few at a time: how many there are, what is wrong with
 * them and which of them do not go away. */

import { isAborted, reasonOf } from "../../core/api.js";
import { isCustomKey } from "../../core/custom_references.js";
import { list, metadataType } from "../../core/listing.js";
import { exactly, revisionOf } from "../../core/past.js";
import { collectionPath } from "../../core/paths.js";
import { keyOf, stateOf } from "../../core/states.js";
import { presentTime } from "../../core/time.js";

/** @import {Catalogue, Kind} from "../../core/kinds.js" */
/** @import {Change} from "../../core/past.js" */
/** @import {Named} from "../../core/paths.js" */
/** @import {Rights} from "../../core/rights.js" */
/** @import {State} from "../../core/states.js" */
/** `owner` is the object that controls it, empty for none. @typedef {{kind: Kind, named: Named, state: State, owner: string}} Finding */
/**
 * @typedef {object} Look at a kind
 * @property {number} version the revision that was listed
 * @property {number} count
 * @property {number} unseen how many of them are beyond the bound
 * @property {Finding[]} wrong
 * @property {Finding[]} ending
 * @property {string} problem why it could not be looked at
 * @property {number} due when to look again
 * @property {number} earliest when looking again is not too often
 * @property {number} nextEnd when the next grace period of a deletion ends
 */

// Whose objects are read whole, in the order in which they are looked at.
export const SECTIONS = /** @type {const} */ ([
  ["Pods that do not run", ["pods."]],
  [
    "Workloads with fewer ready than wanted",
    [
      "deployments.apps",
      "statefulsets.apps",
      "daemonsets.apps",
      "replicasets.apps",
      "replicationcontrollers.",
    ],
  ],
  ["Jobs that failed", ["jobs.batch"]],
  ["Nodes", ["nodes."]],
  ["Claims and volumes", ["persistentvolumeclaims.", "persistentvolumes."]],
  [
    "APIs that are not available",
    ["apiservices.apiregistration", "customresourcedefinitions.apiextensions"],
  ],
]);
export const OTHERS = "Other objects that are not well"; // of kinds that have no section
const WHOLE = [
  "namespaces.",
  ...SECTIONS.flatMap(([, keys]) => keys),
  "horizontalpodautoscalers.autoscaling",
];
const PARTS = ["replicasets.apps", "replicationcontrollers."]; // their owner tells it as well
const AT_ONCE = 3;
const MAX_OBJECTS = 5_000; // objects of a kind
const PAUSE = 250; // milliseconds between two looks at what is due
const SOONEST = 1_000; // milliseconds between two looks at a kind
const SHARE = 10; // a look that took a second is not repeated within ten
// Milliseconds until a kind is looked at anyway: fed by changes, and without, whole and metadata.
const PERIODS = { fed: 120_000, whole: 5_000, metadata: 30_000 };

/** Tells of `changed`. */
export class Survey extends EventTarget {
  /** @type {Map<Kind, Look>} */
  looks = new Map();
  /** Whether `touch` is called for everything that changes. */
  isFed = false;
  /** Kinds that the user may not list. @type {Kind[]} */
  hidden = [];

  /**
   * @param {Catalogue} catalogue
   * @param {string} namespace
   * @param {Rights} rights
   * @param {number} [revision] of the past; 0 for now
   */
  constructor(catalogue, namespace, rights, revision = 0) {
    super();
    this.catalogue = catalogue;
    this.namespace = namespace;
    this.revision = revision;
    const rank = (/** @type {Kind} */ kind) => WHOLE.indexOf(keyOf(catalogue, kind)) >>> 0;
    const kinds = catalogue.listed
      .filter((one) => one.verbs.includes("watch") && one.plural !== "events")
      .sort((a, b) => rank(a) - rank(b));
    this.hidden = kinds.filter((one) => !rights.mayList(one));
    for (const kind of kinds) if (rights.mayList(kind)) this.looks.set(kind, notYet());
  }

  /** What this does not cover. */
  notes() {
    return [
      ...(this.hidden.length
        ? [`you may not list ${this.hidden.map((one) => one.plural).join(", ")}`]
        : []),
      ...[...this.looks].flatMap(([{ plural }, { count, unseen, problem }]) => {
        if (unseen) return [`the last ${unseen} of ${count} ${plural}`];
        return problem ? [`${plural}: ${problem}`] : [];
      }),
    ];
  }

  /** Whether every kind was looked at. */
  get isWhole() {
    return [...this.looks.values()].every((one) => one.earliest > 0);
  }

  /**
   * Something of a kind changed.
   * @param {Change} change
   */
  touch({ group = "", resource = "" }) {
    const kind = this.catalogue.find(group, resource);
    const look = kind && this.looks.get(kind);
    if (look) look.due = Math.min(look.due, Math.max(Date.now(), look.earliest));
  }

  /**
   * The feed begins: what was looked at before may have changed in between.
   * @param {number} since the revision after which the feed knows all changes
   * @param {Change[]} changes
   */
  catchUp(since, changes) {
    for (const [kind, look] of this.looks) {
      if (!look.earliest || !this.#isTold(kind)) continue;
      const rested = look.due === Infinity ? Infinity : look.earliest + PERIODS.fed;
      look.due = look.version < since ? look.earliest : Math.min(rested, look.nextEnd + 1);
    }
    for (const change of changes) {
      const kind = this.catalogue.find(change.group ?? "", change.resource ?? "");
      const look = kind && this.looks.get(kind);
      if (look && look.version < revisionOf(change)) this.touch(change);
    }
  }

  /**
   * Whether the feed tells of a kind: that of a namespace does not tell of what is in none.
   * @param {Kind} kind
   */
  #isTold(kind) {
    return kind.namespaced || !this.namespace;
  }

  /** Anything may have changed. */
  touchAll() {
    for (const look of this.looks.values()) look.due = Math.min(look.due, look.earliest);
  }

  /**
   * Look at all kinds once, as the past needs no more.
   * @param {AbortSignal} signal
   */
  async once(signal) {
    const kinds = [...this.looks.keys()];
    while (kinds.length && !signal.aborted) {
      await Promise.all(kinds.splice(0, AT_ONCE).map((kind) => this.#look(kind, signal)));
    }
  }

  /**
   * Go on until aborted, and rest while nobody looks.
   * @param {AbortSignal} signal
   */
  async run(signal) {
    while (!signal.aborted) {
      const now = Date.now();
      const due = document.hidden ? [] : [...this.looks].filter(([, look]) => look.due <= now);
      await Promise.all(due.slice(0, AT_ONCE).map(([kind]) => this.#look(kind, signal)));
      if (signal.aborted) return;
      if (due.length) this.dispatchEvent(new Event("changed"));
      else await new Promise((resolve) => setTimeout(resolve, PAUSE));
    }
  }

  /**
   * @param {Kind} kind
   * @param {AbortSignal} signal
   */
  async #look(kind, signal) {
    const began = Date.now();
    const before = this.looks.get(kind) ?? notYet();
    before.due = Infinity; // unless it is touched meanwhile
    const look = notYet();
    const key = keyOf(this.catalogue, kind);
    // Of a custom kind only its conditions tell how its objects are.
    const isWhole = WHOLE.includes(key) || isCustomKey(key);
    const accept = isWhole ? undefined : metadataType(this.catalogue);
    try {
      const path = collectionPath(kind, this.namespace);
      const wanted = { accept, query: exactly(this.revision), maximum: MAX_OBJECTS, signal };
      const { items, total, version } = await list(path, wanted);
      look.version = Number(version);
      look.count = total;
      look.unseen = total - items.length;
      for (const item of items) this.#judge(kind, item, look);
    } catch (error) {
      if (isAborted(error)) return;
      look.problem = reasonOf(error);
    }
    const now = Date.now();
    const isFed = this.isFed && this.#isTold(kind);
    const isKnown = isFed && !look.problem; // what could not be looked at is tried again soon
    const period = isKnown ? PERIODS.fed : isWhole ? PERIODS.whole : PERIODS.metadata;
    look.earliest = now + Math.max(SOONEST, SHARE * (now - began));
    look.due = Math.max(look.earliest, Math.min(before.due, now + period, look.nextEnd + 1));
    this.looks.set(kind, look);
  }

  /**
   * When the grace period of an object that is being deleted is over. One dialect tells when the
   * deletion was asked for, the other one when that period ends.
   * @param {{deletionTimestamp: string, deletionGracePeriodSeconds?: number}} metadata
   */
  #endOf({ deletionTimestamp, deletionGracePeriodSeconds = 0 }) {
    const isStart = this.catalogue.about.dialect === "cluster";
    return Date.parse(deletionTimestamp) + (isStart ? deletionGracePeriodSeconds * 1000 : 0);
  }

  /**
   * @param {Kind} kind
   * @param {any} object
   * @param {Look} look
   */
  #judge(kind, object, look) {
    const { namespace, name, deletionTimestamp, finalizers, ownerReferences } = object.metadata;
    const key = keyOf(this.catalogue, kind);
    const state = stateOf(key, object);
    const owner = ownerReferences?.find((/** @type {any} */ one) => one.controller)?.uid ?? "";
    const finding = { kind, named: { namespace, name }, state, owner };
    if (deletionTimestamp) {
      // What ends in good time is no news.
      const end = this.#endOf(object.metadata);
      if (finalizers?.length || end < presentTime()) look.ending.push(finding);
      else look.nextEnd = Math.min(look.nextEnd, end);
    } else if (state.tone === "bad" || state.tone === "warn") {
      if (!(PARTS.includes(key) && ownerReferences?.length)) look.wrong.push(finding);
    }
  }
}

/** @returns {Look} */
function notYet() {
  const times = { due: 0, earliest: 0, nextEnd: Infinity };
  return { version: 0, count: 0, unseen: 0, wrong: [], ending: [], problem: "", ...times };
}
