/** All that the user may do in a namespace: kinds and verbs. */

import { fill, h } from "../../core/dom.js";
import { allows } from "../../core/rules.js";
import { plainTable } from "../../parts/bits.js";
import { ruleText } from "./chain.js";
import { fullName, review, VERBS } from "./question.js";

/** @import {Place} from "../../app.js" */
/** @import {Kind} from "../../core/kinds.js" */
/** @import {Rule} from "../../core/rules.js" */

/** @param {Place} place */
export async function show(place) {
  const namespace = place.namespace || "default";
  const status = await review(place, "SelfSubjectRulesReview", { namespace });
  /** @type {Rule[]} */
  const rules = status.resourceRules ?? [];
  const rows = place.catalogue.kinds.flatMap((kind) => rowOf(kind, rules));
  const others = [...rules.filter(isOther), ...(status.nonResourceRules ?? [])];
  const listed = others.map((rule) => h("li", {}, ruleText(rule)));
  fill(
    place.host,
    h("h2", {}, `What you may do in ${namespace}`),
    status.incomplete &&
      h("p", { class: "warn" }, `Not all of it is known: ${status.evaluationError ?? ""}`),
    plainTable("Verbs by kind", ["Kind", ...VERBS], rows),
    listed.length > 0 && h("h2", {}, "Parts of objects and paths"),
    h("ul", { class: "links" }, listed),
  );
}

/**
 * @param {Kind} kind
 * @param {Rule[]} rules
 * @returns {(Node | string)[][]} no row if nothing is allowed
 */
function rowOf(kind, rules) {
  const { group, plural: resource } = kind;
  const cells = VERBS.map((verb) => {
    if (!kind.verbs.includes(verb)) return "";
    const asked = { verb, group, resource, subresource: "", namespace: "", name: "", path: "" };
    const found = rules.filter((rule) => allows({ ...rule, resourceNames: [] }, asked));
    if (!found.length) return "";
    if (found.some((rule) => allows(rule, asked))) return h("span", { class: "good" }, "yes");
    const names = found.flatMap((rule) => rule.resourceNames ?? []);
    return h("span", { class: "warn", title: names.join(", ") }, "by name");
  });
  return cells.every((cell) => cell === "") ? [] : [[fullName(kind), ...cells]];
}

/**
 * Whether a rule says something that the table does not show.
 * @param {Rule} rule
 */
function isOther({ resources = [], verbs = [] }) {
  return (
    resources.some((one) => one.includes("/")) ||
    verbs.some((verb) => verb !== "*" && !VERBS.includes(verb))
  );
}
