/** A plan as a picture: nodes that can be focused, and lines between them. Only what changed is drawn
 * again. */

import { fill, h, svg } from "../../core/dom.js";
import { objectRoute } from "../../core/paths.js";
import { curve } from "../../parts/layout.js";
import { SIGNS } from "../../parts/picture.js";
import { BOX } from "../../parts/places.js";

/** @import {Line, Node, Plan} from "../../core/strips.js" */
/** @import {Point} from "../../parts/places.js" */
/** @typedef {{element: SVGElement, shown: string, node: Node}} DrawnNode */
/** @typedef {{element: SVGPathElement, d: string, line: Line}} DrawnLine */

const NAME = 27; // characters of a name that fit in
const HEAD = 28; // of a kind and a state
const KIND = 16; // of a kind
const DOT = 6; // pixels of a member, with the room beside it
const DOTS = 28; // members in a row
const BATCH = 80; // nodes that are made between two frames
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
    }
    let fresh = 0;
    for (const [id, node] of plan.nodes) {
      if (!this.#nodes.has(id)) fresh += 1;
      if (fresh <= BATCH || this.#nodes.has(id)) this.#node(id, node, id === centre);
    }
    const isThere = (/** @type {string} */ id) => this.#nodes.has(id);
    this.#drawLines(plan.lines.filter(({ from, to }) => isThere(from) && isThere(to)));
    if (!this.#nodes.has(this.current)) this.#choose(this.#nearest(last ?? { x: 0, y: 0 }));
    if (focused && focused !== this.current) this.focus(this.current);
    if (this.#lit) this.light(this.#lit, true);
    return fresh <= BATCH;
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
    if (name) name.textContent = this.told(id);
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
   * @param {string} id
   * @param {Node} node
   * @param {boolean} isCentre
   */
  #node(id, node, isCentre) {
    const { x, y } = this.points.get(id) ?? { x: 0, y: 0 };
    const { title, name, state, isOpen, members, thing } = node;
    const tones = members.map((one) => one.state.tone || "-").join();
    const shown = JSON.stringify([x, y, title, name, state, isOpen, tones, isCentre]);
    const known = this.#nodes.get(id);
    if (known?.shown === shown) return void (known.node = node);
    const element = known?.element ?? elementOf(node);
    element.setAttribute("data-id", id);
    element.setAttribute("tabindex", id === this.current ? "0" : "-1");
    element.setAttribute("transform", `translate(${x} ${y})`);
    if (members.length) element.setAttribute("aria-expanded", String(isOpen));
    const kinds = [members.length && "strip", isCentre && "centre", this.#found.has(id) && "found"];
    const looks = ["node", `on-${state.tone || "none"}`, state.word === "missing" && "missing"];
    element.setAttribute("class", [...looks, ...kinds].filter(Boolean).join(" "));
    const where = thing.namespace && !members.length && ` in ${thing.namespace}`;
    const full = `${title} ${name}${where || ""}${state.word && `: ${state.word}`}`;
    fill(element, svg("title", {}, [full, state.why].filter(Boolean).join(". ")), inside(node));
    if (!known) this.boxes.append(element);
    this.#nodes.set(id, { element, shown, node });
  }

  /** @param {Line[]} lines */
  #drawLines(lines) {
    const before = this.#lines;
    this.#lines = new Map();
    const none = { x: 0, y: 0 };
    for (const line of lines) {
      const id = `${line.from}\n${line.to}`;
      const d = curve(this.points.get(line.from) ?? none, this.points.get(line.to) ?? none, BOX);
      const known = before.get(id);
      const element = known?.element ?? svg("path", { class: lookOf(line) });
      if (known?.d !== d) element.setAttribute("d", d);
      if (!known) this.lines.append(element);
      this.#lines.set(id, { element, d, line });
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

/**
 * A link to the object, or a button that opens a strip.
 * @param {Node} node
 */
function elementOf({ members, thing }) {
  if (members.length) return svg("g", { role: "button" });
  if (!thing.kind) return svg("g", { role: "img" });
  return svg("a", { href: objectRoute(thing.kind, thing) });
}

/** @param {Line} line */
function lookOf({ labels }) {
  return LOOKS[labels[0]] ?? "uses";
}

/** @param {Node} node */
function inside({ title, name, state, members, isOpen, thing }) {
  const lead = members.length ? (isOpen ? "▾ " : "▸ ") : "";
  const brief = title.length > KIND && thing.kind?.shortNames[0]?.toUpperCase();
  const kind = brief || short(title, KIND);
  const word = SIGNS[state.tone] + short(state.word, HEAD - kind.length);
  return [
    svg("rect", { ...BOX, rx: 4 }),
    svg("rect", { class: "tone", width: 5, height: BOX.height, rx: 2 }),
    svg("text", { class: "kind", x: 12, y: 15 }, kind),
    state.word &&
      svg("text", { class: "word", x: BOX.width - 8, y: 15, "text-anchor": "end" }, word),
    svg("text", { class: "name", x: 12, y: members.length ? 29 : 33 }, lead + short(name, NAME)),
    dots(members.slice(0, DOTS).map((one) => one.state.tone)),
  ];
}

/**
 * Members by their states, in one path a tone.
 * @param {string[]} tones
 */
function dots(tones) {
  const places = tones.map((tone, index) => ({ tone: tone || "none", x: 12 + index * DOT }));
  return [...Map.groupBy(places, (one) => one.tone)].map(([tone, own]) =>
    svg("path", { class: `dots on-${tone}`, d: own.map(({ x }) => `M${x} 34h4v4h-4z`).join("") }),
  );
}

/**
 * The middle of what is too long is left out: names differ at their ends.
 * @param {string} text
 * @param {number} length
 */
function short(text, length) {
  if (text.length <= length) return text;
  const end = Math.floor((length - 1) / 2);
  return `${text.slice(0, length - 1 - end)}…${text.slice(-end)}`;
}
