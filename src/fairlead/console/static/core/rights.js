/** What the user may look at, asked for once: requests that would be refused are not made, because
 * they would show up as denied. */

import { getJson } from "./api.js";

/** @import {Catalogue, Kind} from "./kinds.js" */
/** @typedef {{verbs: string[], apiGroups?: string[], resources?: string[], resourceNames?: string[], nonResourceURLs?: string[]}} Rule */

const NOWHERE = "-"; // no namespace has this name, so only rules for all of them count

export class Rights {
  /** @type {Rule[]} */
  #rules = [];
  /** @type {Rule[]} */
  #paths = [];
  #isWhole = false;

  /**
   * @param {Catalogue} catalogue
   * @param {string} namespace empty for all of them
   * @param {AbortSignal} signal
   */
  static async load(catalogue, namespace, signal) {
    const rights = new Rights();
    const path = `/apis/authorization.${catalogue.about.groupDomain}/v1/selfsubjectrulesreviews`;
    const body = JSON.stringify({ spec: { namespace: namespace || NOWHERE } });
    const review = await getJson(path, { method: "POST", body, signal }).catch(() => ({}));
    rights.#rules = review.status?.resourceRules ?? [];
    rights.#paths = review.status?.nonResourceRules ?? [];
    rights.#isWhole = review.status?.incomplete === false;
    return rights;
  }

  /**
   * Whether lists of a kind may be asked for; where that is not known it is worth a try.
   * @param {Kind} kind
   */
  mayList(kind) {
    return this.may("list", kind);
  }

  /**
   * Whether any object of a kind may be treated so, or its part.
   * @param {string} verb
   * @param {Kind} kind
   * @param {string} [part]
   */
  may(verb, { group, plural }, part = "") {
    return (
      !this.#isWhole ||
      this.#rules.some(
        (rule) =>
          has(rule.verbs, verb) &&
          has(rule.apiGroups, group) &&
          (has(rule.resources, part ? `${plural}/${part}` : plural) ||
            (part && rule.resources?.includes(`*/${part}`))) &&
          !rule.resourceNames?.length,
      )
    );
  }

  /** @param {string} path that is not one of resources */
  mayRead(path) {
    return (
      !this.#isWhole ||
      this.#paths.some(
        (rule) =>
          has(rule.verbs, "get") &&
          (rule.nonResourceURLs ?? []).some((one) =>
            one.endsWith("*") ? path.startsWith(one.slice(0, -1)) : one === path,
          ),
      )
    );
  }
}

/**
 * @param {string[] | undefined} names
 * @param {string} name
 */
function has(names, name) {
  return Boolean(names?.includes(name) || names?.includes("*"));
}
