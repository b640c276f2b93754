/** What is looked at beside an object to tell how it is: lists of its pods, its parts and others. */

import { LiveList } from "./live_list.js";
import { exactly } from "./past.js";
import { collectionPath } from "./paths.js";

/** @import {Catalogue} from "./kinds.js" */
/** @import {Rights} from "./rights.js" */
/** @typedef {{labelSelector?: string, fieldSelector?: string}} Selectors */

/** Tells of `changed`. A list is begun when it is asked for first and goes on until aborted. */
export class Near extends EventTarget {
  /** @type {Map<string, LiveList>} */
  #lists = new Map();

  /**
   * @param {Catalogue} catalogue
   * @param {string} namespace
   * @param {Rights} rights
   * @param {AbortSignal} signal
   * @param {number} [revision] as it was then, if that is wanted
   */
  constructor(catalogue, namespace, rights, signal, revision = 0) {
    super();
    this.revision = revision;
    this.catalogue = catalogue;
    this.namespace = namespace;
    this.rights = rights;
    this.signal = signal;
  }

  /**
   * The kind of a name such as `pods.` or `replicasets.apps`.
   * @param {string} key
   */
  kind(key) {
    const [plural, group] = /** @type {[string, string]} */ (split(key));
    const full = `${group}.${this.catalogue.about.groupDomain}`;
    return this.catalogue.find(group, plural) ?? this.catalogue.find(full, plural);
  }

  /**
   * Those of a kind in the namespace of the object, as far as they are known by now.
   * @param {string} key
   * @param {Selectors} [selectors]
   * @param {string} [namespace]
   * @returns {any[]}
   */
  all(key, selectors = {}, namespace = this.namespace) {
    return this.#list(key, selectors, namespace)?.items ?? [];
  }

  /**
   * Those that belong to an owner.
   * @param {string} key
   * @param {{metadata: {uid: string}}} owner
   * @param {Selectors} [selectors]
   */
  owned(key, owner, selectors) {
    return this.all(key, selectors).filter((one) => isOwned(one, owner.metadata.uid));
  }

  /** Whether everything that was asked for is known. */
  get isComplete() {
    return [...this.#lists.values()].every((one) => one.state !== "loading");
  }

  /** What could not be looked at. */
  get notes() {
    return [...this.#lists].flatMap(([key, { state, problem }]) =>
      state === "waiting" ? [`${key.split(".")[0]}: ${problem}`] : [],
    );
  }

  /**
   * @param {string} key
   * @param {Selectors} selectors
   * @param {string} namespace
   */
  #list(key, selectors, namespace) {
    const kind = this.kind(key);
    // Requests that would be refused are not made: they would show up as denied.
    if (!kind || !this.rights.mayList(kind)) return undefined;
    const id = [key, namespace, selectors.labelSelector, selectors.fieldSelector].join(" ");
    const known = this.#lists.get(id);
    if (known) return known;
    const { revision } = this;
    const made = new LiveList(collectionPath(kind, namespace), {
      ...selectors,
      ...exactly(revision),
    });
    this.#lists.set(id, made);
    made.addEventListener("changed", () => this.dispatchEvent(new Event("changed")));
    void (revision ? made.once(this.signal) : made.run(this.signal));
    return made;
  }
}

/**
 * @param {any} object
 * @param {string} uid
 */
export function isOwned(object, uid) {
  const owners = object.metadata.ownerReferences ?? [];
  return owners.some((/** @type {any} */ one) => one.uid === uid);
}

/** @param {string} key */
function split(key) {
  const at = key.indexOf(".");
  return [key.slice(0, at), key.slice(at + 1)];
}
