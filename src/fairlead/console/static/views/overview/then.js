/** The overview as it was. A timeline over what changed chooses the moment. */

import { isAborted, reasonOf } from "../../core/api.js";
import { fill, h } from "../../core/dom.js";
import { pastOf, revisionOf, timeOf } from "../../core/past.js";
import { Rights } from "../../core/rights.js";
import { showMoment } from "../../core/time.js";
import { howItWas, lostBefore } from "../../parts/change.js";
import { stayThen } from "../../parts/links.js";
import { problem } from "../../parts/messages.js";
import { renewAges } from "../../parts/steady.js";
import { pointsOf, Timeline } from "../../parts/timeline.js";
import { Board } from "./board.js";
import { Notes } from "./notes.js";
import { Survey } from "./survey.js";

/** @import {Place} from "../../app.js" */
/** @import {Change} from "../../core/past.js" */
/** @import {Point} from "../../parts/timeline.js" */

const CHANGES = 500; // of which each is a step
const PAUSE = 200; // milliseconds at a moment before it is looked at
const NO_PAST = "Health and denied requests have no past.";

export class PastOverview {
  #shown = -1;
  #drawing = new AbortController();
  /** @type {Change[]} */
  #changes = [];

  /** @param {Place} place */
  constructor(place) {
    this.place = place;
    this.board = new Board(place);
    this.timeline = new Timeline("Moment", place.route.query, place.signal, false);
    this.banner = h("p", { class: "warning", role: "status" }, "Looking at how it was.");
    this.note = h("p", { class: "faint" });
    this.body = h("div", {}, this.board.elements());
    this.timeline.addEventListener("moved", () => void this.#moved());
    stayThen(this.body, () => this.#shown);
    place.signal.addEventListener("abort", () => {
      this.#drawing.abort();
      showMoment(NaN);
    });
    fill(place.host, this.timeline.element, this.banner, this.body, this.note);
  }

  async load() {
    const { catalogue, namespace, route, signal } = this.place;
    this.rights = await Rights.load(catalogue, namespace, signal);
    const asked = Number(route.query.get("at")); // not a number for the newest
    const { items, metadata } = await pastOf("", { namespace, limit: CHANGES }, signal);
    this.#changes = items;
    fill(this.note, NO_PAST, " ", metadata.before ? null : lostBefore(Number(metadata.oldest)));
    const since = metadata.before ? Number(metadata.before) - 1 : Number(metadata.oldest);
    const points = pointsOf(items, since).filter(({ revision }) => revision > 0);
    const newest = Number(metadata.resourceVersion);
    if (!points.length) points.push({ revision: newest, says: "nothing has changed" });
    if (asked && !points.some(({ revision }) => revision === asked)) {
      const time = await timeOf(asked, namespace, signal);
      points.push({ revision: asked, says: "something else changed", time });
      points.sort((a, b) => a.revision - b.revision);
    }
    this.timeline.set(points);
    if (!asked) this.timeline.moment.focus();
  }

  async #moved() {
    const { at } = this.timeline;
    if (!at || at.revision === this.#shown) return;
    this.#shown = at.revision;
    this.#drawing.abort();
    this.#drawing = new AbortController();
    const { signal } = this.#drawing;
    try {
      // All kinds are listed: not for each moment that a slider passes.
      await new Promise((resolve) => setTimeout(resolve, PAUSE));
      if (!signal.aborted) await this.#show(at, signal);
    } catch (error) {
      if (!isAborted(error) && !signal.aborted) fill(this.banner, problem(reasonOf(error)));
    }
  }

  /**
   * @param {Point} at
   * @param {AbortSignal} signal
   */
  async #show({ revision, time }, signal) {
    const { catalogue, namespace } = this.place;
    if (!this.rights) return;
    showMoment(Date.parse(time ?? "")); // what is late is judged as of then
    const survey = new Survey(catalogue, namespace, this.rights, revision);
    const notes = new Notes(catalogue, namespace, this.rights);
    await Promise.all([survey.once(signal), notes.loadWarnings(signal, revision)]);
    if (signal.aborted) return;
    const now = h("a", { class: "inline", href: "#/overview" }, "Show it as it is now");
    fill(this.banner, howItWas(revision, time), now);
    this.board.showSurvey(survey);
    this.board.showWarnings(notes);
    this.board.showChanges(this.#changes.filter((one) => revisionOf(one) <= revision));
    renewAges(this.body);
  }
}
