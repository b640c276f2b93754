/** Autoscalers: what is measured beside what is wanted, and both over time. */

import { isAborted } from "../../core/api.js";
import { svg, h } from "../../core/dom.js";
import { pastOf, revisionOf, stateAt } from "../../core/past.js";
import { conditionReasons } from "../../core/reasons.js";
import { clock, presentTime } from "../../core/time.js";
import { plainTable } from "../../parts/bits.js";
import { nearLink } from "../../parts/links.js";
import { factTable } from "./parts.js";

/** @import {At, Section} from "./parts.js" */
/** @import {Reason} from "../../core/reasons.js" */
/** @typedef {{time: number, replicas: number, wanted: number, measured: number | null, target: number | null}} Point */

const REMEMBERED = 60; // versions that the graph begins with
const KEPT = 600; // points
const WIDTH = 600;
const HEIGHT = 80;
const LINES = /** @type {const} */ ([
  ["Replicas, and how many are wanted", "replicas", "wanted"],
  ["Measured, and what is aimed at", "measured", "target"],
]);

/** @param {At} at @returns {Reason[]} */
export function reasons({ subject }) {
  const { object } = subject;
  const found = conditionReasons(object);
  const limited = (object.status?.conditions ?? []).find(
    (/** @type {any} */ one) => one.type === "ScalingLimited" && one.status === "True",
  );
  if (limited) found.push({ tone: "warn", text: `It would go further: ${limited.message}` });
  return found;
}

/** @param {At} at @returns {Section[]} */
export function sections(at) {
  const { subject, near } = at;
  /** @type {Point[]} */
  const points = [];
  void remember(at, points);
  return [
    {
      title: "Scaling",
      look: () => about(subject.object),
      draw: ({ key, name, facts, metrics }) => [
        factTable([["Scales", nearLink(near, key, name)], ...facts]),
        plainTable("Metrics", ["Metric", "Measured", "Aimed at"], metrics),
      ],
    },
    {
      title: "Over time",
      look: () => {
        add(points, pointOf(subject.object, presentTime()));
        return points;
      },
      draw: (all) => LINES.map(([title, field, other]) => graph(title, all, field, other)),
    },
  ];
}

/** @param {any} object */
function about({ spec, status = {} }) {
  const { apiVersion = "", kind, name } = spec.scaleTargetRef;
  const group = apiVersion.includes("/") ? apiVersion.split("/")[0] : "";
  return {
    key: `${kind}.${group}`,
    name,
    facts: [
      [
        "Replicas",
        `${status.currentReplicas ?? 0} now, ${status.desiredReplicas || "unknown how many"} wanted`,
      ],
      ["Bounds", `${spec.minReplicas ?? 1} to ${spec.maxReplicas}`],
      ["Scaled last", status.lastScaleTime && clock(status.lastScaleTime)],
    ],
    metrics: (spec.metrics ?? []).map((/** @type {any} */ one, /** @type {number} */ index) => {
      const source = sourceOf(one);
      const current = sourceOf(status.currentMetrics?.[index] ?? {}).current;
      const measured = current ? valueText(current) : "not yet";
      return [source.name, measured, valueText(source.target)];
    }),
  };
}

/** @param {any} metric */
function sourceOf(metric) {
  const field = Object.keys(metric).find((one) => one !== "type") ?? "";
  const found = metric[field] ?? {};
  const name = found.name ?? found.metric?.name ?? field;
  return { name, target: found.target ?? {}, current: found.current };
}

/** @param {any} value */
function valueText({ averageUtilization, averageValue, value }) {
  if (averageUtilization !== undefined) return `${averageUtilization} %`;
  return averageValue !== undefined ? `${averageValue} each` : (value ?? "unknown");
}

/**
 * @param {any} object
 * @param {number} time
 * @returns {Point}
 */
function pointOf({ spec, status = {} }, time) {
  const { averageUtilization: target } = sourceOf(spec.metrics?.[0] ?? {}).target;
  const { averageUtilization: measured } = sourceOf(status.currentMetrics?.[0] ?? {}).current ?? {};
  const replicas = status.currentReplicas ?? 0;
  const wanted = status.desiredReplicas || replicas; // nobody wants 0: then it is not known
  return { time, replicas, wanted, measured: measured ?? null, target: target ?? null };
}

/**
 * @param {Point[]} points
 * @param {Point} point
 */
function add(points, point) {
  const last = points.at(-1);
  const { time: _, ...facts } = point;
  if (last && JSON.stringify({ ...last, time: 0 }) === JSON.stringify({ time: 0, ...facts }))
    return;
  points.push(point);
  if (points.length > KEPT) points.shift();
}

/**
 * Begin with what the history knows.
 * @param {At} at
 * @param {Point[]} points
 */
async function remember({ subject, place, near }, points) {
  try {
    const past = await pastOf(
      subject.path,
      { limit: REMEMBERED, before: near.revision ? near.revision + 1 : undefined },
      place.signal,
    );
    const old = await Promise.all(
      past.items
        .filter((one) => one.type !== "DELETED")
        .map(async (one) => {
          // The oldest ones may be let go meanwhile.
          const state = await stateAt(subject.path, revisionOf(one), place.signal).catch(
            () => null,
          );
          return state && pointOf(state, Date.parse(one.time ?? ""));
        }),
    );
    const known = old.filter((one) => one && !Number.isNaN(one.time));
    points.unshift(.../** @type {Point[]} */ (known));
    near.dispatchEvent(new Event("changed"));
  } catch (error) {
    // Without a history the graph begins now.
    if (isAborted(error)) return;
  }
}

/**
 * @param {string} title
 * @param {Point[]} points
 * @param {"replicas" | "measured"} field
 * @param {"target" | "wanted" | null} other
 */
function graph(title, points, field, other) {
  const values = points.flatMap((one) => [one[field], other && one[other]]);
  const known = values.filter((one) => typeof one === "number");
  if (!points.some((one) => one[field] !== null)) return null;
  const top = Math.max(1, ...known) * 1.1;
  const start = points[0].time;
  const end = Math.max(presentTime(), start + 1000);
  const x = (/** @type {number} */ time) => ((time - start) / (end - start)) * WIDTH;
  const y = (/** @type {number} */ value) => HEIGHT - (value / top) * HEIGHT;
  const line = (/** @type {keyof Point} */ name) =>
    points
      .filter((one) => one[name] !== null)
      .map((one, index) => {
        const [across, up] = [x(one.time), y(one[name] ?? 0)].map((n) => n.toFixed(1));
        return index ? `H${across}V${up}` : `M${across} ${up}`;
      })
      .join("") + `H${WIDTH}`;
  const last = points.at(-1);
  const now = last?.[field];
  return h(
    "figure",
    { class: "graph" },
    h("figcaption", {}, `${title}: ${now ?? "unknown"}`),
    svg(
      "svg",
      {
        ...{ viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", role: "img" },
        "aria-label": `${title}, from ${clock(new Date(start).toISOString())} until now`,
      },
      svg("path", { class: "line", d: line(field) }),
      other && svg("path", { class: "aim", d: line(other) }),
    ),
    h(
      "div",
      { class: "faint ends" },
      h("span", {}, clock(new Date(start).toISOString())),
      h("span", {}, `0 to ${Math.round(top)}`),
      h("span", {}, "now"),
    ),
  );
}
