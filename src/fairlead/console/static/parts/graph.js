/** Graphs of numbers over time. All graphs of a page have one pointer: where the mouse is on one of
 * them, all tell their values of that moment. */

import { fill, h, svg } from "../core/dom.js";
import { clock } from "../core/time.js";

/** `values` has null where nothing is known. @typedef {{name: string, values: (number | null)[]}} Line */
/** @typedef {{times: number[], lines: Line[]}} Shown times are in milliseconds, one for each value */

const WIDTH = 600; // in its own units
const HEIGHT = 90;
const ROOM = 1.1; // above the highest value
const GAP = 2.5; // usual distances between values beyond which a line is broken

export class Graph {
  #cursor = svg("path", { class: "cursor" });
  #body = svg("g", {});
  #legend = h("ul", { class: "values" });
  #ends = h("div", { class: "faint ends" });
  /** @type {Shown} */
  #shown = { times: [], lines: [] };

  /**
   * @param {string} title
   * @param {(value: number) => string} text of a value
   * @param {(time: number) => void} pointed at a moment, NaN for none any more
   */
  constructor(title, text, pointed) {
    this.title = title;
    this.text = text;
    const at = (/** @type {PointerEvent} */ event) => pointed(this.#timeOf(event));
    this.picture = svg(
      "svg",
      {
        viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
        preserveAspectRatio: "none",
        role: "img",
        "aria-label": title,
        onpointermove: at,
        onpointerdown: at,
        onpointerleave: () => pointed(NaN),
      },
      this.#body,
      this.#cursor,
    );
    this.element = h(
      "figure",
      { class: "graph measured" },
      h("figcaption", {}, h("h2", {}, title), this.#legend),
      this.picture,
      this.#ends,
    );
  }

  /** @param {Shown} shown */
  show(shown) {
    this.#shown = shown;
    const known = shown.lines.flatMap((line) => line.values).filter((one) => one !== null);
    const top = Math.max(...known, 0) * ROOM || 1;
    fill(
      this.#body,
      shown.lines.map((line, index) =>
        svg("path", { class: `line hue-${index}`, d: this.#path(line, top) }),
      ),
    );
    const { times } = shown;
    fill(
      this.#ends,
      h("span", {}, times.length ? clock(new Date(times[0]).toISOString()) : ""),
      h("span", {}, `0 to ${this.text(top)}`),
      h("span", {}, "now"),
    );
  }

  /** @param {number} time to tell the values of, NaN for the last ones */
  point(time) {
    const { times, lines } = this.#shown;
    const index = Number.isNaN(time) ? times.length - 1 : nearest(times, time);
    const x = Number.isNaN(time) ? NaN : this.#x(times[index]);
    this.#cursor.setAttribute("d", Number.isNaN(x) ? "" : `M${x} 0V${HEIGHT}`);
    const told = lines.map(({ name, values }) => {
      const value = values[index];
      return [name, value === null || value === undefined ? "none" : this.text(value)];
    });
    fill(
      this.#legend,
      told.map(([name, value], hue) =>
        h("li", { class: `hue-${hue}` }, name && h("span", {}, `${name} `), h("strong", {}, value)),
      ),
    );
    const words = told.map((one) => one.filter(Boolean).join(" ")).join(", ");
    this.picture.setAttribute("aria-label", `${this.title}: ${words}`);
  }

  /**
   * @param {Line} line
   * @param {number} top
   */
  #path({ values }, top) {
    const { times } = this.#shown;
    const height = (/** @type {number} */ value) => (HEIGHT - (value / top) * HEIGHT).toFixed(1);
    if (times.length === 1) return values[0] === null ? "" : `M0 ${height(values[0])}H${WIDTH}`;
    const usual = times.length > 2 ? (times[times.length - 1] - times[0]) / (times.length - 1) : 0;
    let isDrawn = false;
    return values
      .map((value, index) => {
        if (value === null) {
          isDrawn = false;
          return "";
        }
        const y = height(value);
        const isNear = index > 0 && times[index] - times[index - 1] <= GAP * usual;
        // A dot where nothing is beside it.
        const step = isDrawn && isNear ? `L${this.#x(times[index])} ${y}` : "";
        isDrawn = true;
        return step || `M${this.#x(times[index])} ${y}h.1`;
      })
      .join("");
  }

  /** @param {number} time */
  #x(time) {
    const { times } = this.#shown;
    const span = Math.max(times[times.length - 1] - times[0], 1);
    return Math.round(((time - times[0]) / span) * WIDTH * 10) / 10;
  }

  /** @param {PointerEvent} event */
  #timeOf(event) {
    const { times } = this.#shown;
    const { left, width } = this.picture.getBoundingClientRect();
    const share = Math.max(0, Math.min(1, (event.clientX - left) / width));
    return times.length ? times[0] + share * (times[times.length - 1] - times[0]) : NaN;
  }
}

/**
 * @param {number[]} times
 * @param {number} time
 */
export function nearest(times, time) {
  let best = 0;
  times.forEach((one, index) => {
    if (Math.abs(one - time) < Math.abs(times[best] - time)) best = index;
  });
  return best;
}
