/** What there is to know about an object at a glance: why it is not well, what its kind has of its
 * own, and what all kinds have. */

import { isAborted, reasonOf } from "../../core/api.js";
import { fill, h } from "../../core/dom.js";
import { list } from "../../core/listing.js";
import { Near } from "../../core/near.js";
import { exactly } from "../../core/past.js";
import { collectionPath } from "../../core/paths.js";
import { deletionReasons } from "../../core/reasons.js";
import { Rights } from "../../core/rights.js";
import { conditionsOf, keyOf, stateOf } from "../../core/states.js";
import { problem } from "../../parts/messages.js";
import { eventRow, newestFirst, rows } from "../../parts/rows.js";
import { keepAges, redraw } from "../../parts/steady.js";
import { timeline } from "../../parts/conditions.js";
import { reasonList } from "../summary/parts.js";
import { summaryOf } from "../summary/table.js";
import { factList } from "./facts.js";

/** @import {Place} from "../../app.js" */
/** @import {Subject} from "../../core/subject.js" */
/** @import {Reason} from "../../core/reasons.js" */
/** @import {At, Section, Summary} from "../summary/parts.js" */

const PERIOD = 5_000; // milliseconds between two looks at events
const MAX_EVENTS = 500;
const WIDE = ["Revisions", "Runs", "Who is behind it"]; // as in style.css

/**
 * As it is, or as it was at the revision that the address names.
 * @param {Place} place
 * @param {Subject} subject
 */
export async function show(place, subject) {
  if (!place.route.query.has("at")) return showCards(place, subject);
  const { PastSummary } = await import("./then.js");
  await new PastSummary(place, subject).load();
}

/**
 * @param {Place} place
 * @param {Subject} subject
 * @param {number} [revision] of which the object is, if it is of the past
 */
export async function showCards(place, subject, revision = 0) {
  const { host, catalogue, signal } = place;
  const looking = h("p", { class: "faint", role: "status" }, "Looking at what belongs to it.");
  if (!host.firstChild) fill(host, looking);
  const key = keyOf(catalogue, subject.kind);
  const [summary, rights] = await Promise.all([
    summaryOf(key),
    Rights.load(catalogue, subject.named.namespace ?? "", signal),
  ]);
  if (signal.aborted) return;
  const near = new Near(catalogue, subject.named.namespace ?? "", rights, signal, revision);
  const at = { place, subject, key, near };
  const cards = ordered(sectionsOf(at, summary), common(at)).map((section) => new Card(section));
  const events = new Card({ title: "Events", look: () => null, draw: () => null });
  fill(host, h("div", { class: "summary" }, ...[...cards, events].map((one) => one.element)));
  let isDrawing = false;
  const soon = () => {
    if (isDrawing) return;
    isDrawing = true;
    requestAnimationFrame(() => {
      isDrawing = false;
      if (!signal.aborted) for (const card of cards) card.draw();
    });
  };
  subject.addEventListener("changed", soon, { signal });
  near.addEventListener("changed", soon, { signal });
  keepAges(host, signal);
  for (const card of cards) card.draw();
  void followEvents(place, subject, events, revision);
}

/**
 * What all kinds have, in front of what is as wide as the page: there is room for it.
 * @param {Section[]} own
 * @param {Section[]} others
 */
function ordered(own, [facts, ...others]) {
  const [wide, narrow] = [true, false].map((is) =>
    own.filter(({ title }) => WIDE.includes(title) === is),
  );
  return [...narrow, facts, ...wide, ...others];
}

/**
 * @param {At} at
 * @param {Summary} summary
 * @returns {Section[]}
 */
function sectionsOf(at, summary) {
  return [
    {
      title: "Why it is not well",
      look: () => {
        const found = [...deletionReasons(at.subject.object), ...(summary.reasons?.(at) ?? [])];
        const isWorse = (/** @type {Reason} */ one) => Number(one.tone !== "bad");
        return found.length ? found.sort((a, b) => isWorse(a) - isWorse(b)) : null;
      },
      draw: (reasons) => reasonList(at, reasons),
    },
    ...summary.sections(at),
    {
      title: "Not looked at",
      look: () => (at.near.notes.length ? at.near.notes : null),
      draw: (notes) =>
        notes.map((/** @type {string} */ one) => h("p", { class: "faint wrap" }, one)),
    },
  ];
}

/**
 * What all kinds have.
 * @param {At} at
 * @returns {Section[]}
 */
function common({ subject, key, place }) {
  return [
    {
      title: "Facts",
      look: () => {
        const { object } = subject;
        const { managedFields: _, resourceVersion: __, ...metadata } = object.metadata;
        return { metadata, state: stateOf(key, object) };
      },
      draw: ({ metadata, state }) => factList(place.catalogue, metadata, state),
    },
    {
      title: "Conditions",
      look: () => {
        const found = conditionsOf(subject.object);
        return found.length ? found : null;
      },
      draw: (found) => timeline(found, subject.object.metadata.creationTimestamp),
    },
  ];
}

/** A section on the page, which is there when it has something to show. */
class Card {
  body = h("div");

  /** @param {Section} section */
  constructor(section) {
    this.section = section;
    const { title } = section;
    const name = title.toLowerCase().replaceAll(" ", "-");
    this.element = h(
      "section",
      { class: `card card-${name}`, "aria-label": title },
      h("h2", {}, title),
      this.body,
    );
  }

  draw() {
    const shown = this.section.look();
    this.element.hidden = shown === null;
    if (shown !== null) redraw(this.body, shown, this.section.draw);
  }
}

/**
 * @param {Place} place
 * @param {Subject} subject
 * @param {Card} card
 * @param {number} revision of which they are; 0 for those that there are now, and more as they come
 */
async function followEvents({ catalogue, signal }, subject, { body: host }, revision) {
  const kind = catalogue.find("", "events");
  if (!kind) return;
  const { uid, namespace } = subject.object.metadata;
  const path = collectionPath(kind, namespace);
  const query = { fieldSelector: `involvedObject.uid=${uid}`, ...exactly(revision) };
  while (!signal.aborted) {
    try {
      if (!document.hidden || !host.firstChild) {
        const { items } = await list(path, { query, maximum: MAX_EVENTS, signal });
        redraw(host, newestFirst(items), eventTable);
      }
    } catch (error) {
      if (isAborted(error) || signal.aborted) return;
      redraw(host, reasonOf(error), problem);
      return;
    }
    if (revision) return;
    await new Promise((resolve) => setTimeout(resolve, PERIOD));
  }
}

/** @param {any[]} events */
function eventTable(events) {
  if (!events.length) return h("p", { class: "faint" }, "none are kept");
  return rows(
    events.map((event) => eventRow(event)),
    "events",
  );
}
