/** One object: who it is, and pages that show it from different sides. */

import { ApiError, reasonOf } from "../../core/api.js";
import { fill, h } from "../../core/dom.js";
import { bind } from "../../core/keys.js";
import { own } from "../../core/own.js";
import { groupOf, kindRoute, namespaceOf, objectRoute } from "../../core/paths.js";
import { go } from "../../core/router.js";
import { keyOf, stateOf as judged } from "../../core/states.js";
import { Subject } from "../../core/subject.js";
import { age } from "../../core/time.js";
import { bar } from "../../parts/bits.js";
import { nothing, problem } from "../../parts/messages.js";
import { objectActions } from "../actions/offers.js";

/** @import {Place} from "../../app.js" */
/** @import {Kind} from "../../core/kinds.js" */
/** @import {Named} from "../../core/paths.js" */
/**
 * A side of an object. It shows itself in `place.host`, which is its own.
 * @typedef {{show: (place: Place, subject: Subject) => void | Promise<void>}} Side
 */

/** @type {Record<string, {title: string, load: () => Promise<Side>}>} */
const SIDES = {
  summary: { title: "Summary", load: () => import("./summary.js") },
  yaml: { title: "YAML", load: () => import("./text.js") },
  owners: { title: "Ownership", load: () => import("./owners.js") },
  history: { title: "History", load: () => import("./past.js") },
  related: { title: "Related", load: () => import("./related.js") },
  map: { title: "Map", load: () => import("./map.js") },
};

/** @param {Place} place */
export async function show(place) {
  const { parts, query } = place.route;
  const [, group, plural, inside, name, chosen = "summary"] = parts;
  const loading = own(SIDES, chosen)?.load();
  const kind = name && (await place.catalogue.seek(groupOf(group), plural, place.signal));
  if (!kind || !loading) return fill(place.host, nothing("there is no such object"));
  const named = { namespace: namespaceOf(inside), name };
  place.title(`${kind.kind} ${name}`);
  const subject = new Subject(kind, named);
  const state = h("div", { class: "state" });
  const body = h("div", { class: "side" });
  const actions = h("div", { class: "bar" });
  const isForeign = place.catalogue.about.foreign;
  const isThen = chosen === "summary" && query.has("at");
  const sides = Object.entries(SIDES).filter(([key]) => !isForeign || key !== "history");
  fill(
    place.host,
    h(
      "div",
      { class: "bar" },
      h("h1", {}, h("a", { href: kindRoute(kind) }, kind.kind), " ", name),
      named.namespace && h("span", { class: "faint" }, `in ${named.namespace}`),
      state,
    ),
    h(
      "nav",
      { class: "tabs", "aria-label": "Sides of the object" },
      sides
        .filter(([key]) => key !== "map" || isMapped(kind))
        .map(([key, one]) =>
          h(
            "a",
            { href: objectRoute(kind, named, key), "aria-current": key === chosen && "page" },
            one.title,
          ),
        ),
    ),
    actions,
    body,
  );
  const key = keyOf(place.catalogue, kind);
  const tell = () => !isThen && fill(state, word(key, subject), stateOf(subject));
  subject.addEventListener("changed", tell, { signal: place.signal });
  subject.addEventListener("waiting", tell, { signal: place.signal });
  // The past of what is gone can be looked at all the same.
  try {
    await subject.load(place.signal);
  } catch (error) {
    if (chosen !== "history" && !isThen) {
      if (!(error instanceof ApiError && error.code === 404)) throw error;
      return fill(body, gone(kind, named, error, Boolean(isForeign)));
    }
  }
  if (subject.object && chosen === "summary" && !isThen) {
    fill(actions, objectActions(place, subject), !isForeign && wayBack(place, subject));
  }
  const side = await loading;
  if (place.signal.aborted) return;
  await side.show({ ...place, host: body }, subject);
  if (subject.object) void subject.follow(place.signal);
}

/**
 * What is told of an object that is not there.
 * @param {Kind} kind
 * @param {Named} named
 * @param {ApiError} error
 * @param {boolean} isForeign whether the server knows no past
 */
function gone(kind, named, error, isForeign) {
  const past = h(
    "a",
    { class: "button", href: objectRoute(kind, named, "history") },
    "Its history",
  );
  const others = h("a", { class: "button", href: kindRoute(kind) }, `All ${kind.plural}`);
  const again = () => window.dispatchEvent(new HashChangeEvent("hashchange"));
  return [
    problem(reasonOf(error)),
    !isForeign &&
      h("p", {}, "It may have been deleted: its history tells by whom, and how it was."),
    bar(!isForeign && past, others, h("button", { onclick: again }, "Look again")),
  ];
}

/**
 * The way to the summary as it was, which begins with how it is.
 * @param {Place} place
 * @param {Subject} subject
 */
function wayBack({ signal }, { kind, named, object }) {
  const route = `${objectRoute(kind, named, "summary")}?at=${object.metadata.resourceVersion}`;
  bind({ key: "@", says: "go to a moment of the past", run: () => go(route) }, signal);
  return h("a", { class: "button", href: route, title: "Go to a moment (@)" }, "As it was…");
}

/**
 * Whether something is connected with objects of a kind as a map shows it.
 * @param {Kind} kind
 */
function isMapped({ group, plural, namespaced }) {
  return namespaced || (!group && ["namespaces", "persistentvolumes"].includes(plural));
}

/**
 * How it is, so that it is seen first on every side.
 * @param {string} key
 * @param {Subject} subject
 */
function word(key, { object, isGone }) {
  if (!object || isGone || object.metadata.deletionTimestamp) return null;
  const { word: shown, tone } = judged(key, object);
  return shown && h("span", { class: `badge ${tone}` }, shown);
}

/** @param {Subject} subject */
function stateOf(subject) {
  if (subject.problem) return h("span", { class: "bad" }, `not current: ${subject.problem}`);
  if (subject.isGone) return h("span", { class: "badge bad" }, "deleted");
  const { creationTimestamp, deletionTimestamp, finalizers = [] } = subject.object.metadata;
  if (!deletionTimestamp) return h("span", { class: "faint" }, `${age(creationTimestamp)} old`);
  const holders = finalizers.length ? `, held by ${finalizers.join(", ")}` : "";
  return h("span", { class: "badge bad" }, `ending for ${age(deletionTimestamp)}${holders}`);
}
