/** The past of a namespace, or of all of them: what was there at a revision, and what was different. */

import { fill, h } from "../core/dom.js";
import { Feed } from "../core/feed.js";
import { kindOf, revisionOf } from "../core/past.js";
import { objectPath, objectRoute } from "../core/paths.js";
import { Scene } from "../core/scene.js";
import { inShort, lostBefore, told } from "../parts/change.js";
import { Compared } from "../parts/compared.js";
import { refill } from "../parts/focus.js";
import { guarded, problem } from "../parts/messages.js";
import { Timeline } from "../parts/timeline.js";

/** @import {Place} from "../app.js" */
/** @import {Change} from "../core/past.js" */
/** @import {Marked, Thing} from "../core/scene.js" */

const FIRST = 500; // changes to begin with
const MOST = 10_000;
const SHOWN = 200; // objects of a kind
const PAUSE = 200; // milliseconds between two looks at what changed
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
  #drawing = 0;

  /** @param {Place} place */
  constructor(place) {
    this.place = place;
    this.feed = new Feed(place.namespace, FIRST, MOST);
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
    fill(
      this.place.host,
      h(
        "div",
        { class: "bar" },
        h("h1", {}, "Time travel"),
        h("span", { class: "faint" }, where),
        h("label", {}, this.all, " also what is the same"),
        this.state,
      ),
      this.timeline.element,
      this.facts,
      h("div", { class: "beside" }, this.things, this.detail),
    );
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
    const points = [{ revision: feed.since, says: "before all that is known here" }];
    for (const change of feed.changes) {
      const revision = revisionOf(change);
      if (revision !== points[points.length - 1].revision) {
        points.push({ revision, says: `${change.kind} ${change.name} ${inShort(change)}` });
      }
    }
    this.scene.take(feed.changes);
    this.#tellState();
    this.timeline.set(points);
  }

  #tellState() {
    const { feed, scene } = this;
    const older = () => void guarded(this.state, feed.older(this.place.signal));
    fill(
      this.state,
      feed.problem || `${feed.changes.length} changes since ${feed.since} · ${feed.state}`,
      scene.hidden.length > 0 &&
        h(
          "span",
          { title: scene.hidden.join(", ") },
          ` · ${scene.hidden.length} kinds not allowed`,
        ),
      scene.cut.length > 0 && ` · not all ${scene.cut.join(", ")}`,
      " · ",
      feed.hasOlder ? h("button", { onclick: older }, "Older") : lostBefore(feed.oldest),
    );
  }

  #moved() {
    const { at, against } = this.timeline;
    if (!at) return;
    const from = against?.revision ?? at.revision;
    const here = this.feed.changes.filter((one) => revisionOf(one) === at.revision);
    fill(
      this.facts,
      here.slice(0, 5).map((one) => this.#done(one)),
      here.length > 5 && h("p", { class: "faint" }, `and ${here.length - 5} more at once`),
      !here.length && h("p", { class: "faint" }, at.says),
    );
    const kinds = this.scene.between(from, at.revision);
    const sections = [...kinds].flatMap(([title, found]) => this.#kind(title, found) ?? []);
    refill(
      this.things,
      sections,
      !sections.length && h("p", { class: "faint" }, `Nothing is different from ${from}.`),
    );
    this.#detail();
  }

  /** @param {Change} change */
  #done(change) {
    const kind = kindOf(change, this.place.catalogue);
    const route = `${objectRoute(kind, change, "history")}?at=${change.resourceVersion}`;
    return h(
      "div",
      { class: "bar" },
      h("a", { href: route }, `${kind.kind} ${change.name}`),
      !this.place.namespace && change.namespace
        ? h("span", { class: "faint" }, `in ${change.namespace}`)
        : false,
      told(change),
    );
  }

  /**
   * @param {string} title
   * @param {Marked[]} found
   */
  #kind(title, found) {
    const shown = this.all.checked ? found : found.filter(({ mark }) => mark !== "same");
    if (!shown.length) return null;
    const there = found.filter(({ mark }) => mark !== "removed").length;
    return h(
      "section",
      {},
      h("h3", {}, title, h("span", { class: "faint" }, ` ${there}`)),
      h(
        "ul",
        { class: "links" },
        shown.slice(0, SHOWN).map((one) => this.#thing(one)),
        shown.length > SHOWN && h("li", { class: "faint" }, `and ${shown.length - SHOWN} more`),
      ),
    );
  }

  /** @param {Marked} marked */
  #thing({ thing, mark }) {
    const choose = () => {
      this.#chosen = thing;
      this.#moved();
    };
    const label = this.place.namespace || !thing.namespace ? "" : `${thing.namespace}/`;
    return h(
      "li",
      {},
      h(
        "button",
        {
          class: `plain thing ${mark}`,
          onclick: choose,
          "data-key": objectPath(thing.kind, thing),
          "aria-current": sameThing(thing, this.#chosen) && "true",
        },
        h("span", { class: "sign", "aria-hidden": "true" }, SIGNS[mark]),
        label + thing.name,
        mark !== "same" && h("small", { class: "faint" }, mark),
      ),
    );
  }

  #detail() {
    const { at, against } = this.timeline;
    const thing = this.#chosen;
    if (!at || !thing) {
      fill(this.detail, h("p", { class: "faint" }, "Choose an object to see what is different."));
      return;
    }
    const route = `${objectRoute(thing.kind, thing, "history")}?at=${at.revision}`;
    fill(
      this.detail,
      h(
        "div",
        { class: "bar" },
        h("a", { href: route }, `All of ${thing.kind.kind} ${thing.name}`),
      ),
      thing.kind.version ? this.compared.element : problem("this kind is no longer served"),
    );
    void this.compared.show(
      objectPath(thing.kind, thing),
      against?.revision ?? at.revision,
      at.revision,
    );
  }
}

/**
 * @param {Thing} one
 * @param {Thing | null} other
 */
function sameThing(one, other) {
  return (
    one.name === other?.name &&
    one.namespace === other.namespace &&
    one.kind.plural === other.kind.plural &&
    one.kind.group === other.kind.group
  );
}
