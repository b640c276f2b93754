/** The revisions of a workload: what was different, and the way back. */

import { h } from "../../core/dom.js";
import { keptIn, revisionsAmong } from "../../core/revisions.js";
import { showDifference } from "../../parts/difference.js";
import { counted } from "../../parts/bits.js";
import { offer } from "../../parts/doing.js";
import { ago } from "../../parts/steady.js";
import { goingBackTo, templateText } from "../actions/undoing.js";

/** @import {At, Section} from "./parts.js" */
/** @import {Revision} from "../../core/revisions.js" */

const SHOWN = 10;

/** @param {At} at @returns {Section} */
export function revisionSection(at) {
  return {
    title: "Revisions",
    look: () => {
      const found = revisionsOf(at);
      return found.length ? found : null;
    },
    draw: (found) => revisionTable(at, found),
  };
}

/** @param {At} at */
function revisionsOf({ subject, key, near }) {
  const part = keptIn(key);
  return part ? revisionsAmong(near.owned(part, subject.object)) : [];
}

/**
 * @param {At} at
 * @param {Revision[]} revisions
 */
function revisionTable(at, revisions) {
  return h(
    "ul",
    { class: "links revisions" },
    revisions.slice(0, SHOWN).map((one, index) => {
      const images = (one.template.spec?.containers ?? []).map(
        (/** @type {any} */ container) => container.image,
      );
      const isNewest = index === 0;
      return h(
        "li",
        {},
        h("strong", {}, `Revision ${one.number}`),
        isNewest && h("span", { class: "badge" }, "newest"),
        h("span", { class: "mono wrap" }, images.join(", ")),
        one.pods !== null && h("span", { class: "faint" }, counted(one.pods, "pod")),
        h("span", { class: "faint" }, ago(one.created), " ago"),
        one.why && h("span", { class: "faint wrap" }, one.why),
        !isNewest && goingBack(at, one, revisions),
        revisions[index + 1] && changes(one, revisions[index + 1]),
      );
    }),
    revisions.length > SHOWN &&
      h("li", { class: "faint" }, `and ${revisions.length - SHOWN} older ones`),
  );
}

/**
 * What a revision changed.
 * @param {Revision} revision
 * @param {Revision} before
 */
function changes(revision, before) {
  const label = `What changed with revision ${revision.number}`;
  return h(
    "details",
    { "data-mark": label },
    h("summary", {}, label),
    showDifference(templateText(before.template), templateText(revision.template), label),
  );
}

/**
 * @param {At} at
 * @param {Revision} revision
 * @param {Revision[]} revisions
 */
function goingBack({ subject, place, near }, revision, revisions) {
  const { kind, named } = subject;
  if (near.revision || !near.rights.may("patch", kind)) return null;
  const go = () => offer(goingBackTo(place, { kind, named }, revisions, revision), place.signal);
  return h(
    "button",
    { "aria-label": `Go back to this: revision ${revision.number}`, onclick: go },
    "Go back to this",
  );
}
