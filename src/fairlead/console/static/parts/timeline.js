/** A slider over what happened, and with what the chosen moment is compared. */

import { fill, h } from "../core/dom.js";
import { bind } from "../core/keys.js";
import { momentOf } from "../core/moments.js";
import { revisionOf } from "../core/past.js";
import { keep } from "../core/router.js";
import { clock } from "../core/time.js";
import { TimeAxis } from "./axis.js";
import { bar, faint } from "./bits.js";
import { inShort } from "./change.js";
import { say } from "./messages.js";

/** @import {Change} from "../core/past.js" */
/** A moment; `says` tells what happened then. @typedef {{revision: number, says: string, time?: string}} Point */

const MARKS = 200; // points that have a mark on the slider
const BEAT = 900; // milliseconds between two steps while it plays
const COMPARED = [
  ["before", "the one before"],
  ["now", "now"],
  ["first", "the oldest"],
  ["chosen", "a chosen one"],
];

/** Tells of `moved`. `[` and `]` step; what is chosen is kept in the address. */
export class Timeline extends EventTarget {
  /** @type {Point[]} */
  #points = [];
  #at = -1;
  #other = 0;
  #playing = 0;
  #kept = "";
  /** When each was, in milliseconds; that of the one before where it is not known. @type {number[]} */
  #times = [];

  /**
   * @param {string} label
   * @param {URLSearchParams} query
   * @param {AbortSignal} signal
   * @param {boolean} [isComparing] whether the moment is compared with another one
   */
  constructor(label, query, signal, isComparing = true) {
    super();
    this.isComparing = isComparing;
    // Revisions that the address names, until there are points.
    this.wanted = [Number(query.get("at")), Number(query.get("with"))];
    this.marks = h("datalist", { id: "timeline-marks" });
    this.slider = range(label, () => this.#move(this.slider.valueAsNumber));
    this.otherSlider = range("Compared with", () => {
      this.#other = this.otherSlider.valueAsNumber;
      this.#moved();
    });
    this.otherSlider.hidden = true; // until there is something to compare with
    const options = COMPARED.map(([value, text]) => h("option", { value }, text));
    const changed = () => this.#moved();
    this.mode = h("select", { "aria-label": "Compare with", onchange: changed }, options);
    this.mode.value = this.wanted[1] ? "chosen" : "before";
    this.player = h("button", { onclick: () => this.#play(!this.#playing) }, "Play");
    this.place = h("output", { class: "mono" });
    this.axis = new TimeAxis(({ from, to }) => this.#choose(from, to));
    this.moment = h("input", {
      type: "text",
      size: 20,
      placeholder: "08:36, two minutes ago",
      "aria-label": "Go to a moment",
    });
    const goTo = (/** @type {Event} */ event) => {
      event.preventDefault();
      this.#goTo(this.moment.value);
    };
    this.element = h(
      "div",
      { class: "timeline", role: "group", "aria-label": "Time" },
      bar(
        h("button", { title: "Step back ([)", onclick: () => this.#step(-1) }, "◂ Back"),
        h("button", { title: "Step forward (])", onclick: () => this.#step(1) }, "Forward ▸"),
        this.player,
        isComparing && h("label", {}, faint("Compare with "), this.mode),
        h("form", { class: "bar", onsubmit: goTo }, this.moment, h("button", {}, "Go")),
        this.place,
      ),
      this.axis.element,
      ...[this.slider, this.otherSlider, this.marks],
    );
    const type = () => this.moment.focus();
    bind({ key: "@", says: "go to a moment", run: type }, signal);
    bind({ key: "[", says: "one step back in time", run: () => this.#step(-1) }, signal);
    bind({ key: "]", says: "one step forward in time", run: () => this.#step(1) }, signal);
    signal.addEventListener("abort", () => this.#play(false));
  }

  /**
   * Those there are now, oldest first. Who looks at the newest goes on doing so.
   * @param {Point[]} points
   */
  set(points) {
    const isLast = this.#at === this.#points.length - 1;
    const at = this.wanted[0] || (isLast ? Infinity : (this.at?.revision ?? Infinity));
    const other = this.wanted[1] || (this.#points[this.#other]?.revision ?? 0);
    if (points.length) this.wanted = [0, 0];
    this.#points = points;
    let last = NaN;
    this.#times = points.map(({ time }) => (last = time ? Date.parse(time) : last));
    this.#at = this.#find(at);
    this.#other = Math.max(0, this.#find(other));
    for (const one of [this.slider, this.otherSlider]) {
      one.max = String(Math.max(0, points.length - 1));
      one.disabled = points.length < 2;
    }
    fill(this.marks, points.length <= MARKS && points.map((_, value) => h("option", { value })));
    this.#moved();
  }

  /** The chosen point. */
  get at() {
    return this.#points.at(Math.max(0, this.#at));
  }

  /** What it is compared with; nothing where there is nothing before it. */
  get against() {
    const last = this.#points.length - 1;
    const places = { before: this.#at - 1, now: last, first: 0, chosen: this.#other };
    return this.#points[places[/** @type {keyof typeof places} */ (this.mode.value)]];
  }

  /** @param {number} revision */
  go(revision) {
    this.#move(this.#find(revision));
  }

  /**
   * What was there at a moment that somebody wrote.
   * @param {string} text
   */
  #goTo(text) {
    const time = momentOf(text);
    if (Number.isNaN(time)) return say(`What moment is "${text}"? Write 08:36 or 5 minutes ago.`);
    const first = this.#times.find((one) => !Number.isNaN(one)) ?? NaN;
    if (time < first) {
      say(`Nothing is known of then: what is known here begins at ${clock(isoOf(first))}.`);
    }
    this.#play(false);
    this.#move(this.#placeOf(time));
  }

  /**
   * A moment, or two to compare, in milliseconds.
   * @param {number} from
   * @param {number} to
   */
  #choose(from, to) {
    this.#play(false);
    if (from !== to && this.isComparing) {
      this.mode.value = "chosen";
      this.#other = this.#placeOf(from);
    }
    this.#move(this.#placeOf(to));
  }

  /**
   * The last point that is not after a moment.
   * @param {number} time in milliseconds
   */
  #placeOf(time) {
    return Math.max(
      0,
      this.#times.findLastIndex((one) => one <= time),
    );
  }

  /** @param {number} revision the last point that is not after it is found, or else the first */
  #find(revision) {
    const found = this.#points.findLastIndex((one) => one.revision <= revision);
    return Math.max(Math.min(0, this.#points.length - 1), found);
  }

  /** @param {number} by */
  #step(by) {
    this.#play(false);
    this.#move(this.#at + by);
  }

  /** @param {number} index */
  #move(index) {
    this.#at = Math.max(0, Math.min(index, this.#points.length - 1));
    this.#moved();
  }

  /** @param {boolean} isOn */
  #play(isOn) {
    clearInterval(this.#playing);
    this.#playing = 0;
    fill(this.player, isOn ? "Stop" : "Play");
    if (!isOn) return;
    if (this.#at === this.#points.length - 1) this.#move(0);
    this.#playing = setInterval(() => {
      this.#move(this.#at + 1);
      if (this.#at === this.#points.length - 1) this.#play(false);
    }, BEAT);
  }

  #moved() {
    const { at, against } = this;
    const isChosen = this.mode.value === "chosen";
    const isLast = this.#at === this.#points.length - 1;
    tell(this.slider, this.#at, at);
    tell(this.otherSlider, this.#other, this.#points[this.#other]);
    this.otherSlider.hidden = !isChosen;
    const other = against && this.isComparing ? this.#points.indexOf(against) : this.#at;
    this.axis.show(this.#times, this.#times[this.#at], this.#times[other]);
    const isNow = isLast && this.isComparing;
    const kept = [isNow ? "" : at?.revision, isChosen ? against?.revision : ""].join(" ");
    // Browsers mind addresses that change all the time.
    if (kept !== this.#kept) ["at", "with"].forEach((name, i) => keep(name, kept.split(" ")[i]));
    this.#kept = kept;
    const when = clock(isoOf(this.#times[this.#at]));
    const text = at && [when, at.revision, `${this.#at + 1} of ${this.#points.length}`];
    fill(this.place, text ? text.filter(Boolean).join(" · ") : "");
    this.dispatchEvent(new Event("moved"));
  }
}

/**
 * A point for every revision of the changes of many objects, and one for what was before them.
 * @param {Change[]} changes oldest first
 * @param {number} since the revision before the first of them
 * @returns {Point[]}
 */
export function pointsOf(changes, since) {
  /** @type {Point[]} */
  const points = [{ revision: since, says: "before all that is known here" }];
  for (const change of changes) {
    const revision = revisionOf(change);
    if (revision !== points[points.length - 1].revision) {
      const says = `${change.kind} ${change.name} ${inShort(change)}`;
      points.push({ revision, says, time: change.time });
    }
  }
  return points;
}

/** @param {number | undefined} time in milliseconds */
function isoOf(time = NaN) {
  return Number.isNaN(time) ? undefined : new Date(time).toISOString();
}

/**
 * @param {string} label
 * @param {() => void} moved
 */
function range(label, moved) {
  const limits = { type: "range", min: 0, max: 0, step: 1, list: "timeline-marks" };
  return h("input", { ...limits, "aria-label": label, oninput: moved });
}

/**
 * @param {HTMLInputElement} slider
 * @param {number} index
 * @param {Point | undefined} point
 */
function tell(slider, index, point) {
  slider.value = String(Math.max(0, index));
  slider.setAttribute("aria-valuetext", point ? `revision ${point.revision}, ${point.says}` : "");
}
