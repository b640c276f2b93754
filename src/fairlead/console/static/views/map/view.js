/** The map of what was gathered: a picture that can be moved, or a list; searched, kept current. */

import { fill, h } from "../../core/dom.js";
import { applications, connected, drawnEdges, everything } from "../../core/belonging.js";
import { Gathering } from "../../core/gathering.js";
import { bind } from "../../core/keys.js";
import { judgeServices } from "../../core/reached.js";
import { missing, World } from "../../core/relations.js";
import { keep } from "../../core/router.js";
import { planOf, worstFirst } from "../../core/strips.js";
import { BOX, Places } from "../../parts/places.js";
import { Viewport } from "../../parts/viewport.js";
import { Controls, ZOOM } from "./controls.js";
import { Drawing, idOf } from "./drawing.js";
import { Listing } from "./listing.js";

/** @import {Place} from "../../app.js" */
/** @import {Plan} from "../../core/strips.js" */
/** @import {Point} from "../../parts/places.js" */
/** @import {Children} from "../../core/dom.js" */
/** @typedef {{namespace: string, label: string, centre?: string}} Scope */

const SOONEST = 100; // milliseconds between two drawings
const SHARE = 6; // a drawing that took a while is not repeated within so many times of it
const STEP = 60; // pixels that a key moves
/** @type {Record<string, [number, number]>} */
const MOVES = {
  ArrowUp: [0, STEP],
  ArrowDown: [0, -STEP],
  ArrowLeft: [STEP, 0],
  ArrowRight: [-STEP, 0],
};

export class MapView {
  /** @type {Set<string>} */
  #opened = new Set();
  /** Whether something changed that was not thought about yet. */
  #isStale = false;
  #isDrawing = false;
  #wait = SOONEST;
  #places = new Places();
  /** @type {Plan} */
  #plan = { nodes: new Map(), lines: [] };
  /** @type {Map<string, Point>} */
  #points = new Map();
  /** Matches of what is searched, and which of them is in the middle. @type {string[]} */
  #found = [];
  #at = 0;
  #isDrawn = false;

  /**
   * @param {Place} place
   * @param {Scope} scope
   */
  constructor(place, scope) {
    this.place = place;
    this.scope = scope;
    const { query } = place.route;
    this.revision = query.get("at") ?? "";
    this.app = query.get("app") ?? "";
    const narrow = matchMedia("(max-width: 700px)").matches;
    this.isList = (query.get("as") ?? (narrow ? "list" : "")) === "list";
    this.gathering = new Gathering(place.catalogue, scope.namespace, this.revision);
    this.drawing = new Drawing(scope.label);
    this.viewport = new Viewport(this.drawing.picture, this.drawing.world);
    this.listing = new Listing();
    this.controls = new Controls(query.get("search") ?? "", {
      chosen: (app) => this.#take(app),
      sought: () => this.#sought(),
      searching: (event) => this.#searching(event),
      nextBad: () => this.#nextBad(),
      zoom: (by) => this.viewport.zoom(by),
      fit: () => this.fit(),
      arrange: () => this.again(),
      change: () => this.#switch(),
    });
    this.frame = h("div", { class: "map-frame" });
    this.#bindKeys();
    this.drawing.picture.addEventListener("keydown", this.#pressed);
    this.drawing.picture.addEventListener("click", (event) => this.#toggle(idOf(event.target)));
    this.drawing.picture.addEventListener("focusin", () => this.#reveal());
    const { signal } = place;
    this.gathering.addEventListener("changed", () => this.#soon(), { signal });
    const resized = new ResizeObserver(() => this.viewport.isTouched || this.fit());
    resized.observe(this.frame);
    signal.addEventListener("abort", () => resized.disconnect());
  }

  /** @param {Children} [heading] */
  async run(heading) {
    const { state, notes, legend } = this.controls;
    const bar = h("div", { class: "bar" }, heading, this.controls.elements, state);
    fill(this.place.host, bar, this.then(), this.frame, legend, notes);
    this.#choose();
    await this.gathering.run(this.place.signal);
  }

  /** The banner of a map of the past. */
  then() {
    if (!this.revision) return null;
    const now = `${location.hash.split("?")[0]}`;
    return h(
      "p",
      { class: "warning" },
      `This is how it was at revision ${this.revision}. `,
      h("a", { class: "inline", href: now }, "Show it as it is now"),
    );
  }

  #bindKeys() {
    const { signal } = this.place;
    /** @type {[string, string, () => void][]} */
    const keys = [
      ["s", "search the map", () => this.controls.search.focus()],
      ["b", "go to the next that is not well", () => this.#nextBad()],
      ["+", "zoom in", () => this.viewport.zoom(ZOOM)],
      ["-", "zoom out", () => this.viewport.zoom(1 / ZOOM)],
      ["0", "show all of the map", () => this.fit()],
      ["i", "the map as a list, and back", () => this.#switch()],
    ];
    for (const [key, says, run] of keys) bind({ key, says, run }, signal);
  }

  /** @param {string} app to keep to */
  #take(app) {
    this.app = app;
    keep("app", app);
    this.again();
  }

  #switch() {
    this.isList = !this.isList;
    keep("as", this.isList ? "list" : "map");
    this.#choose();
    this.#draw(true);
    if (this.isList) this.listing.grid.focus();
    else this.drawing.focus(this.drawing.current);
  }

  #choose() {
    fill(this.frame, this.isList ? this.listing.grid.element : this.drawing.picture);
    this.controls.become(this.isList);
  }

  /** Place everything anew. */
  again() {
    this.#places.reset();
    this.#draw(true);
  }

  fit() {
    const all = [...this.#points.values()];
    if (!all.length || this.isList) return;
    const width = Math.max(...all.map(({ x }) => x)) + BOX.width;
    const height = Math.max(...all.map(({ y }) => y)) + BOX.height;
    this.viewport.fit({ x: 0, y: 0, width, height });
  }

  #soon() {
    this.#isStale = true;
    if (!this.#isDrawing && this.gathering.isComplete) void this.#keepUp();
  }

  /** Draw until nothing changes any more, each time after there was time for other things. */
  async #keepUp() {
    this.#isDrawing = true;
    while (this.#isStale) {
      do await pause(this.#isDrawn ? this.#wait : 0);
      while (this.viewport.isMoving);
      if (this.place.signal.aborted) return;
      this.#isStale = false;
      const spent = timeOf(() => this.#think());
      this.#wait = Math.max(SOONEST, SHARE * (spent + (await this.#showAll())));
    }
    this.#isDrawing = false;
  }

  /**
   * Thinking and drawing are several tasks, so that none holds up a frame for long.
   * @returns {Promise<number>} the milliseconds that drawing took
   */
  async #showAll() {
    let spent = 0;
    for (let isWhole = false; !isWhole && !this.place.signal.aborted;) {
      await new Promise((resolve) => requestAnimationFrame(resolve));
      if (!this.viewport.isMoving) spent += timeOf(() => (isWhole = this.#show()));
    }
    return spent;
  }

  #draw(fits = false) {
    this.#think();
    if (fits) this.fit();
    if (!this.#show()) void this.#showAll();
  }

  /** Find out what there is to draw. */
  #think() {
    const { gathering, scope } = this;
    if (!gathering.isComplete) return;
    const world = this.#world();
    const edges = drawnEdges(world);
    const apps = applications(world);
    if (!scope.centre) this.controls.offer([...apps.keys()], this.app);
    const centres = this.app ? (apps.get(this.app) ?? []) : scope.centre ? [scope.centre] : null;
    const shown = centres ? connected(edges, centres) : everything(world, edges);
    const drawn = edges.filter(({ from, to }) => shown.has(from) && shown.has(to));
    const seen = [...shown].flatMap((id) => world.things.get(id) ?? []);
    this.controls.tell(seen, gathering);
    if (this.isList) {
      const count = this.listing.show(world.things, drawn, shown, this.#wanted);
      fill(this.controls.hits, this.#wanted && `${count} found`);
      return;
    }
    this.#plan = planOf(world.things, drawn, shown, this.#opened);
    this.#points = this.#arranged();
  }

  /** @returns {boolean} whether all of it is drawn */
  #show() {
    if (!this.gathering.isComplete) return true;
    const isFirst = !this.#isDrawn;
    this.#isDrawn = true;
    if (this.isList) return true;
    if (isFirst) this.fit(); // the browser lays texts out once then, as they look at that scale
    const isWhole = this.drawing.show(this.#plan, this.#points, this.scope.centre ?? "");
    this.#mark();
    if (isFirst && this.#found.length) this.#go(0);
    return isWhole;
  }

  #world() {
    const { gathering, place } = this;
    const world = new World(place.catalogue, place.signal);
    for (const { kind, isWhole, items } of gathering.kinds.values())
      for (const object of items.values()) world.see(kind, object, isWhole);
    world.join();
    const pods = place.catalogue.find("", "pods");
    const isKnown = pods && gathering.kinds.has(pods) && !gathering.problems.has(pods.plural);
    if (isKnown && gathering.isComplete) judgeServices(world);
    for (const thing of world.things.values()) {
      // What is named, and is not among all that there are, does not exist.
      const { kind, object, namespace } = thing;
      const isKnown = kind && gathering.kinds.has(kind) && !gathering.problems.has(kind.plural);
      const isInside =
        !kind?.namespaced || !gathering.namespace || namespace === gathering.namespace;
      if (!object && isKnown && isInside) thing.state = missing(thing.state.why);
    }
    return world;
  }

  #arranged() {
    const { clientWidth, clientHeight } = this.frame;
    const nodes = [...this.#plan.nodes.values()];
    const ranks = { bad: 0, warn: 1, "": 2, good: 2 };
    const placed = nodes.map(({ id, title, state }) => ({ id, title, rank: ranks[state.tone] }));
    return this.#places.arrange(placed, this.#plan.lines, clientWidth / Math.max(1, clientHeight));
  }

  get #wanted() {
    return this.controls.search.value.trim().toLowerCase();
  }

  #sought() {
    keep("search", this.#wanted);
    if (this.isList) return this.#draw();
    this.#mark();
    if (this.#found.length) this.#go(0);
  }

  #mark() {
    const words = this.#wanted.split(/\s+/).filter(Boolean);
    const nodes = words.length ? [...this.#plan.nodes.values()] : [];
    this.#found = nodes
      .filter(({ text }) => words.every((word) => text.includes(word)))
      .sort((a, b) => worstFirst(a.thing, b.thing))
      .map((one) => one.id);
    this.drawing.mark(new Set(this.#found));
    this.#tellHits();
  }

  #tellHits() {
    const total = this.#found.length;
    const text = total ? `${Math.min(this.#at, total - 1) + 1} of ${total}` : "none";
    fill(this.controls.hits, this.#wanted && text);
  }

  /** @param {number} at the match to have in the middle */
  #go(at) {
    const { length } = this.#found;
    if (!length) return;
    this.#at = (at + length) % length;
    this.#centre(this.#found[this.#at]);
    this.#tellHits();
  }

  /** @param {string} id */
  #centre(id) {
    const point = this.drawing.points.get(id);
    if (!point) return;
    this.viewport.centre({ x: point.x + BOX.width / 2, y: point.y + BOX.height / 2 });
    this.drawing.light(id);
  }

  /** @param {KeyboardEvent} event */
  #searching(event) {
    if (event.key === "Enter" && this.isList) this.listing.grid.focus();
    else if (event.key === "Enter" && event.ctrlKey) this.drawing.focus(this.#found[this.#at]);
    else if (event.key === "Enter") this.#go(this.#at + (event.shiftKey ? -1 : 1));
    else if (event.key === "Escape") {
      const found = this.#found[this.#at];
      this.controls.search.value = "";
      this.#sought();
      if (this.isList) this.listing.grid.focus();
      else this.drawing.focus(found ?? this.drawing.current);
    } else return;
    event.preventDefault();
    event.stopPropagation();
  }

  #nextBad() {
    if (this.isList) return this.listing.grid.focus(); // they are the first there
    const bad = [...this.#plan.nodes.values()]
      .filter(({ state }) => state.tone === "bad" || state.tone === "warn")
      .sort((a, b) => worstFirst(a.thing, b.thing));
    if (!bad.length) return;
    const at = bad.findIndex(({ id }) => id === this.drawing.current);
    const { id } = bad[this.drawing.hasFocus ? (at + 1) % bad.length : 0];
    this.drawing.focus(id);
    this.#centre(id);
  }

  /** @param {string} id of a strip */
  #toggle(id) {
    if (!this.drawing.node(id)?.members.length) return;
    if (!this.#opened.delete(id)) this.#opened.add(id);
    this.#draw();
    this.drawing.focus(id);
  }

  #reveal() {
    if (!this.drawing.picture.matches(":has(:focus-visible)")) return;
    const point = this.drawing.points.get(this.drawing.current);
    if (point) this.viewport.reveal({ ...point, ...BOX });
  }

  /** @param {KeyboardEvent} event */
  #pressed = (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const id = idOf(event.target);
    if ((event.key === "Enter" || event.key === " ") && this.drawing.node(id)?.members.length)
      this.#toggle(id);
    else if (event.shiftKey && event.key in MOVES) this.viewport.move(...MOVES[event.key]);
    else if (event.key in MOVES) {
      const next = this.drawing.toward(event.key);
      if (next) this.drawing.focus(next);
    } else return;
    event.preventDefault();
    event.stopPropagation();
  };
}

/** @param {number} milliseconds */
function pause(milliseconds) {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}

/**
 * How many milliseconds something takes.
 * @param {() => void} work
 */
function timeOf(work) {
  const began = performance.now();
  work();
  return performance.now() - began;
}
