/** How a right comes about: a binding, its role, and the rule in it. */

import { h } from "../../core/dom.js";
import { objectRoute } from "../../core/paths.js";
import { rolesGroup } from "./question.js";

/** @import {Place} from "../../app.js" */
/** @import {Grant, Rule} from "../../core/rules.js" */

/**
 * The cells of a grant: binding, role, rule.
 * @param {Place} place
 * @param {Grant} grant
 * @returns {Node[]}
 */
export function chain(place, { binding, role, rule, origin }) {
  /** @param {string} kind @param {{name: string, namespace?: string}} named */
  const link = (kind, named) => {
    const scoped = named.namespace ? kind : `Cluster${kind}`;
    const found = place.catalogue.find(rolesGroup(place), scoped);
    const text = `${scoped} ${[named.namespace, named.name].filter(Boolean).join("/")}`;
    return h("a", { href: found && objectRoute(found, named) }, text);
  };
  const from = origin && [" from ", link("Role", { name: origin })];
  return [
    link("RoleBinding", binding.metadata),
    h("span", {}, link("Role", role.metadata), from),
    ruleText(rule),
  ];
}

/**
 * A rule in one line.
 * @param {Rule} rule
 */
export function ruleText({ verbs, apiGroups = [], resources, resourceNames, nonResourceURLs }) {
  const groups = apiGroups.filter(Boolean);
  const parts = [
    verbs,
    nonResourceURLs ?? resources,
    groups.length && `of ${groups}`,
    resourceNames?.length && `named ${resourceNames}`,
  ];
  return h("code", { class: "wrap" }, parts.filter(Boolean).join(" "));
}
