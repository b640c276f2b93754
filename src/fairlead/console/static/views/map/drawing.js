/** A plan as a picture: nodes that can be focused, and lines between them. Only what changed is drawn
 * again. */

import { fill, h, svg, visible } from "../../core/dom.js";
import { curve } from "../../parts/layout.js";
import { BOX } from "../../parts/places.js";
import { frameOf, inFull, made, textsOf, wordOf } from "./box.js";

/** @import {Line, Node, Plan} from "../../core/strips.js" */
/** @import {Point} from "../../parts/places.js" */
/** @typedef {{element: SVGElement, title: SVGElement, word: SVGElement, place: string, shape: string, state: string, node: Node}} DrawnNode */
/** @typedef {{element: SVGPathElement, from: Point, to: Point, line: Line}} DrawnLine */

const BATCH = 80; // nodes that are made or changed between two frames
const BARE = 0.4; // of the work of a node is that of one without texts
const TOLD = 8; // relations in words
const LABELS = 30; // lines that are labelled at once
/** How lines look, by what they mean; all others are of use. @type {Record<string, string>} */
const LOOKS = {
  owns: "owns",
  selects: "selects",
  protects: "selects",
  guards: "selects",
  scales: "routes",
  "routes to": "routes",
  "mirrors to": "routes",
  "is attached to": "routes",
};
/** What lines look like, in words. */
export const LEGEND = [
  ["owns", "owns"],
  ["selects", "selects"],
  ["routes", "routes, scales"],
  ["uses", "uses, is bound to"],
];

export class Drawing {
  lines = svg("g", { class: "lines" });
  labels = svg("g", { class: "labels" });
  boxes = svg("g", { class: "nodes" });
  world = svg("svg", {}, this.lines, this.labels, this.boxes);
  /** @type {Map<string, DrawnNode>} */
  #nodes = new Map();
  /** Nodes without their texts, which could not be read when they were drawn. @type {Set<string>} */
  #bare = new Set();
  /** @type {Map<string, DrawnLine>} */
  #lines = new Map();
  /** @type {Map<string, Point>} */
  points = new Map();
  /** What is hovered or focused. */
  #lit = "";
  /** The only node that Tab goes to. */
  current = "";
  /** @type {Set<string>} */
  #found = new Set();

  /** @param {string} label */
  constructor(label) {
    const about = { class: "map", role: "group", "aria-label": label };
    this.picture = h("div", about, this.world);
    this.picture.addEventListener("pointerover", (event) => this.light(idOf(event.target)));
    this.picture.addEventListener("pointerleave", () => this.light(""));
    this.picture.addEventListener("focusin", (event) => {
      const id = idOf(event.target);
      if (id) this.#focused(id);
    });
    this.picture.addEventListener("focusout", () => this.light(""));
  }

  /**
   * @param {Plan} plan
   * @param {Map<string, Point>} points
   * @param {string} centre a node that the map is about, if there is one
   * @returns {boolean} whether it is all there; too many at once would take too long
   */
  show(plan, points, centre) {
    const focused = this.hasFocus ? this.current : "";
    const last = this.points.get(focused);
    this.points = points;
    for (const [id, { element }] of this.#nodes) {
      if (plan.nodes.has(id)) continue;
      element.remove();
      this.#nodes.delete(id);
      this.#bare.delete(id);
    }
    let left = BATCH;
    let isWhole = true;
    for (const [id, node] of plan.nodes) {
      if (left > 0) left -= this.#node(id, node, id === centre);
      else isWhole = isWhole && this.#isDrawn(id, node, id === centre);
    }
    if (isWhole) for (const id of [...this.#bare].slice(0, left)) this.#addTexts(id);
    const isThere = (/** @type {string} */ id) => this.#nodes.has(id);
    this.#drawLines(plan.lines.filter(({ from, to }) => isThere(from) && isThere(to)));
    if (!this.#nodes.has(this.current)) this.#choose(this.#nearest(last ?? { x: 0, y: 0 }));
    if (focused && focused !== this.current) this.focus(this.current);
    if (this.#lit) this.light(this.#lit, true);
    return isWhole && !this.#bare.size;
  }

  get hasFocus() {
    return this.picture.contains(document.activeElement);
  }

  /** @param {string} id */
  node(id) {
    return this.#nodes.get(id)?.node;
  }

  /** @param {string} id */
  focus(id) {
    this.#nodes.get(id)?.element.focus({ preventScroll: true });
  }

  /**
   * Mark what was searched.
   * @param {Set<string>} found ids
   */
  mark(found) {
    for (const id of this.#found) this.#nodes.get(id)?.element.classList.remove("found");
    for (const id of found) this.#nodes.get(id)?.element.classList.add("found");
    this.#found = found;
    this.picture.classList.toggle("seeking", found.size > 0);
  }

  /**
   * Where an arrow key leads: along lines to the sides, else to the next one in the same column.
   * @param {string} key
   * @returns {string | undefined}
   */
  toward(key) {
    const here = this.points.get(this.current);
    if (!here) return undefined;
    const side = { ArrowRight: "to", ArrowLeft: "from" }[key];
    const sign = key === "ArrowUp" ? -1 : 1;
    const candidates = side
      ? this.#joined(this.current)
          .filter((one) => one.side === side)
          .map((one) => one.id)
      : [...this.points]
          .filter(([, { x, y }]) => x === here.x && (y - here.y) * sign > 0)
          .map(([id]) => id);
    const far = (/** @type {string} */ id) => {
      const { x, y } = this.points.get(id) ?? here;
      return Math.abs(y - here.y) + Math.abs(x - here.x) / 1000;
    };
    return candidates.sort((a, b) => far(a) - far(b))[0];
  }

  /**
   * Have a node stand out with what it is joined to.
   * @param {string} id none if empty
   * @param {boolean} [isAgain] what is joined may be another
   */
  light(id, isAgain) {
    if (id === this.#lit && !isAgain) return;
    for (const one of this.world.querySelectorAll(".near")) one.classList.remove("near");
    this.#lit = id;
    this.picture.classList.toggle("lit", id !== "");
    if (!id) return fill(this.labels);
    const joined = this.#joined(id);
    for (const { id: other, drawn } of joined) {
      drawn.element.classList.add("near");
      this.#nodes.get(other)?.element.classList.add("near");
    }
    this.#nodes.get(id)?.element.classList.add("near");
    fill(
      this.labels,
      joined.slice(0, LABELS).map(({ drawn }) => this.#label(drawn.line)),
    );
  }

  /** What a node is and what it is joined to, in words. @param {string} id */
  told(id) {
    const node = this.#nodes.get(id)?.node;
    if (!node) return "";
    const joined = this.#joined(id).sort((a, b) => a.side.localeCompare(b.side));
    const relations = joined.map(({ id: other, side, drawn: { line } }) => {
      const { title = "", name = "" } = this.#nodes.get(other)?.node ?? {};
      const does = line.labels.join(" and ");
      return side === "to" ? `${does} ${title} ${name}` : `${title} ${name} ${does} it`;
    });
    const more = relations.length - TOLD;
    return [
      `${node.title} ${node.name}${node.state.word && `, ${node.state.word}`}`,
      ...relations.slice(0, TOLD),
      more > 0 && `and ${more} more`,
    ]
      .filter(Boolean)
      .join("; ");
  }

  /** @param {string} id */
  #joined(id) {
    return [...this.#lines.values()].flatMap((drawn) => {
      const { from, to } = drawn.line;
      if (from === id) return [{ id: to, side: "to", drawn }];
      return to === id ? [{ id: from, side: "from", drawn }] : [];
    });
  }

  /** @param {string} id */
  #focused(id) {
    this.#choose(id);
    const name = this.#nodes.get(id)?.element.firstChild; // its title, which is read out
    if (name) name.textContent = visible(this.told(id));
    this.light(id);
  }

  /** @param {string} id */
  #choose(id) {
    this.#nodes.get(this.current)?.element.setAttribute("tabindex", "-1");
    this.current = id;
    this.#nodes.get(id)?.element.setAttribute("tabindex", "0");
  }

  /** @param {Point} point */
  #nearest({ x, y }) {
    const far = (/** @type {Point} */ one) => Math.hypot(one.x - x, one.y - y);
    const all = [...this.points].filter(([id]) => this.#nodes.has(id));
    return all.sort(([, a], [, b]) => far(a) - far(b))[0]?.[0] ?? "";
  }

  /**
   * What decides how a node looks: where it is, what it is and how it is.
   * @param {string} id
   * @param {Node} node
   * @param {boolean} isCentre
   */
  #looks(id, { title, name, isOpen, members, state }, isCentre) {
    const { x, y } = this.points.get(id) ?? { x: 0, y: 0 };
    const tones = members.map((one) => one.state.tone || "-").join();
    return {
      place: `translate(${x} ${y})`,
      shape: JSON.stringify([title, name, isOpen, tones, isCentre]),
      state: JSON.stringify(state),
    };
  }

  /**
   * Whether a node is in the picture as it is.
   * @param {string} id
   * @param {Node} node
   * @param {boolean} isCentre
   */
  #isDrawn(id, node, isCentre) {
    const { place, shape, state } = this.#looks(id, node, isCentre);
    const known = this.#nodes.get(id);
    return known?.place === place && known.shape === shape && known.state === state;
  }

  /**
   * Draw a node, or what changed of it.
   * @param {string} id
   * @param {Node} node
   * @param {boolean} isCentre
   * @returns {number} how much work that was, in nodes
   */
  #node(id, node, isCentre) {
    const looks = this.#looks(id, node, isCentre);
    const before = this.#nodes.get(id);
    const drawn = before ?? { ...made(id, node), place: "", shape: "", state: "", node };
    const { element, title, word } = drawn;
    const isShaped = drawn.shape !== looks.shape;
    const isChanged = isShaped || drawn.state !== looks.state;
    const isMoved = drawn.place !== looks.place;
    Object.assign(drawn, looks, { node });
    if (isMoved) element.setAttribute("transform", looks.place);
    if (isChanged) {
      element.setAttribute("class", this.#classOf(id, node, isCentre));
      title.textContent = visible(inFull(node));
      word.textContent = visible(wordOf(node));
    }
    if (isShaped) {
      element.setAttribute("tabindex", id === this.current ? "0" : "-1");
      if (node.members.length) element.setAttribute("aria-expanded", String(node.isOpen));
      const isBare = before ? this.#bare.has(id) : this.picture.classList.contains("tiny");
      if (isBare) this.#bare.add(id);
      fill(element, title, frameOf(node), !isBare && [textsOf(node), word]);
    }
    if (!before) this.boxes.append(element);
    this.#nodes.set(id, drawn);
    return isMoved || isChanged ? (this.#bare.has(id) ? BARE : 1) : 0;
  }

  /** @param {string} id of a bare node */
  #addTexts(id) {
    const { element, node, word } = /** @type {DrawnNode} */ (this.#nodes.get(id));
    element.append(...textsOf(node), word);
    this.#bare.delete(id);
  }

  /**
   * @param {string} id
   * @param {Node} node
   * @param {boolean} isCentre
   */
  #classOf(id, { state, members }, isCentre) {
    const kinds = [members.length && "strip", isCentre && "centre", this.#found.has(id) && "found"];
    const near = this.#nodes.get(id)?.element.classList.contains("near") && "near";
    const looks = ["node", `on-${state.tone || "none"}`, state.word === "missing" && "missing"];
    return [...looks, ...kinds, near].filter(Boolean).join(" ");
  }

  /** @param {Line[]} lines */
  #drawLines(lines) {
    const before = this.#lines;
    this.#lines = new Map();
    const none = { x: 0, y: 0 };
    for (const line of lines) {
      const id = `${line.from}\n${line.to}`;
      const from = this.points.get(line.from) ?? none;
      const to = this.points.get(line.to) ?? none;
      const known = before.get(id);
      const element = known?.element ?? svg("path", { class: lookOf(line) });
      if (known?.from !== from || known.to !== to) element.setAttribute("d", curve(from, to, BOX));
      if (!known) this.lines.append(element);
      this.#lines.set(id, { element, from, to, line });
      before.delete(id);
    }
    for (const { element } of before.values()) element.remove();
  }

  /** @param {Line} line */
  #label({ from, to, labels }) {
    const [a, b] = [from, to].map((id) => this.points.get(id) ?? { x: 0, y: 0 });
    const x = (a.x + b.x + BOX.width) / 2;
    const y = (a.y + b.y + BOX.height) / 2 - 3;
    return svg("text", { x, y, "text-anchor": "middle" }, labels.join(", "));
  }
}

/** @param {EventTarget | null} target */
export function idOf(target) {
  return target instanceof Element
    ? (target.closest("[data-id]")?.getAttribute("data-id") ?? "")
    : "";
}

/** @param {Line} line */
function lookOf({ labels }) {
  return LOOKS[labels[0]] ?? "uses";
}
