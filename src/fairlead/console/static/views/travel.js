/** The past of a namespace, or of all of them: what was there at a revision, and what was different. */

import { fill, h } from "../core/dom.js";
import { Feed } from "../core/feed.js";
import { kindOf, revisionOf } from "../core/past.js";
import { objectPath, objectRoute } from "../core/paths.js";
import { Scene } from "../core/scene.js";
import { bar, faint } from "../parts/bits.js";
import { lostBefore, told } from "../parts/change.js";
import { Compared } from "../parts/compared.js";
import { refill } from "../parts/focus.js";
import { guarded } from "../parts/messages.js";
import { pointsOf, Timeline } from "../parts/timeline.js";

/** @import {Place} from "../app.js" */
/** @import {Kind} from "../core/kinds.js" */
/** @import {Change} from "../core/past.js" */
/** @import {Named} from "../core/paths.js" */
/** @import {Marked, Thing} from "../core/scene.js" */

const FIRST = 500; // changes to begin with
const MAX_LINES = 10_000;
const AT_ONCE = 5; // changes of one revision that are told
const SHOWN = 200; // objects of a kind
const PAUSE = 200; // milliseconds between two looks at what changed
const REST = 300; // milliseconds without a move
const SIGNS = { added: "+", changed: "~", removed: "−", same: "" };

/** @param {Place} place */
export async function show(place) {
  place.title("Time travel");
  const view = new TravelView(place);
  view.draw();
  await view.run();
}

class TravelView {
  /** @type {Thing | null} */
  #chosen = null;
  /** The chosen one, or else the first that is different. @type {Thing | null} */
  #shown = null;
  #drawing = 0;
  #waiting = 0;

  /** @param {Place} place */
  constructor(place) {
    this.place = place;
    this.feed = new Feed(place.catalogue, place.namespace, FIRST, MAX_LINES);
    this.scene = new Scene(place.catalogue, place.namespace);
    this.timeline = new Timeline("Revision", place.route.query, place.signal);
    this.compared = new Compared(place.signal);
    this.state = h("span", { class: "faint", role: "status" });
    this.facts = h("div", { class: "column" });
    this.things = h("div", {
      class: "column things",
      role: "region",
      "aria-label": "What was there",
    });
    this.detail = h("div", { class: "column grow" });
    this.all = h("input", { type: "checkbox", onchange: () => this.#moved() });
    this.timeline.addEventListener("moved", () => this.#moved());
    this.feed.addEventListener("changed", () => this.#soon(), { signal: place.signal });
  }

  draw() {
    const where = this.place.namespace ? `of ${this.place.namespace}` : "of all namespaces";
    const same = h("label", {}, this.all, " also what is the same");
    fill(
      this.place.host,
      bar(h("h1", {}, "Time travel"), faint(where), same, this.state),
      this.timeline.element,
      this.facts,
      h("div", { class: "beside" }, this.things, this.detail),
    );
    if (this.place.route.query.has("ask")) this.timeline.moment.focus();
  }

  async run() {
    fill(this.state, "loading");
    await this.scene.load(this.place.signal);
    await this.feed.run(this.place.signal);
  }

  /** Working all of it out again costs: not with every change where there are many. */
  #soon() {
    this.#drawing ||= setTimeout(() => {
      this.#drawing = 0;
      if (!this.place.signal.aborted) this.#changed();
    }, PAUSE);
  }

  #changed() {
    const { feed } = this;
    // After a gap nothing fits together: look at everything again.
    if (feed.gaps.length) return void window.dispatchEvent(new HashChangeEvent("hashchange"));
    this.scene.take(feed.changes);
    this.#tellState();
    this.timeline.set(pointsOf(feed.changes, feed.since));
  }

  #tellState() {
    const { feed, scene } = this;
    const older = () => void guarded(this.state, feed.older(this.place.signal));
    const { hidden, cut } = scene;
    fill(
      this.state,
      feed.problem || `${feed.changes.length} changes after revision ${feed.since} · ${feed.state}`,
      hidden.length > 0 && faint(` · ${hidden.length} kinds may not be listed`),
      cut.length > 0 && faint(` · not all ${cut.join(", ")}`),
      " · ",
      feed.hasOlder ? h("button", { onclick: older }, "Older") : lostBefore(feed.oldest),
    );
  }

  #moved() {
    const { at, against } = this.timeline;
    if (!at) return;
    const from = against?.revision ?? at.revision;
    const here = this.feed.changes.filter((one) => revisionOf(one) === at.revision);
    const done = here.slice(0, AT_ONCE).map((one) => this.#done(one));
    const more = here.length > AT_ONCE && faint(`and ${here.length - AT_ONCE} more at once`);
    const views = [
      ["#/overview", "As an overview"],
      ["#/map", "As a map"],
    ].map(([to, text]) => h("a", { class: "inline", href: `${to}?at=${at.revision}` }, text));
    fill(this.facts, done.length ? done : faint(at.says), more, bar(...views));
    const between = this.scene.between(from, at.revision);
    // What is different is seen without a choice; one that was made stays.
    this.#shown = this.#chosen ?? firstChanged(between);
    const sections = [...between].flatMap(([title, found]) => this.#kind(title, found));
    const none = faint(`Nothing is different from ${from}.`);
    refill(this.things, sections.length ? sections : none);
    clearTimeout(this.#waiting);
    if (this.#chosen) return this.#detail(from, at.revision);
    // What nobody chose is compared when nothing moves any more: that asks the server.
    fill(this.detail, faint("What is different is shown when nothing moves."));
    this.#waiting = setTimeout(() => {
      if (!this.place.signal.aborted) this.#detail(from, at.revision);
    }, REST);
  }

  /** @param {Change} change */
  #done(change) {
    const kind = kindOf(change, this.place.catalogue);
    const inside = this.place.namespace ? "" : (change.namespace ?? "");
    return bar(
      link(kind, change, revisionOf(change)),
      inside && faint(`in ${inside}`),
      told(change),
    );
  }

  /**
   * @param {string} title
   * @param {Marked[]} found
   * @returns {Node[]}
   */
  #kind(title, found) {
    const shown = this.all.checked ? found : found.filter(({ mark }) => mark !== "same");
    if (!shown.length) return [];
    const there = found.filter(({ mark }) => mark !== "removed").length;
    const listed = shown.slice(0, SHOWN).map((one) => this.#thing(one));
    const more = shown.length > SHOWN && faint(`and ${shown.length - SHOWN} more`);
    return [h("h2", {}, title, faint(` ${there}`)), h("ul", { class: "links" }, listed, more)];
  }

  /** @param {Marked} marked */
  #thing({ thing, mark }) {
    const path = objectPath(thing.kind, thing);
    const choose = () => {
      this.#chosen = thing;
      this.#moved();
    };
    const inside = this.place.namespace || !thing.namespace ? "" : `${thing.namespace}/`;
    const isChosen = this.#shown && objectPath(this.#shown.kind, this.#shown) === path;
    const button = h(
      "button",
      {
        ...{ class: `plain thing ${mark}`, onclick: choose, "data-key": path },
        "aria-current": isChosen && "true",
      },
      h("span", { class: "sign", "aria-hidden": "true" }, SIGNS[mark]),
      inside + thing.name,
      mark !== "same" && h("small", { class: "faint" }, mark),
    );
    return h("li", {}, button);
  }

  /**
   * @param {number} from
   * @param {number} to
   */
  #detail(from, to) {
    const thing = this.#shown;
    if (!thing) return fill(this.detail, faint("Choose an object to see what is different."));
    const then = `${objectRoute(thing.kind, thing, "summary")}?at=${to}`;
    const summary = h("a", { class: "inline", href: then }, "Summary as it was");
    fill(this.detail, bar(link(thing.kind, thing, to), summary), this.compared.element);
    void this.compared.show(objectPath(thing.kind, thing), from, to);
  }
}

/**
 * @param {Map<string, Marked[]>} between two moments
 * @returns {Thing | null}
 */
function firstChanged(between) {
  const found = [...between.values()].flat().find(({ mark }) => mark !== "same");
  return found?.thing ?? null;
}

/**
 * To all of an object's past.
 * @param {Kind} kind
 * @param {Named} named
 * @param {number} revision
 */
function link(kind, named, revision) {
  const href = `${objectRoute(kind, named, "history")}?at=${revision}`;
  return h("a", { href }, `${kind.kind} ${named.name}`);
}
