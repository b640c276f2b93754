/** How a right comes about: a binding, its role, and the rule in it. */

import { h } from "../../core/dom.js";
import { objectRoute } from "../../core/paths.js";
import { rolesGroup } from "./question.js";

/** @import {Place} from "../../app.js" */
/** @import {Grant, Rule, SubjectReference} from "../../core/rules.js" */

/**
 * The cells of a grant: binding, role, rule.
 * @param {Place} place
 * @param {Grant} grant
 * @returns {Node[]}
 */
export function chain(place, grant) {
  const { binding, role, rule, origin } = grant;
  const scope = binding.metadata.namespace ? "RoleBinding" : "ClusterRoleBinding";
  return [
    link(place, scope, binding.metadata),
    h(
      "span",
      {},
      link(place, role.metadata.namespace ? "Role" : "ClusterRole", role.metadata),
      origin && [" from ", link(place, "ClusterRole", { name: origin })],
    ),
    ruleText(rule),
  ];
}

/**
 * @param {Place} place
 * @param {string} kind
 * @param {{name: string, namespace?: string}} named
 */
function link(place, kind, named) {
  const found = place.catalogue.find(rolesGroup(place), kind);
  const text = `${kind} ${named.namespace ? `${named.namespace}/` : ""}${named.name}`;
  return found ? h("a", { href: objectRoute(found, named) }, text) : h("span", {}, text);
}

/**
 * A rule in one line.
 * @param {Rule} rule
 */
export function ruleText(rule) {
  const { verbs = [], apiGroups = [], resources = [], resourceNames = [], nonResourceURLs } = rule;
  const groups = apiGroups.filter(Boolean);
  const parts = [
    verbs.join(","),
    (nonResourceURLs ?? resources).join(","),
    groups.length && `of ${groups.join(",")}`,
    resourceNames.length && `named ${resourceNames.join(",")}`,
  ];
  return h("code", { class: "wrap" }, parts.filter(Boolean).join(" "));
}

/**
 * @param {SubjectReference} subject
 * @param {string} inside the namespace of its binding
 */
export function subjectText(subject, inside) {
  const namespace = subject.kind === "ServiceAccount" ? (subject.namespace ?? inside) : "";
  return `${subject.kind} ${namespace ? `${namespace}/` : ""}${subject.name}`;
}
