/** The cards of the overview: tables of what is wrong, lists of what there is. */

import { h } from "../../core/dom.js";
import { kindRoute, objectRoute } from "../../core/paths.js";
import { eventRow } from "../../parts/event_rows.js";
import { ago } from "../../parts/steady.js";

/** @import {Catalogue, About, Kind} from "../../core/kinds.js" */
/** @import {Change} from "./changes.js" */
/** @import {Finding, Survey} from "./survey.js" */

const MOST = 10; // rows of a table
const SIGNS = { ADDED: "+", MODIFIED: "~", DELETED: "−", EXISTING: "=" };
const TYPES = { ADDED: "added", MODIFIED: "changed", DELETED: "deleted", EXISTING: "there" };

/** @param {Finding[]} findings */
export function findingTable(findings) {
  const more = findings.slice(MOST);
  const kinds = [...new Map(more.map((one) => [kindRoute(one.kind), one.kind])).values()];
  return [
    h(
      "table",
      { class: "plain findings" },
      h(
        "tbody",
        {},
        findings
          .slice(0, MOST)
          .map(({ kind, named, state }) =>
            h(
              "tr",
              {},
              h("td", { class: state.tone }, sign(state.tone), state.word),
              h("td", { class: "wrap" }, objectLink(kind, named)),
              h("td", { class: "wrap" }, state.why),
              h("td", { class: "when" }, ago(state.since)),
            ),
          ),
      ),
    ),
    more.length > 0 &&
      h(
        "p",
        {},
        `and ${more.length} more: `,
        kinds.map((kind) => h("a", { href: kindRoute(kind) }, `${kind.plural} `)),
      ),
  ];
}

/**
 * @param {Kind} kind
 * @param {{namespace?: string, name: string}} named
 */
export function objectLink(kind, named) {
  const inside = named.namespace ? `${named.namespace}/` : "";
  return h(
    "a",
    { href: objectRoute(kind, named) },
    h("small", { class: "faint" }, `${kind.kind} ${inside}`),
    named.name,
  );
}

/**
 * @param {Catalogue} catalogue
 * @param {any[]} events
 */
export function warningTable(catalogue, events) {
  return h(
    "table",
    { class: "plain findings" },
    h(
      "tbody",
      {},
      events.map((event) => {
        const about = event.involvedObject ?? {};
        const kind = catalogue.of(about);
        return eventRow(event, kind ? objectLink(kind, about) : `${about.kind} ${about.name}`);
      }),
    ),
  );
}

/** @param {any[]} requests */
export function deniedTable(requests) {
  return h(
    "table",
    { class: "plain findings" },
    h(
      "tbody",
      {},
      requests.map((one) =>
        h(
          "tr",
          {},
          h("td", { class: "warn wrap" }, "! ", one.user),
          h("td", { class: "wrap" }, `${one.verb} ${subjectOf(one)}`),
          h("td", { class: "wrap" }, one.reason, one.count > 1 && ` (${one.count} times)`),
          h("td", { class: "when" }, ago(one.time)),
        ),
      ),
    ),
  );
}

/** @param {any} request that was denied */
function subjectOf(request) {
  if (!request.resource) return request.path ?? "";
  const { group, resource, subresource, namespace, name } = request;
  const what = [resource, subresource].filter(Boolean).join("/");
  const where = [namespace && ` in ${namespace}`, group && ` of ${group}`];
  return [what, name && ` ${name}`, ...where].filter(Boolean).join("");
}

/**
 * @param {About} about
 * @param {string} version
 * @param {string[]} failing
 */
export function healthList(about, version, failing) {
  return [
    h(
      "p",
      { class: failing.length ? "bad" : "good" },
      failing.length ? "✗ the server is not ready" : "✓ the server is ready",
    ),
    failing.length > 0 &&
      h(
        "ul",
        { class: "links" },
        failing.map((one) => h("li", { class: "bad wrap" }, one)),
      ),
    h("p", { class: "faint wrap" }, `${version}, dialect ${about.dialect}`),
  ];
}

/**
 * @param {Catalogue} catalogue
 * @param {Change[]} changes
 */
export function changeList(catalogue, changes) {
  return h(
    "ul",
    { class: "links changes" },
    changes.map((one) => {
      const kind = catalogue.find(one.group, one.resource);
      const type = /** @type {keyof typeof SIGNS} */ (one.type);
      const who = one.user || one.by?.map((by) => by.manager).join(", ") || "";
      return h(
        "li",
        {},
        h("span", { class: "mono", title: TYPES[type], "aria-label": TYPES[type] }, SIGNS[type]),
        h("span", { class: "wrap" }, kind ? objectLink(kind, one) : `${one.kind} ${one.name}`),
        h("small", { class: "faint wrap" }, ago(one.time), " ", who),
      );
    }),
  );
}

/** @param {{kind: Kind, count: number}[]} counts */
export function countList(counts) {
  return h(
    "ul",
    { class: "links counts" },
    counts.map(({ kind, count }) =>
      h(
        "li",
        {},
        h("a", { href: kindRoute(kind) }, kind.kind),
        h("span", { class: "mono" }, count),
      ),
    ),
  );
}

/**
 * What the verdict does not cover.
 * @param {Survey} survey
 */
export function unseenNotes(survey) {
  const { hidden } = survey;
  return [
    hidden.length && `you may not list ${hidden.map((one) => one.plural).join(", ")}`,
    ...[...survey.looks].flatMap(([kind, look]) => [
      look.unseen > 0 && `the last ${look.unseen} of ${look.count} ${kind.plural}`,
      look.problem && `${kind.plural}: ${look.problem}`,
    ]),
  ].filter((one) => typeof one === "string" && one !== "");
}

/** @param {string} tone */
function sign(tone) {
  return tone === "bad" ? "✗ " : "! ";
}
