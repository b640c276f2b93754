/** Any other kind: the columns that it has in lists, and what it is related to. */

import { getJson, isAborted } from "../../core/api.js";
import { h } from "../../core/dom.js";
import { historyPath, objectRoute } from "../../core/paths.js";
import { conditionReasons } from "../../core/reasons.js";
import { relatedTo } from "../../core/relations.js";
import { factTable } from "./parts.js";

/** @import {At, Section} from "./parts.js" */
/** @import {Reason} from "../../core/reasons.js" */

const SAID = ["Name", "Age", "Namespace"]; // columns that say what is told elsewhere
const MAX_RELATED = 30;

/** @param {At} at @returns {Reason[]} */
export function reasons({ subject }) {
  return conditionReasons(subject.object);
}

/** @param {At} at @returns {Section[]} */
export function sections(at) {
  /** @type {[string, string][]} */
  let columns = [];
  /** @type {any[]} */
  let related = [];
  const { subject, place, near } = at;
  const tell = () => near.dispatchEvent(new Event("changed"));
  const look = async () => {
    columns = await columnsOf(at).catch(() => columns);
    tell();
  };
  subject.addEventListener("changed", () => void look(), { signal: place.signal });
  void look();
  if (isNear(at))
    void relatedTo(place.catalogue, subject, near.rights, place.signal)
      .then((found) => {
        related = found.slice(0, MAX_RELATED);
        tell();
      })
      .catch((error) => {
        if (!isAborted(error)) throw error;
      });
  return [
    {
      title: "In short",
      look: () => (columns.length ? columns : null),
      draw: (found) => factTable(found),
    },
    {
      title: "Related",
      look: () => (related.length ? related.map(brief) : null),
      draw: (found) => relatedList(at, found),
    },
  ];
}

/**
 * Whether what it is related to can be looked at without looking at everything there is, and now.
 * @param {At} at
 */
function isNear({ subject, place, near }) {
  if (near.revision) return false;
  const { namespaced, group } = subject.kind;
  return namespaced || (group.includes(".") && !group.endsWith(place.catalogue.about.groupDomain));
}

/**
 * The cells of the object in the server's table of it.
 * @param {At} at
 * @returns {Promise<[string, string][]>}
 */
async function columnsOf({ subject, place, near }) {
  const meta = `meta.${place.catalogue.about.groupDomain}`;
  const accept = `application/json;as=Table;v=v1;g=${meta},application/json`;
  const { revision } = near;
  const path = revision ? historyPath(subject.path) : subject.path;
  const query = { resourceVersion: revision || undefined };
  const table = await getJson(path, { accept, query, signal: place.signal });
  const cells = table.rows?.[0]?.cells ?? [];
  const columns = table.columnDefinitions ?? [];
  return columns
    .map((/** @type {any} */ one, /** @type {number} */ index) => [
      one.name,
      String(cells[index] ?? ""),
    ])
    .filter(
      (/** @type {[string, string]} */ [name, text]) =>
        !SAID.includes(name) && text && text !== "<none>" && text !== "<unknown>",
    );
}

/** @param {any} one */
function brief({ label, isFrom, thing }) {
  const { title, kind, namespace, name, state } = thing;
  return { label, isFrom, title, namespace, name, state, group: kind?.group, plural: kind?.plural };
}

/**
 * @param {At} at
 * @param {any[]} found
 */
function relatedList({ place }, found) {
  return h(
    "ul",
    { class: "links" },
    found.map(({ label, isFrom, title, namespace, name, state, group, plural }) => {
      const kind = plural && place.catalogue.find(group, plural);
      const text = `${title} ${name}`;
      const link = kind ? h("a", { href: objectRoute(kind, { namespace, name }) }, text) : text;
      return h(
        "li",
        {},
        isFrom ? [`it ${label} `, link] : [link, ` ${label} it`],
        state.word && [" ", h("span", { class: state.tone }, state.word)],
      );
    }),
  );
}
