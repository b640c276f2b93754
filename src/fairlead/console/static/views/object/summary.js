/** What there is to know about an object at a glance. */

import { isAborted, reasonOf } from "../../core/api.js";
import { fill, h } from "../../core/dom.js";
import { list } from "../../core/listing.js";
import { collectionPath } from "../../core/paths.js";
import { conditionsOf, keyOf, stateOf } from "../../core/states.js";
import { problem } from "../../parts/messages.js";
import { eventRow, newestFirst, rows } from "../../parts/rows.js";
import { keepAges, redraw } from "../../parts/steady.js";
import { timeline } from "../../parts/conditions.js";
import { containerTable } from "./containers.js";
import { confirmDeletion } from "./deletion.js";
import { factList } from "./facts.js";

/** @import {Place} from "../../app.js" */
/** @import {Subject} from "../../core/subject.js" */

const PERIOD = 5_000; // milliseconds between two looks at events
const MAX_EVENTS = 500;

/**
 * @param {Place} place
 * @param {Subject} subject
 */
export function show(place, subject) {
  const { host, catalogue, signal } = place;
  const key = keyOf(catalogue, subject.kind);
  const [facts, conditions, containers, events] = Array.from({ length: 4 }, () => h("div"));
  /** @type {Map<string, HTMLElement>} */
  const logs = new Map();
  const deleting = h(
    "button",
    { onclick: () => confirmDeletion(subject, signal) },
    `Delete this ${subject.kind.kind}…`,
  );
  const cards = {
    conditions: card("Conditions", conditions),
    containers: card("Containers", containers),
    events: card("Events", events),
  };
  fill(
    host,
    card("Facts", facts),
    cards.conditions,
    cards.containers,
    cards.events,
    subject.kind.verbs.includes("delete") && h("p", {}, deleting),
  );

  const draw = () => {
    const { object } = subject;
    const { managedFields: _, resourceVersion: __, ...metadata } = object.metadata;
    const state = stateOf(key, object);
    redraw(facts, { metadata, state }, () => factList(catalogue, object.metadata, state));
    const found = conditionsOf(object);
    cards.conditions.hidden = !found.length;
    redraw(conditions, found, () => timeline(found, object.metadata.creationTimestamp));
    cards.containers.hidden = key !== "pods.";
    if (key === "pods.")
      redraw(containers, { spec: object.spec, status: object.status }, () =>
        containerTable(subject, logs, signal),
      );
    deleting.disabled = subject.isGone;
  };
  subject.addEventListener("changed", draw, { signal });
  keepAges(host, signal);
  draw();
  void followEvents(place, subject, events);
}

/**
 * @param {string} title
 * @param {HTMLElement} body
 */
function card(title, body) {
  return h("section", { class: "card", "aria-label": title }, h("h2", {}, title), body);
}

/**
 * @param {Place} place
 * @param {Subject} subject
 * @param {HTMLElement} host
 */
async function followEvents({ catalogue, signal }, subject, host) {
  const kind = catalogue.find("", "events");
  if (!kind) return;
  const { uid, namespace } = subject.object.metadata;
  const path = collectionPath(kind, namespace);
  const query = { fieldSelector: `involvedObject.uid=${uid}` };
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
