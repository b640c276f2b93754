/** Objects as boxes and their relations as lines. The boxes are a list of links, too, which tells in
 * words what the lines show. */

import { h, svg } from "../core/dom.js";
import { kindRoute, objectRoute } from "../core/paths.js";
import { curve, layout } from "./layout.js";

/** @import {Edge} from "../core/relations.js" */
/** @import {Spot, Surroundings} from "../core/surroundings.js" */
/** @import {Point} from "./layout.js" */

const SIZES = { width: 176, height: 56, across: 104, down: 12 }; // as in style.css
const TOLD = 5; // relations of a box in words
export const SIGNS = { good: "✓ ", warn: "! ", bad: "✗ ", "": "" };

/**
 * @param {Surroundings} shown
 * @param {string} title of the object in the middle
 */
export function picture({ spots, edges }, title) {
  const points = layout(spots, edges, SIZES);
  const titles = new Map(spots.map((spot) => [spot.id, titleOf(spot)]));
  const far = [...points.values()];
  const width = Math.max(...far.map((point) => point.x)) + SIZES.width;
  const height = Math.max(...far.map((point) => point.y)) + SIZES.height;
  const ordered = [...spots].sort(
    (a, b) => a.column - b.column || at(points, a.id).y - at(points, b.id).y,
  );
  return h(
    "div",
    { class: "picture", style: { width: `${width}px`, height: `${height}px` } },
    svg(
      "svg",
      { width, height, role: "img", "aria-label": `What is around ${title}` },
      edges.map((edge) =>
        svg("path", { d: curve(at(points, edge.from), at(points, edge.to), SIZES) }),
      ),
      spots.map((spot) => label(spot, edges, at(points, spot.id))),
    ),
    h(
      "ul",
      { class: "links", "aria-label": "Related objects" },
      ordered.map((spot) => box(spot, edges, titles, at(points, spot.id))),
    ),
  );
}

/** @param {Spot} spot */
export function titleOf({ thing, more }) {
  if (more) return `${more.count} more of ${more.title}`;
  return `${thing?.title} ${thing?.name}`;
}

/**
 * @param {Map<string, Point>} points
 * @param {string} id
 */
function at(points, id) {
  return points.get(id) ?? { x: 0, y: 0 };
}

/**
 * What the lines of a box mean, beside it, on the side of the middle.
 * @param {Spot} spot
 * @param {Edge[]} edges
 * @param {Point} point
 */
function label(spot, edges, point) {
  if (!spot.column) return null;
  const isAfter = spot.column > 0;
  const own = edges.filter((edge) => (isAfter ? edge.to : edge.from) === spot.id);
  const text = [...new Set(own.map((edge) => edge.label))].join(", ");
  const x = isAfter ? point.x - 8 : point.x + SIZES.width + 6;
  return svg(
    "text",
    { x, y: point.y + SIZES.height / 2 - 5, "text-anchor": isAfter ? "end" : "start" },
    text,
  );
}

/**
 * @param {Spot} spot
 * @param {Edge[]} edges
 * @param {Map<string, string>} titles
 * @param {Point} point
 */
function box(spot, edges, titles, point) {
  const { thing, more } = spot;
  const state = thing?.state;
  const of = more?.thing ?? thing;
  const told = edges.flatMap(({ from, to, label: does }) => {
    if (from === spot.id) return [`${does} ${titles.get(to)}`];
    return to === spot.id ? [`${titles.get(from)} ${does} it`] : [];
  });
  const content = [
    h("small", {}, of?.title),
    h("span", { class: "name" }, more ? `and ${more.count} more` : thing?.name),
    h("small", { class: state?.tone }, state && SIGNS[state.tone], state?.word),
    h(
      "span",
      { class: "unseen" },
      told.slice(0, TOLD).join("; "),
      told.length > TOLD && "; and more",
    ),
  ];
  const href = of?.kind && (more ? kindRoute(of.kind) : objectRoute(of.kind, of, "related"));
  const properties = {
    class: `box ${spot.column ? "" : "middle"} ${state?.word === "missing" ? "missing" : ""}`,
    title: [titleOf(spot), thing?.namespace && `in ${thing.namespace}`, state?.why]
      .filter(Boolean)
      .join(" "),
  };
  return h(
    "li",
    { style: { left: `${point.x}px`, top: `${point.y}px` } },
    href ? h("a", { ...properties, href }, content) : h("span", properties, content),
  );
}
