/** A form in which a question of access is put, and what has to be known to answer it. */

import { ApiError, getJson, isAborted } from "../../core/api.js";
import { h } from "../../core/dom.js";
import { keep } from "../../core/router.js";
import { listAll } from "../../core/lists.js";
import { Policy } from "../../core/rules.js";

/** @import {Place} from "../../app.js" */
/** @import {Child} from "../../core/dom.js" */
/** @import {Question} from "../../core/rules.js" */
/** What could not be read is in `hidden`. @typedef {{policy: Policy, hidden: string[]}} Readable */

export const VERBS = [
  "get",
  "list",
  "watch",
  "create",
  "update",
  "patch",
  "delete",
  "deletecollection",
];
const MORE_VERBS = ["*", "use", "bind", "escalate", "impersonate", "approve", "sign"];

export class Asking {
  /**
   * @param {Place} place
   * @param {(asked: Question) => Promise<void>} answer
   * @param {...Child} more fields of the form
   */
  constructor(place, answer, ...more) {
    this.place = place;
    const { query } = place.route;
    this.verb = field("verb", query.get("verb") ?? "get", "verbs");
    this.kind = field("kind", query.get("kind") ?? "pods", "kinds");
    this.part = field("part", query.get("part") ?? "");
    this.namespace = field("namespace", query.get("namespace") ?? place.namespace);
    this.name = field("name", query.get("name") ?? "");
    const submitted = (/** @type {Event} */ event) => {
      event.preventDefault();
      for (const one of [this.verb, this.kind, this.part, this.namespace, this.name]) {
        keep(one.name, one.value);
      }
      void answer(this.question);
    };
    this.element = h(
      "form",
      { class: "bar asking", onsubmit: submitted },
      labelled("Verb", this.verb),
      labelled("Kind or /path", this.kind),
      labelled("Subresource", this.part),
      labelled("Namespace", this.namespace, "all"),
      labelled("Name", this.name, "any"),
      more,
      h("button", { class: "primary" }, "Ask"),
      choices("verbs", [...VERBS, ...MORE_VERBS]),
      choices(
        "kinds",
        place.catalogue.kinds.map((one) => (one.group ? `${one.plural}.${one.group}` : one.plural)),
      ),
    );
  }

  /** @returns {Question} */
  get question() {
    const [kind, verb] = [this.kind.value.trim(), this.verb.value.trim()];
    const empty = { group: "", resource: "", subresource: "", namespace: "", name: "" };
    if (kind.startsWith("/")) return { verb, ...empty, path: kind };
    const [what, part = ""] = kind.split("/");
    const [plural, ...group] = what.split(".");
    const known = this.place.catalogue.kinds.find(
      (one) =>
        [one.plural, one.kind.toLowerCase(), ...one.shortNames].includes(plural.toLowerCase()) &&
        (!group.length || one.group === group.join(".")),
    );
    return {
      verb,
      group: known?.group ?? group.join("."),
      resource: known?.plural ?? plural,
      subresource: this.part.value.trim() || part,
      namespace: known && !known.namespaced ? "" : this.namespace.value.trim(),
      name: this.name.value.trim(),
      path: "",
    };
  }
}

/**
 * @param {string} name
 * @param {string} value
 * @param {string} [list]
 */
export function field(name, value, list) {
  return h("input", { name, value, list, autocomplete: "off", spellcheck: "false", size: 12 });
}

/**
 * @param {string} text
 * @param {HTMLInputElement} input
 * @param {string} [empty] what it means to leave it empty
 */
export function labelled(text, input, empty = "") {
  if (empty) input.placeholder = empty;
  return h("label", { class: "stacked" }, text, input);
}

/**
 * @param {string} id
 * @param {string[]} values
 */
function choices(id, values) {
  return h(
    "datalist",
    { id },
    values.map((value) => h("option", { value })),
  );
}

/** @param {Question} asked */
export function inWords({ verb, group, resource, subresource, namespace, name, path }) {
  if (path) return `${verb} ${path}`;
  const part = subresource && `/${subresource}`;
  const what = `${resource}${part}${group && `.${group}`}${name && ` ${name}`}`;
  return `${verb} ${what} in ${namespace || "all namespaces"}`;
}

/** @param {Place} place */
export function rolesGroup(place) {
  return `rbac.authorization.${place.catalogue.about.groupDomain}`;
}

/**
 * The roles and bindings that bear on a namespace, as far as the user may read them.
 * @param {Place} place
 * @param {string} namespace empty for those of the cluster only
 * @param {boolean} [everywhere] those of all namespaces
 * @returns {Promise<Readable>}
 */
export async function readPolicy(place, namespace, everywhere = false) {
  /** @type {string[]} */
  const hidden = [];
  const read = async (/** @type {string} */ plural) => {
    const kind = place.catalogue.find(rolesGroup(place), plural);
    if (!kind || (kind.namespaced && !namespace && !everywhere)) return [];
    try {
      return await listAll(kind, everywhere ? "" : namespace, place.signal);
    } catch (error) {
      if (isAborted(error) || !(error instanceof ApiError)) throw error;
      hidden.push(plural);
      return [];
    }
  };
  const [clusterRoles, roles, clusterBindings, bindings] = await Promise.all(
    ["clusterroles", "roles", "clusterrolebindings", "rolebindings"].map(read),
  );
  const policy = new Policy([...clusterRoles, ...roles], [...clusterBindings, ...bindings]);
  return { policy, hidden };
}

/**
 * What a review of the authorization group answers; throws ApiError.
 * @param {Place} place
 * @param {string} kind
 * @param {unknown} spec
 */
export async function review(place, kind, spec) {
  const group = `authorization.${place.catalogue.about.groupDomain}`;
  const body = JSON.stringify({ apiVersion: `${group}/v1`, kind, spec });
  const path = `/apis/${group}/v1/${kind.toLowerCase()}s`;
  return (await getJson(path, { method: "POST", body, signal: place.signal })).status ?? {};
}

/** @param {Question} asked */
export function attributesOf({ verb, path, ...resource }) {
  return path
    ? { nonResourceAttributes: { path, verb } }
    : { resourceAttributes: { verb, ...resource } };
}
