/** All that the user may do in a namespace: kinds and verbs. */

import { fill, h } from "../../core/dom.js";
import { allows } from "../../core/rules.js";
import { plainTable } from "../../parts/plain_table.js";
import { ruleText } from "./chain.js";
import { review, VERBS } from "./question.js";

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
  fill(
    place.host,
    h("h2", {}, `What you may do in ${namespace}`),
    status.incomplete &&
      h("p", { class: "warn" }, `Not all of it is known: ${status.evaluationError ?? ""}`),
    rows.length
      ? plainTable("Verbs by kind", ["Kind", ...VERBS], rows)
      : h("p", {}, "Nothing with any kind that is served."),
    others.length > 0 && h("h2", {}, "Parts of objects and paths"),
    others.length > 0 &&
      h(
        "ul",
        { class: "links" },
        others.map((rule) => h("li", {}, ruleText(rule))),
      ),
  );
}

/**
 * @param {Kind} kind
 * @param {Rule[]} rules
 * @returns {(Node | string)[][]} no row if nothing is allowed
 */
function rowOf(kind, rules) {
  const asked = {
    group: kind.group,
    resource: kind.plural,
    subresource: "",
    namespace: "",
    path: "",
  };
  const cells = VERBS.map((verb) => {
    if (!kind.verbs.includes(verb)) return "";
    if (rules.some((rule) => allows(rule, { ...asked, verb, name: "" }))) {
      return h("span", { class: "good" }, "yes");
    }
    const names = rules
      .filter((rule) => allows({ ...rule, resourceNames: [] }, { ...asked, verb, name: "" }))
      .flatMap((rule) => rule.resourceNames ?? []);
    return names.length ? h("span", { class: "warn", title: names.join(", ") }, "by name") : "";
  });
  if (cells.every((cell) => cell === "")) return [];
  return [[kind.group ? `${kind.plural}.${kind.group}` : kind.plural, ...cells]];
}

/**
 * Whether a rule says something that the table does not show.
 * @param {Rule} rule
 */
function isOther(rule) {
  return (
    rule.resources?.some((one) => one.includes("/")) ||
    rule.verbs?.some((verb) => verb !== "*" && !VERBS.includes(verb))
  );
}
