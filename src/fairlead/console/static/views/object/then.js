/** The summary of an object as it was. A timeline over its versions chooses the moment. */

import { isAborted, reasonOf } from "../../core/api.js";
import { fill, h } from "../../core/dom.js";
import { pastOf, revisionOf, stateAt, timeOf } from "../../core/past.js";
import { objectRoute } from "../../core/paths.js";
import { keyOf, stateOf } from "../../core/states.js";
import { Subject } from "../../core/subject.js";
import { showMoment } from "../../core/time.js";
import { howItWas, inShort, lostBefore } from "../../parts/change.js";
import { stayThen } from "../../parts/links.js";
import { problem } from "../../parts/messages.js";
import { Timeline } from "../../parts/timeline.js";
import { showCards } from "./summary.js";

/** @import {Place} from "../../app.js" */
/** @import {Point} from "../../parts/timeline.js" */

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
    this.banner = h("p", { class: "warning", role: "status" }, "Looking at how it was.");
    this.note = h("p", { class: "faint" });
    this.body = h("div");
    this.timeline.addEventListener("moved", () => void this.#moved());
    stayThen(this.body, () => this.#shown);
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
        time: await timeOf(asked, subject.named.namespace, place.signal),
      });
      points.sort((a, b) => a.revision - b.revision);
    }
    this.timeline.set(points);
    // Who comes from how it is now wants to say when.
    if (String(asked) === subject.object?.metadata.resourceVersion) this.timeline.moment.focus();
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
    const state = object && stateOf(keyOf(this.place.catalogue, kind), object);
    fill(
      this.banner,
      howItWas(revision, time),
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
}
