/** Whether one may do something, and if not, what is missing. */

import { ApiError, getJson, isAborted, reasonOf } from "../../core/api.js";
import { fill, h } from "../../core/dom.js";
import { ACCOUNT, allows, missing, whatIsMissing } from "../../core/rules.js";
import { token } from "../../core/session.js";
import { yamlLines } from "../../core/yaml_lines.js";
import { Document } from "../../parts/document.js";
import { problem, say } from "../../parts/messages.js";
import { plainTable } from "../../parts/plain_table.js";
import { chain, ruleText } from "./chain.js";
import {
  Asking,
  attributesOf,
  field,
  inWords,
  labelled,
  readPolicy,
  review,
  rolesGroup,
} from "./question.js";

/** @import {Place} from "../../app.js" */
/** @import {Grant, Question, Rule, Who} from "../../core/rules.js" */
/** @import {Readable} from "./question.js" */

const MOST = 50; // near misses

/** @param {Place} place */
export function show(place) {
  const result = h("div", { class: "column", role: "region", "aria-label": "Answer" });
  const user = field("user", "");
  const groups = field("groups", "");
  const asking = new Asking(
    place,
    async (asked) => {
      fill(result, h("p", { class: "faint" }, "Asking the server."));
      try {
        const other = { user: user.value.trim(), groups: groupsOf(groups.value) };
        await answer(place, result, asked, other);
      } catch (error) {
        if (!isAborted(error)) fill(result, problem(reasonOf(error)));
      }
    },
    labelled("As user", user, "me"),
    labelled("With groups", groups, "a, b"),
  );
  fill(place.host, asking.element, result);
}

/** @param {string} text */
function groupsOf(text) {
  return text.split(/[\s,]+/).filter(Boolean);
}

/**
 * @param {Place} place
 * @param {Element} result
 * @param {Question} asked
 * @param {Who} other empty for the user who is signed in
 */
async function answer(place, result, asked, other) {
  const isMe = !other.user && !other.groups.length;
  const attributes = attributesOf(asked);
  const status = isMe
    ? await review(place, "SelfSubjectAccessReview", attributes)
    : await review(place, "SubjectAccessReview", { ...attributes, ...completed(other) });
  const who = isMe ? await whoAmI(place) : completed(other);
  const readable = await readPolicy(place, "", true);
  const name = isMe ? "You" : who.user || who.groups.join(", ");
  fill(
    result,
    h(
      "p",
      { class: status.allowed ? "good" : "bad", role: "status" },
      status.allowed
        ? `Yes. ${name} may ${inWords(asked)}.`
        : `No. ${name} may not ${inWords(asked)}.`,
    ),
    status.reason &&
      h("p", { class: "wrap" }, h("span", { class: "faint" }, "The server says: "), status.reason),
    status.evaluationError && problem(status.evaluationError),
    status.allowed
      ? because(place, asked, who, readable)
      : await lacking(place, asked, who, readable, isMe),
  );
}

/**
 * With the groups that the server adds.
 * @param {Who} who
 * @returns {Who}
 */
function completed({ user, groups }) {
  const added = ["system:authenticated"];
  if (user.startsWith(ACCOUNT)) {
    added.push("system:serviceaccounts", `system:serviceaccounts:${user.split(":")[2]}`);
  }
  return { user, groups: [...new Set([...groups, ...(user ? added : [])])] };
}

/**
 * Who is signed in. Those who may not ask for it are told their name in the refusal.
 * @param {Place} place
 * @returns {Promise<Who>}
 */
async function whoAmI(place) {
  const group = `authentication.${place.catalogue.about.groupDomain}`;
  const body = JSON.stringify({
    ...{ apiVersion: `${group}/v1`, kind: "TokenReview" },
    spec: { token: token() },
  });
  try {
    const path = `/apis/${group}/v1/tokenreviews`;
    const { status } = await getJson(path, { method: "POST", body, signal: place.signal });
    return { user: status.user?.username ?? "", groups: status.user?.groups ?? [] };
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    const [, name = '""'] = /User ("(?:[^"\\]|\\.)*")/.exec(error.message) ?? [];
    return completed({ user: JSON.parse(name), groups: [] });
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
  const found = policy
    .grants(who)
    .filter((grant) => holdsIn(grant, asked) && allows(grant.rule, asked, wholeSteps));
  if (!found.length) return null;
  const rows = found.map((grant) => chain(place, grant));
  return plainTable("Why it is allowed", ["Binding", "Role", "Rule"], rows);
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
 * @param {Place} place
 * @param {Question} asked
 * @param {Who} who
 * @param {Readable} readable
 * @param {boolean} isMe
 * @returns {Promise<Node[]>}
 */
async function lacking(place, asked, who, readable, isMe) {
  const objects = missing(asked, who, rolesGroup(place));
  const texts = objects.map((one) => yamlLines(one).map((line) => line.text));
  const text = `${texts.map((lines) => lines.join("\n")).join("\n---\n")}\n`;
  const document = new Document("What is missing");
  document.show([
    ...yamlLines(objects[0]),
    { text: "---", path: ["---"], depth: 0 },
    ...yamlLines(objects[1]).map((line) => ({ ...line, path: [1, ...line.path] })),
  ]);
  const copy = async () => {
    await navigator.clipboard.writeText(text).then(
      () => say("Copied."),
      () => say("The browser does not allow it: choose the text and copy it by hand."),
    );
  };
  const near = nearMisses(place, asked, who, readable);
  const own = isMe && !near.length ? await ownNearMisses(place, asked) : [];
  return [
    h("h2", {}, "What is missing"),
    h("div", { class: "bar" }, h("button", { onclick: copy }, "Copy")),
    document.element,
    ...(near.length || own.length ? [h("h2", {}, "What nearly allows it")] : []),
    ...(near.length ? [plainTable("Near misses", ["Binding", "Role", "Rule", "But"], near)] : []),
    ...(own.length ? [plainTable("Near misses", ["Rule", "But"], own)] : []),
    ...(readable.hidden.length
      ? [h("p", { class: "faint" }, `You may not list ${readable.hidden.join(", ")}.`)]
      : []),
  ];
}

/**
 * @param {Place} place
 * @param {Question} asked
 * @param {Who} who
 * @param {Readable} readable
 */
function nearMisses(place, asked, who, { policy }) {
  return policy
    .grants(who)
    .map((grant) => ({ grant, but: keptFrom(grant, asked) }))
    .filter(({ but }) => but)
    .slice(0, MOST)
    .map(({ grant, but }) => [...chain(place, grant), but]);
}

/**
 * @param {Grant} grant
 * @param {Question} asked
 */
function keptFrom(grant, asked) {
  if (holdsIn(grant, asked)) return whatIsMissing(grant.rule, asked);
  const isFine = !asked.path && allows(grant.rule, asked);
  return isFine ? `it is for the namespace ${grant.binding.metadata.namespace} only` : "";
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
  return rules
    .map((rule) => ({ rule, but: whatIsMissing(rule, asked) }))
    .filter(({ but }) => but)
    .slice(0, MOST)
    .map(({ rule, but }) => [ruleText(rule), but]);
}
