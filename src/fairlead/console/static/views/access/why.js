/** Whether one may do something, and if not, what is missing. */

import { ApiError } from "../../core/api.js";
import { fill, h } from "../../core/dom.js";
import { objectRoute } from "../../core/paths.js";
import { keep } from "../../core/router.js";
import { ACCOUNT, allows, distance, missing, whatIsMissing } from "../../core/rules.js";
import { Rights } from "../../core/rights.js";
import { token } from "../../core/session.js";
import { yamlLines } from "../../core/yaml_lines.js";
import { faint, field, labelled, plainTable, wordsOf } from "../../parts/bits.js";
import { Document, textLines } from "../../parts/document.js";
import { copyButton } from "../../parts/doing.js";
import { guarded, problem } from "../../parts/messages.js";
import { deniedTable } from "../overview/cards.js";
import { onlyOwnDenied, recentlyDenied } from "../overview/notes.js";
import { chain, ruleText } from "./chain.js";
import { asking, attributesOf, inWords, readPolicy, review, rolesGroup } from "./question.js";

/** @import {Place} from "../../app.js" */
/** @import {Child} from "../../core/dom.js" */
/** @import {Grant, Question, Rule, Who} from "../../core/rules.js" */
/** @import {Readable} from "./question.js" */

const MAX_ROWS = 50; // near misses
const NEAR = 2; // differences between a rule and one that would allow it
const MAX_ROLES = 5; // that would do

/** @param {Place} place */
export function show(place) {
  const result = h("div", { class: "column", role: "region", "aria-label": "Answer" });
  const { query } = place.route;
  const user = field("me", { name: "user", value: query.get("user") ?? "" });
  const groups = field("a, b", { name: "groups", value: query.get("groups") ?? "" });
  const answered = (/** @type {Question} */ asked) => {
    for (const one of [user, groups]) keep(one.name, one.value);
    fill(result, faint("Asking the server."));
    const other = { user: user.value.trim(), groups: wordsOf(groups.value) };
    return guarded(result, answer(place, result, asked, other));
  };
  const more = [labelled("As user", user), labelled("With groups", groups)];
  fill(place.host, asking(place, answered, false, more), result);
  if (!query.has("ask")) void offerDenied(place, result).catch(() => {}); // it is only an offer
}

/**
 * Requests that were denied lately, each of which leads to its explanation.
 * @param {Place} place
 * @param {Element} result
 */
async function offerDenied({ catalogue, namespace, signal }, result) {
  const denied = catalogue.about.foreign
    ? []
    : await recentlyDenied(onlyOwnDenied(await Rights.load(catalogue, namespace, signal)), signal);
  if (result.firstChild || signal.aborted) return;
  const none = faint("Nobody was denied anything lately. Fill in what you want to know about.");
  fill(
    result,
    denied.length ? [h("h2", {}, "Requests that were denied"), deniedTable(denied)] : none,
  );
}

/**
 * @param {Place} place
 * @param {Element} result
 * @param {Question} asked
 * @param {Who} other empty for the user who is signed in
 */
async function answer(place, result, asked, other) {
  const isMe = !other.user && !other.groups.length;
  const given = completed(other);
  const status = isMe
    ? await review(place, "SelfSubjectAccessReview", attributesOf(asked))
    : await review(place, "SubjectAccessReview", { ...attributesOf(asked), ...given });
  const who = isMe ? await whoAmI(place) : given;
  const readable = await readPolicy(place, "");
  const words = `${isMe ? "You" : who.user || who.groups} may${status.allowed ? "" : " not"}`;
  fill(
    result,
    h(
      "p",
      { class: status.allowed ? "good" : "bad", role: "status" },
      `${status.allowed ? "Yes" : "No"}. ${words} ${inWords(place, asked)}.`,
    ),
    status.reason && h("p", { class: "wrap" }, faint("The server says: "), status.reason),
    status.evaluationError && problem(status.evaluationError),
    ...(status.allowed
      ? because(place, asked, who, readable)
      : [
          ...nearest(place, asked, who, readable),
          ...lacking(place, asked, who),
          ...nearMisses(place, asked, who, readable),
          ...(isMe && readable.hidden.length ? await ownNearMisses(place, asked) : []),
        ]),
    readable.hidden.length > 0 && faint(`You may not list ${readable.hidden.join(", ")}.`),
  );
}

/**
 * With the groups that the server adds.
 * @param {Who} who
 * @returns {Who}
 */
function completed({ user, groups }) {
  const added = user ? ["system:authenticated"] : [];
  if (user.startsWith(ACCOUNT)) {
    added.push("system:serviceaccounts", `system:serviceaccounts:${user.split(":")[2]}`);
  }
  return { user, groups: [...new Set([...groups, ...added])] };
}

/**
 * Who is signed in. Those who may not ask for it are told their name in the refusal.
 * @param {Place} place
 * @returns {Promise<Who>}
 */
async function whoAmI(place) {
  try {
    const { user } = await review(place, "TokenReview", { token: token() }, "authentication");
    return { user: user?.username ?? "", groups: user?.groups ?? [] };
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    const [, name = ""] = /User "((?:[^"\\]|\\.)*)"/.exec(error.message) ?? [];
    return completed({ user: name.replace(/\\(["\\])/g, "$1"), groups: [] });
  }
}

/**
 * @param {Place} place
 * @param {Question} asked
 * @param {Who} who
 * @param {Readable} readable
 */
function because(place, asked, who, { policy }) {
  const wholeSteps = place.catalogue.about.dialect === "cluster";
  const rows = policy
    .grants(who)
    .filter((grant) => holdsIn(grant, asked) && allows(grant.rule, asked, wholeSteps))
    .map((grant) => chain(place, grant));
  return rows.length ? [plainTable("Why it is allowed", ["Binding", "Role", "Rule"], rows)] : [];
}

/**
 * @param {Grant} grant
 * @param {Question} asked
 */
function holdsIn({ binding }, asked) {
  const { namespace } = binding.metadata;
  return !namespace || (!asked.path && namespace === asked.namespace);
}

/**
 * The role and the binding that would allow just this.
 * @param {Place} place
 * @param {Question} asked
 * @param {Who} who
 */
function lacking(place, asked, who) {
  const text = missing(asked, who, rolesGroup(place))
    .map((one) => yamlLines(one).map((line) => `${line.text}\n`))
    .map((lines) => lines.join(""))
    .join("---\n");
  const shown = new Document("What is missing");
  shown.show(textLines(text));
  return [
    h(
      "h2",
      {},
      "What is missing ",
      copyButton(() => text),
    ),
    shown.element,
  ];
}

/**
 * The rule that comes nearest, in a sentence, and the roles that would do if they were bound.
 * @param {Place} place
 * @param {Question} asked
 * @param {Who} who
 * @param {Readable} readable
 */
function nearest(place, asked, who, { policy }) {
  const far = (/** @type {Grant} */ one) =>
    distance(one.rule, asked) + Number(!holdsIn(one, asked));
  const grants = policy.grants(who);
  const [found] = [...grants].sort((a, b) => far(a) - far(b));
  const able = policy.allowing(asked);
  const forPeople = able.filter((one) => !one.metadata.name.startsWith("system:"));
  const roles = (forPeople.length ? forPeople : able).slice(0, MAX_ROLES);
  return [
    found && far(found) <= NEAR
      ? nearestRule(place, asked, found)
      : h("p", {}, "No rule of a role that is bound to them comes near this."),
    roles.length > 0 &&
      h(
        "p",
        { class: "wrap" },
        "These roles would allow it, if one were bound: ",
        roles.map((one, index) => [index > 0 && ", ", roleLink(place, one)]),
      ),
  ];
}

/**
 * @param {Place} place
 * @param {Question} asked
 * @param {Grant} grant
 */
function nearestRule(place, asked, grant) {
  const [binding, role, rule] = chain(place, grant);
  const { namespace } = grant.binding.metadata;
  const but = !holdsIn(grant, asked)
    ? `it is for the namespace ${namespace} only`
    : whatIsMissing(grant.rule, asked) || "more than one part of it would have to be another";
  return h(
    "p",
    { class: "wrap" },
    "The nearest rule is ",
    rule,
    " of ",
    role,
    ", bound by ",
    binding,
    `, but ${but}.`,
  );
}

/**
 * @param {Place} place
 * @param {any} role
 */
function roleLink(place, { metadata }) {
  const title = metadata.namespace ? "Role" : "ClusterRole";
  const kind = place.catalogue.find(rolesGroup(place), title);
  return h("a", { href: kind && objectRoute(kind, metadata) }, `${title} ${metadata.name}`);
}

/**
 * @param {Place} place
 * @param {Question} asked
 * @param {Who} who
 * @param {Readable} readable
 */
function nearMisses(place, asked, who, { policy }) {
  const found = policy.grants(who).map((grant) => {
    const only = `it is for the namespace ${grant.binding.metadata.namespace} only`;
    if (holdsIn(grant, asked)) return { grant, but: whatIsMissing(grant.rule, asked) };
    return { grant, but: !asked.path && allows(grant.rule, asked) ? only : "" };
  });
  const rows = found
    .filter(({ but }) => but)
    .map(({ grant, but }) => [...chain(place, grant), but]);
  return nearly(["Binding", "Role", "Rule", "But"], rows);
}

/**
 * From what the server says of the user's own rights, where roles may not be read.
 * @param {Place} place
 * @param {Question} asked
 */
async function ownNearMisses(place, asked) {
  const namespace = asked.namespace || "default";
  const status = await review(place, "SelfSubjectRulesReview", { namespace });
  /** @type {Rule[]} */
  const rules = [...(status.resourceRules ?? []), ...(status.nonResourceRules ?? [])];
  const rows = rules.map((rule) => [ruleText(rule), whatIsMissing(rule, asked)]);
  return nearly(
    ["Rule", "But"],
    rows.filter(([, but]) => but),
  );
}

/**
 * @param {string[]} titles
 * @param {Child[][]} rows
 */
function nearly(titles, rows) {
  if (!rows.length) return [];
  return [
    h("h2", {}, "What nearly allows it"),
    plainTable("Near misses", titles, rows.slice(0, MAX_ROWS)),
  ];
}
