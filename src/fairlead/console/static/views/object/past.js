/** The past of an object: its versions on a slider, what was different, and who did it. */

import { isAborted, reasonOf } from "../../core/api.js";
import { fill, h } from "../../core/dom.js";
import { actorOf, managerOf, pastOf, revisionOf } from "../../core/past.js";
import { objectRoute } from "../../core/paths.js";
import { clock } from "../../core/time.js";
import { faint } from "../../parts/bits.js";
import { actor, badge, inShort, lostBefore, told } from "../../parts/change.js";
import { Compared } from "../../parts/compared.js";
import { refill } from "../../parts/focus.js";
import { guarded, problem } from "../../parts/messages.js";
import { Timeline } from "../../parts/timeline.js";

/** @import {Place} from "../../app.js" */
/** @import {Change} from "../../core/past.js" */
/** @import {Subject} from "../../core/subject.js" */

/**
 * @param {Place} place
 * @param {Subject} subject
 */
export async function show(place, subject) {
  const view = new PastView(place, subject);
  await view.load();
  subject.addEventListener("changed", () => void view.append(), { signal: place.signal });
}

class PastView {
  /** @type {Change[]} */
  #changes = [];
  #seen = "";
  #oldest = 0;
  #isBusy = false;
  #isBehind = false;

  /**
   * @param {Place} place
   * @param {Subject} subject
   */
  constructor(place, { kind, named, path }) {
    this.place = place;
    this.kind = kind;
    this.named = named;
    this.path = path;
    this.timeline = new Timeline("Version", place.route.query, place.signal);
    this.compared = new Compared(place.signal);
    this.list = h("ol", { class: "versions", "aria-label": "Versions" });
    this.facts = h("div", { role: "status" });
    this.note = h("p", { class: "faint" });
    this.timeline.addEventListener("moved", () => this.#draw());
    const column = h("div", { class: "column" }, this.list, this.note);
    const beside = h("div", { class: "beside" }, column, this.compared.element);
    fill(place.host, this.timeline.element, this.facts, beside);
  }

  /** @param {string} [before] to go on with what is older */
  async load(before) {
    const { items, metadata } = await pastOf(this.path, { before }, this.place.signal);
    this.#seen ||= metadata.resourceVersion;
    this.#oldest = Number(metadata.oldest);
    this.#take([...items, ...this.#changes]);
    const older = () => void guarded(this.note, this.load(metadata.before));
    fill(
      this.note,
      metadata.before
        ? h("button", { onclick: older }, "Older versions")
        : lostBefore(this.#oldest),
    );
  }

  /** What happened since, which somebody has heard of. */
  async append() {
    this.#isBehind = this.#isBusy;
    if (this.#isBusy) return;
    this.#isBusy = true;
    try {
      const query = { since: this.#seen };
      const { items, metadata } = await pastOf(this.path, query, this.place.signal);
      this.#seen = metadata.resourceVersion;
      if (items.length) this.#take([...this.#changes, ...items]);
    } catch (error) {
      if (!isAborted(error)) fill(this.note, problem(reasonOf(error)));
    } finally {
      this.#isBusy = false;
    }
    if (this.#isBehind) await this.append();
  }

  /** @param {Change[]} changes */
  #take(changes) {
    this.#changes = changes;
    refill(this.list, changes.map((one) => this.#version(one)).reverse());
    this.timeline.set(
      changes.map((one) => ({ revision: revisionOf(one), says: inShort(one), time: one.time })),
    );
  }

  /** @param {Change} change */
  #version(change) {
    const { resourceVersion } = change;
    const go = () => this.timeline.go(Number(resourceVersion));
    const button = h(
      "button",
      { class: "plain", "data-key": resourceVersion, onclick: go },
      h("span", { class: "mono" }, resourceVersion),
      badge(change),
      actor(actorOf(change)),
      managerOf(change) !== actorOf(change) &&
        h("span", { class: "faint actor-as" }, managerOf(change)),
      faint(clock(change.time)),
    );
    return h("li", {}, button);
  }

  #draw() {
    const { at, against } = this.timeline;
    const change = this.#changes.find((one) => revisionOf(one) === at?.revision);
    if (!at || !change) return;
    const then = `${objectRoute(this.kind, this.named, "summary")}?at=${change.resourceVersion}`;
    const isThere = change.type !== "DELETED";
    const link = h("a", { class: "inline", href: then }, "Summary as it was");
    fill(this.facts, told(change), isThere && link);
    for (const button of this.list.querySelectorAll("button")) {
      if (button.dataset.key !== change.resourceVersion) button.removeAttribute("aria-current");
      else button.setAttribute("aria-current", "true");
    }
    // What was there before all that is known can be told of the oldest moment that is.
    const [from, to] = [against, at].map((one) => one && Math.max(one.revision, this.#oldest));
    void this.compared.show(this.path, from ?? 0, to ?? 0);
  }
}
