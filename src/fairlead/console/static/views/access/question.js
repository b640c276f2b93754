/** A form in which a question of access is put, and what has to be known to answer it. */

import { ApiError, getJson } from "../../core/api.js";
import { h } from "../../core/dom.js";
import { list } from "../../core/listing.js";
import { collectionPath } from "../../core/paths.js";
import { keep } from "../../core/router.js";
import { Policy } from "../../core/rules.js";
import { field, form, labelled } from "../../parts/bits.js";

/** @import {Place} from "../../app.js" */
/** @import {Children} from "../../core/dom.js" */
/** @import {Kind} from "../../core/kinds.js" */
/** @import {Question} from "../../core/rules.js" */
/** What could not be read is in `hidden`. @typedef {{policy: Policy, hidden: string[]}} Readable */

export const VERBS = "get list watch create update patch delete deletecollection".split(" ");
const MORE_VERBS = "* use bind escalate impersonate approve sign".split(" ");
const POLICY = ["clusterroles", "roles", "clusterrolebindings", "rolebindings"];

/**
 * @param {Place} place
 * @param {(asked: Question) => Promise<void>} answer
 * @param {boolean} isAsked whether to ask at once, with what is filled in
 * @param {...Children} more fields of the form
 */
export function asking(place, answer, isAsked, ...more) {
  const { query } = place.route;
  /** @param {string} name @param {string} [value] @param {string} [list] */
  const input = (name, value = "", list) =>
    field("", { name, value: query.get(name) ?? value, list });
  const verb = input("verb", "get", "verbs");
  const kind = input("kind", "pods", "kinds");
  const part = input("part");
  const namespace = input("namespace", place.namespace);
  const name = input("name");
  const ask = () => {
    keep("ask", "");
    for (const one of [verb, kind, part, namespace, name]) keep(one.name, one.value);
    void answer(question(place, verb.value, kind.value, part.value, namespace.value, name.value));
  };
  // Who followed a link has filled in everything; others see an answer to begin with.
  if (query.has("ask") || isAsked) queueMicrotask(ask);
  return form(
    "Ask",
    ask,
    labelled("Verb", verb),
    labelled("Kind or /path", kind),
    labelled("Subresource", part),
    labelled("Namespace", namespace),
    labelled("Name", name),
    ...more,
    choices("verbs", [...VERBS, ...MORE_VERBS]),
    choices("kinds", place.catalogue.kinds.map(fullName)),
  );
}

/**
 * @param {Place} place
 * @param {...string} given
 * @returns {Question}
 */
function question(place, ...given) {
  const [verb, kind, part, namespace, name] = given.map((one) => one.trim());
  const empty = { group: "", resource: "", subresource: "", namespace: "", name: "" };
  if (kind.startsWith("/")) return { verb, ...empty, path: kind };
  const [what, below = ""] = kind.split("/");
  const [plural, ...group] = what.split(".");
  const known = place.catalogue.kinds.find(
    (one) =>
      [one.plural, one.kind.toLowerCase(), ...one.shortNames].includes(plural.toLowerCase()) &&
      (!group.length || one.group === group.join(".")),
  );
  return {
    verb,
    group: known?.group ?? group.join("."),
    resource: known?.plural ?? plural,
    subresource: part || below,
    namespace: known && !known.namespaced ? "" : namespace,
    name,
    path: "",
  };
}

/** @param {Kind} kind */
export function fullName({ plural, group }) {
  return group ? `${plural}.${group}` : plural;
}

/**
 * @param {string} id
 * @param {string[]} values
 */
function choices(id, values) {
  const options = values.map((value) => h("option", { value }));
  return h("datalist", { id }, options);
}

/**
 * @param {Place} place
 * @param {Question} asked
 */
export function inWords({ catalogue }, asked) {
  const { verb, group, resource, subresource, namespace, name, path } = asked;
  if (path) return `${verb} ${path}`;
  const part = subresource && `/${subresource}`;
  const what = `${resource}${part}${group && `.${group}`}${name && ` ${name}`}`;
  const isInside = catalogue.find(group, resource)?.namespaced ?? true;
  return `${verb} ${what}` + (isInside ? ` in ${namespace || "all namespaces"}` : "");
}

/** @param {Place} place */
export function rolesGroup(place) {
  return `rbac.authorization.${place.catalogue.about.groupDomain}`;
}

/**
 * The roles and bindings of the cluster and of a namespace, as far as the user may read them.
 * @param {Place} place
 * @param {string | null} namespace empty for all, null for none
 * @returns {Promise<Readable>}
 */
export async function readPolicy(place, namespace) {
  /** @type {string[]} */
  const hidden = [];
  const lists = POLICY.map(async (plural) => {
    const kind = place.catalogue.find(rolesGroup(place), plural);
    if (!kind || (kind.namespaced && namespace === null)) return [];
    try {
      const wanted = { maximum: Infinity, signal: place.signal };
      return (await list(collectionPath(kind, namespace ?? ""), wanted)).items;
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      hidden.push(plural);
      return [];
    }
  });
  const [clusterRoles, roles, clusterBindings, bindings] = await Promise.all(lists);
  const policy = new Policy([...clusterRoles, ...roles], [...clusterBindings, ...bindings]);
  return { policy, hidden };
}

/**
 * What a review answers; throws ApiError.
 * @param {Place} place
 * @param {string} kind
 * @param {unknown} spec
 * @param {string} [api] the group, without its domain
 */
export async function review(place, kind, spec, api = "authorization") {
  const group = `${api}.${place.catalogue.about.groupDomain}`;
  const body = JSON.stringify({ apiVersion: `${group}/v1`, kind, spec });
  const path = `/apis/${group}/v1/${kind.toLowerCase()}s`;
  return (await getJson(path, { method: "POST", body, signal: place.signal })).status ?? {};
}

/**
 * For a review.
 * @param {Question} asked
 */
export function attributesOf({ verb, path, ...resource }) {
  if (path) return { nonResourceAttributes: { path, verb } };
  return { resourceAttributes: { verb, ...resource } };
}
