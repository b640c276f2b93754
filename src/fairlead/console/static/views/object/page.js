/** One object: who it is, and pages that show it from different sides. */

import { fill, h } from "../../core/dom.js";
import { own } from "../../core/own.js";
import { groupOf, kindRoute, namespaceOf, objectRoute } from "../../core/paths.js";
import { Subject } from "../../core/subject.js";
import { age } from "../../core/time.js";
import { problem } from "../../parts/messages.js";
import * as owners from "./owners.js";
import * as past from "./past.js";
import * as related from "./related.js";
import * as summary from "./summary.js";
import * as text from "./text.js";

/** @import {Place} from "../../app.js" */
/**
 * A side of an object. It shows itself in `place.host`, which is its own.
 * @typedef {{show: (place: Place, subject: Subject) => void | Promise<void>}} Side
 */

/** @type {Record<string, {title: string, side: Side}>} */
const SIDES = {
  summary: { title: "Summary", side: summary },
  yaml: { title: "YAML", side: text },
  owners: { title: "Ownership", side: owners },
  history: { title: "History", side: past },
  related: { title: "Related", side: related },
};

/** @param {Place} place */
export async function show(place) {
  const [, group, plural, inside, name, chosen = "summary"] = place.route.parts;
  const side = own(SIDES, chosen)?.side;
  const kind = name && (await place.catalogue.seek(groupOf(group), plural, place.signal));
  if (!kind || !side) return fill(place.host, problem("there is no such object"));
  const named = { namespace: namespaceOf(inside), name };
  place.title(`${kind.kind} ${name}`);
  const subject = new Subject(kind, named);
  const state = h("div", { class: "state" });
  const body = h("div", { class: "side" });
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
      Object.entries(SIDES).map(([key, one]) =>
        h(
          "a",
          { href: objectRoute(kind, named, key), "aria-current": key === chosen && "page" },
          one.title,
        ),
      ),
    ),
    body,
  );
  const tell = () => fill(state, stateOf(subject));
  subject.addEventListener("changed", tell, { signal: place.signal });
  subject.addEventListener("waiting", tell, { signal: place.signal });
  // The past of what is gone can be looked at all the same.
  await subject.load(place.signal).catch((error) => {
    if (chosen !== "history") throw error;
  });
  await side.show({ ...place, host: body }, subject);
  if (subject.object) void subject.follow(place.signal);
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
