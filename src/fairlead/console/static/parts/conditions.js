/** Conditions on an axis of time: since when each is as it is. */

import { h, svg } from "../core/dom.js";
import { toneOf } from "../core/states.js";
import { age, clock, presentTime } from "../core/time.js";
import { ago } from "./steady.js";

const WIDTH = 240; // of the axis, in its own units
const HEIGHT = 16;
const EDGE = 6;
const RECENT = 1_000; // milliseconds; what is older is not now
const TICKS = [10, 60, 600, 3_600, 36_000, 86_400, 864_000, 8_640_000]; // seconds

/**
 * Far moments are drawn closer together than near ones.
 * @param {any[]} conditions
 * @param {string} created the beginning of the axis
 * @param {number} [now] in milliseconds
 */
export function timeline(conditions, created, now = presentTime()) {
  const moments = [created, ...conditions.map((one) => one.lastTransitionTime)];
  const oldest = Math.max(10, ...moments.map((one) => secondsTo(one, now)).filter(Number.isFinite));
  /** @param {number} seconds ago */
  const across = (seconds) =>
    EDGE + (WIDTH - 2 * EDGE) * (1 - Math.log1p(seconds) / Math.log1p(oldest));
  const isThen = Date.now() - now > RECENT;
  const ticks = TICKS.filter((one) => one < oldest / 2);
  const ordered = [...conditions].sort(
    (a, b) => secondsTo(b.lastTransitionTime, now) - secondsTo(a.lastTransitionTime, now),
  );
  return h(
    "table",
    { class: "plain conditions" },
    h(
      "thead",
      {},
      h(
        "tr",
        {},
        ["Condition", "Status", axis(ticks, oldest, across, isThen), "For", "Why"].map((one) =>
          h("th", { scope: "col" }, one),
        ),
      ),
    ),
    h(
      "tbody",
      {},
      ordered.map((one) => row(one, ticks, across, now)),
    ),
  );
}

/**
 * @param {any} condition
 * @param {number[]} ticks
 * @param {(seconds: number) => number} across
 * @param {number} now
 */
function row(condition, ticks, across, now) {
  const { type, status, reason, message, lastTransitionTime } = condition;
  const tone = toneOf(condition);
  const seconds = secondsTo(lastTransitionTime, now);
  const x = across(seconds);
  const middle = HEIGHT / 2;
  return h(
    "tr",
    { class: `on-${tone || "none"}` },
    h("th", { scope: "row" }, String(type ?? "")),
    h(
      "td",
      { class: tone },
      { good: "✓ ", warn: "? ", bad: "✗ ", "": "" }[tone],
      String(status ?? ""),
    ),
    h(
      "td",
      {},
      svg(
        "svg",
        { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, "aria-hidden": "true" },
        ticks.map((one) => svg("path", { class: "tick", d: `M${across(one)} 0V${HEIGHT}` })),
        Number.isFinite(seconds) && [
          svg("path", { class: "lasting", d: `M${x} ${middle}H${WIDTH}` }),
          svg("circle", { cx: x, cy: middle, r: 4 }, svg("title", {}, clock(lastTransitionTime))),
        ],
      ),
    ),
    h("td", {}, ago(lastTransitionTime)),
    h("td", { class: "wrap" }, [reason, message].filter(Boolean).join(": ")),
  );
}

/**
 * @param {number[]} ticks
 * @param {number} oldest
 * @param {(seconds: number) => number} across
 * @param {boolean} isThen whether it ends in the past
 */
function axis(ticks, oldest, across, isThen) {
  /**
   * @param {number} seconds
   * @param {string} text
   * @param {string} anchor
   */
  const mark = (seconds, text, anchor) =>
    svg("text", { x: across(seconds), y: 12, "text-anchor": anchor }, text);
  /** @param {number} seconds */
  const named = (seconds) => age(new Date(0).toISOString(), seconds * 1000);
  return svg(
    "svg",
    { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": `the last ${named(oldest)}` },
    mark(oldest, named(oldest), "start"),
    ticks
      .filter((one) => across(one) > 50 && across(one) < WIDTH - 40)
      .map((one) => mark(one, named(one), "middle")),
    mark(0, isThen ? "then" : "now", "end"),
  );
}

/**
 * @param {unknown} moment
 * @param {number} now
 */
function secondsTo(moment, now) {
  return Math.max(0, (now - Date.parse(String(moment))) / 1000);
}
