/** The summary of an object as it was. A timeline over its versions chooses the moment. */

import { isAborted, reasonOf } from "../../core/api.js";
import { fill, h } from "../../core/dom.js";
import { pastOf, revisionOf, stateAt } from "../../core/past.js";
import { objectRoute } from "../../core/paths.js";
import { keyOf, stateOf } from "../../core/states.js";
import { Subject } from "../../core/subject.js";
import { age, clock, showMoment } from "../../core/time.js";
import { inShort, lostBefore } from "../../parts/change.js";
import { problem } from "../../parts/messages.js";
import { Timeline } from "../../parts/timeline.js";
import { showCards } from "./summary.js";

/** @import {Place} from "../../app.js" */
/** @import {Point} from "../../parts/timeline.js" */

const SUMMARY = /^#\/objects(\/[^/?]+){4}$/; // the route of an object

export class PastSummary {
  #shown = 0;
  #drawing = new AbortController();

  /**
   * @param {Place} place
   * @param {Subject} subject
   */
  constructor(place, subject) {
    this.place = place;
    this.subject = subject;
    this.timeline = new Timeline("Moment", place.route.query, place.signal, false);
    this.banner = h("p", { class: "warning", role: "status" });
    this.note = h("p", { class: "faint" });
    this.body = h("div");
    this.timeline.addEventListener("moved", () => void this.#moved());
    this.body.addEventListener("click", (event) => this.#stayThen(event), { capture: true });
    place.signal.addEventListener("abort", () => {
      this.#drawing.abort();
      showMoment(NaN);
    });
    fill(place.host, this.timeline.element, this.banner, this.body, this.note);
  }

  async load() {
    const { place, subject } = this;
    const asked = Number(place.route.query.get("at"));
    const { items, metadata } = await pastOf(subject.path, {}, place.signal);
    fill(this.note, metadata.before ? null : lostBefore(Number(metadata.oldest)));
    /** @type {Point[]} */
    const points = items.map((one) => ({
      ...{ revision: revisionOf(one), says: inShort(one), time: one.time },
    }));
    if (!points.some(({ revision }) => revision === asked)) {
      points.push({
        revision: asked,
        says: "something else changed",
        time: await this.#time(asked),
      });
      points.sort((a, b) => a.revision - b.revision);
    }
    this.timeline.set(points);
    // Who comes from how it is now wants to say when.
    if (String(asked) === subject.object?.metadata.resourceVersion) this.timeline.moment.focus();
  }

  /**
   * When a revision was written, which something else changed.
   * @param {number} revision
   */
  async #time(revision) {
    const query = { namespace: this.subject.named.namespace, limit: 1, before: revision + 1 };
    const { items } = await pastOf("", query, this.place.signal);
    return items.at(-1)?.time;
  }

  async #moved() {
    const { at } = this.timeline;
    if (!at || at.revision === this.#shown) return;
    this.#shown = at.revision;
    this.#drawing.abort();
    this.#drawing = new AbortController();
    const { signal } = this.#drawing;
    try {
      const object = await stateAt(this.subject.path, at.revision, signal);
      showMoment(Date.parse(at.time ?? ""));
      this.#tell(at, object);
      if (object) await this.#show(object, at.revision, signal);
      else fill(this.body, h("p", { class: "faint" }, "It was not there then."));
    } catch (error) {
      if (!isAborted(error) && !signal.aborted) fill(this.body, problem(reasonOf(error)));
    }
  }

  /**
   * @param {Point} at
   * @param {any} object
   */
  #tell({ revision, time }, object) {
    const { kind, named } = this.subject;
    const when = time ? `at ${clock(time)}, ${age(time, Date.now())} ago` : "at an unknown time";
    const state = object && stateOf(keyOf(this.place.catalogue, kind), object);
    fill(
      this.banner,
      `This is how it was ${when} (revision ${revision}). `,
      state?.word && [h("span", { class: `badge ${state.tone}` }, state.word), " "],
      h("a", { class: "inline", href: objectRoute(kind, named) }, "Show it as it is now"),
    );
  }

  /**
   * @param {any} object
   * @param {number} revision
   * @param {AbortSignal} signal
   */
  async #show(object, revision, signal) {
    const { kind, named } = this.subject;
    const then = new Subject(kind, named);
    then.object = object;
    await showCards({ ...this.place, host: this.body, signal }, then, revision);
  }

  /**
   * Links to other objects lead to how those were.
   * @param {Event} event
   */
  #stayThen(event) {
    if (!(event.target instanceof Element)) return;
    const link = event.target.closest("a");
    const route = link?.getAttribute("href") ?? "";
    if (SUMMARY.test(route)) link?.setAttribute("href", `${route}?at=${this.#shown}`);
  }
}
