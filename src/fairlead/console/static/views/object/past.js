/** The past of an object: its versions on a slider, what was different, and who did it. */

import { isAborted, reasonOf } from "../../core/api.js";
import { fill, h } from "../../core/dom.js";
import { actorOf, pastOf, revisionOf } from "../../core/past.js";
import { clock } from "../../core/time.js";
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
  const view = new PastView(place, subject.path);
  await view.load();
  subject.addEventListener("changed", () => void view.append(), { signal: place.signal });
}

class PastView {
  /** @type {Change[]} */
  #changes = [];
  #seen = 0;
  #isBusy = false;
  /** @type {string | undefined} */
  #before;

  /**
   * @param {Place} place
   * @param {string} path
   */
  constructor(place, path) {
    this.place = place;
    this.path = path;
    this.timeline = new Timeline("Version", place.route.query, place.signal);
    this.compared = new Compared(place.signal);
    this.list = h("ol", { class: "versions", "aria-label": "Versions" });
    this.facts = h("div", { role: "status" });
    this.note = h("p", { class: "faint" });
    this.timeline.addEventListener("moved", () => this.#draw());
    fill(
      place.host,
      this.timeline.element,
      this.facts,
      h(
        "div",
        { class: "beside" },
        h("div", { class: "column" }, this.list, this.note),
        this.compared.element,
      ),
    );
  }

  async load() {
    const { items, metadata } = await pastOf(this.path, {}, this.place.signal);
    this.#take(items, metadata);
    this.#before = metadata.before;
    this.#tellOldest(metadata.oldest);
  }

  /** What happened since, which somebody has heard of. */
  async append() {
    if (this.#isBusy) return;
    this.#isBusy = true;
    try {
      const query = { since: this.#seen };
      const { items, metadata } = await pastOf(this.path, query, this.place.signal);
      const last = this.#changes.length ? revisionOf(this.#changes[this.#changes.length - 1]) : 0;
      const fresh = items.filter((one) => revisionOf(one) > last);
      if (fresh.length) this.#take([...this.#changes, ...fresh], metadata);
    } catch (error) {
      if (!isAborted(error)) fill(this.note, problem(reasonOf(error)));
    } finally {
      this.#isBusy = false;
    }
  }

  async #older() {
    const query = { before: this.#before };
    const { items, metadata } = await pastOf(this.path, query, this.place.signal);
    this.#before = metadata.before;
    this.#take([...items, ...this.#changes], {
      resourceVersion: String(this.#seen),
    });
    this.#tellOldest(metadata.oldest);
  }

  /**
   * @param {Change[]} changes
   * @param {{resourceVersion: string}} metadata
   */
  #take(changes, metadata) {
    this.#changes = changes;
    this.#seen = Number(metadata.resourceVersion);
    refill(this.list, changes.map((one) => this.#version(one)).reverse());
    this.timeline.set(changes.map((one) => ({ revision: revisionOf(one), says: inShort(one) })));
  }

  /** @param {Change} change */
  #version(change) {
    return h(
      "li",
      {},
      h(
        "button",
        {
          class: "plain",
          "data-key": change.resourceVersion,
          onclick: () => this.timeline.go(revisionOf(change)),
        },
        h("span", { class: "mono" }, change.resourceVersion),
        badge(change),
        actor(actorOf(change)),
        h("span", { class: "faint" }, clock(change.time)),
      ),
    );
  }

  /** @param {string} oldest */
  #tellOldest(oldest) {
    fill(
      this.note,
      this.#before
        ? h("button", { onclick: () => void guarded(this.note, this.#older()) }, "Older versions")
        : lostBefore(Number(oldest)),
    );
  }

  #draw() {
    const { at, against } = this.timeline;
    const change = this.#changes.find((one) => revisionOf(one) === at?.revision);
    if (!at || !change) return;
    fill(this.facts, told(change));
    for (const button of this.list.querySelectorAll("button")) {
      const isShown = button.dataset.key === change.resourceVersion;
      if (isShown) button.setAttribute("aria-current", "true");
      else button.removeAttribute("aria-current");
    }
    this.compared.show(this.path, against?.revision ?? 0, at.revision);
  }
}
