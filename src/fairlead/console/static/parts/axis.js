/** An axis of time with the moments of changes. A click goes to a moment, a drag chooses a range. */

import { fill, h, svg } from "../core/dom.js";
import { shortClock } from "../core/time.js";

/** @typedef {{from: number, to: number}} Range in milliseconds; both are the same for a moment */

const WIDTH = 1000; // in its own units
const HEIGHT = 18;
const LABELS = 7;
const MAX_TICKS = 1000;
const EDGE = 470; // units from the middle, so that a label is not cut off
const FEWEST = 5; // units that a drag is at least
const STEPS = [1, 5, 10, 30, 60, 300, 600, 1800, 3600, 10_800, 43_200, 86_400]; // seconds

export class TimeAxis {
  #start = 0;
  #end = 1;
  #began = NaN;

  /** @param {(range: Range) => void} chosen */
  constructor(chosen) {
    this.chosen = chosen;
    this.band = svg("rect", { class: "band", y: 0, height: HEIGHT });
    this.ticks = svg("path", { class: "ticks" });
    this.mark = svg("path", { class: "mark" });
    this.labels = h("div", { class: "labels" });
    this.element = h(
      "div",
      {
        class: "axis",
        "aria-hidden": "true",
        title: "Click a moment, drag a range",
        onpointerdown: (/** @type {PointerEvent} */ event) => this.#down(event),
        onpointerup: (/** @type {PointerEvent} */ event) => this.#up(event),
      },
      svg(
        "svg",
        { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none" },
        this.band,
        this.ticks,
        this.mark,
      ),
      this.labels,
    );
  }

  /**
   * @param {number[]} times of all points, in milliseconds
   * @param {number} at the chosen one
   * @param {number} other with which it is compared
   */
  show(times, at, other) {
    const known = times.filter((one) => !Number.isNaN(one));
    this.element.hidden = known.length < 2;
    if (this.element.hidden) return;
    this.#start = known[0];
    this.#end = Math.max(known[known.length - 1], this.#start + 1000);
    const every = Math.ceil(known.length / MAX_TICKS);
    const ticks = known.filter((_, index) => index % every === 0);
    this.ticks.setAttribute("d", ticks.map((one) => `M${this.#x(one)} 4V${HEIGHT - 4}`).join(""));
    const [left, right] = [other, at].map((one) => this.#x(one)).sort((a, b) => a - b);
    this.band.setAttribute("x", String(left || 0));
    this.band.setAttribute("width", String(right - left || 0));
    this.mark.setAttribute("d", Number.isNaN(at) ? "" : `M${this.#x(at)} 0V${HEIGHT}`);
    fill(this.labels, this.#moments());
  }

  #moments() {
    const seconds = (this.#end - this.#start) / 1000;
    const step = STEPS.find((one) => seconds / one <= LABELS) ?? seconds / LABELS;
    const first = Math.ceil(this.#start / 1000 / step) * step;
    const count = Math.floor((this.#end / 1000 - first) / step) + 1;
    const all = Array.from({ length: Math.max(0, count) }, (_, index) => first + index * step);
    const isRoom = (/** @type {number} */ one) => Math.abs(this.#x(one * 1000) - WIDTH / 2) < EDGE;
    return all.filter(isRoom).map((one) => {
      const moment = one * 1000;
      const text = shortClock(moment, step < 60);
      return h("span", { style: { left: `${this.#x(moment) / 10}%` } }, text);
    });
  }

  /** @param {number} time */
  #x(time) {
    return Math.round(((time - this.#start) / (this.#end - this.#start)) * WIDTH * 10) / 10;
  }

  /** @param {PointerEvent} event */
  #time(event) {
    const { left, width } = this.element.getBoundingClientRect();
    const share = Math.max(0, Math.min(1, (event.clientX - left) / width));
    return this.#start + share * (this.#end - this.#start);
  }

  /** @param {PointerEvent} event */
  #down(event) {
    this.#began = this.#time(event);
    this.element.setPointerCapture(event.pointerId);
  }

  /** @param {PointerEvent} event */
  #up(event) {
    const [from, to] = [this.#began, this.#time(event)].sort((a, b) => a - b);
    if (Number.isNaN(from)) return;
    this.#began = NaN;
    const isRange = Math.abs(this.#x(to) - this.#x(from)) > FEWEST;
    this.chosen(isRange ? { from, to } : { from: to, to });
  }
}
