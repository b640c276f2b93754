/** Where the nodes of a map are. What is there keeps its place while others come and go; what is not
 * connected is in blocks of its kind. */

import { layout } from "./layout.js";
import { layersOf } from "../core/layers.js";

/** @import {Arrow} from "../core/layers.js" */
/** @typedef {{x: number, y: number}} Point */
/** Those of a low rank come first. @typedef {{id: string, title: string, rank: number}} Placed */
/** @typedef {{group: Group, layer: number, y: number}} Spot */
/** Nodes that are placed together. @typedef {{start: number, y: number, height: number, isLoose: boolean}} Group */
/** @typedef {{members: Placed[], isLoose: boolean, title: string}} Part */

export const BOX = { width: 190, height: 42 };
const STEP = { x: BOX.width + 62, y: BOX.height + 12 };
const ROOM = 30; // between two groups
const DEEP = 8; // rows of a block of loose nodes before it becomes wider
const WIDEST = 8; // columns of such a block
const MOST = 60; // columns that are tried

const order = new Intl.Collator(undefined, { numeric: true }).compare;

export class Places {
  /** @type {Map<string, Spot>} */
  #spots = new Map();
  /** In the order in which they were placed. @type {Group[]} */
  #groups = [];
  #columns = 0;
  #known = "";
  /** @type {Map<string, Point>} */
  #points = new Map();

  /** Forget where things were. */
  reset() {
    this.#spots.clear();
    this.#groups = [];
    this.#known = "";
  }

  /**
   * The upper left corners of nodes.
   * @param {Placed[]} nodes
   * @param {Arrow[]} lines
   * @param {number} aspect how much wider than high the map should be at first
   * @returns {Map<string, Point>} the same one as before where nothing came or went
   */
  arrange(nodes, lines, aspect) {
    const known = [nodes.map(({ id }) => id), lines.map(({ from, to }) => `${from}>${to}`)].join();
    if (known === this.#known) return this.#points;
    this.#known = known;
    const titles = new Map(nodes.map((one) => [one.id, one.title]));
    const between = lines.map(({ from, to }) => ({
      from: titles.get(from) ?? "",
      to: titles.get(to) ?? "",
    }));
    const layers = layersOf([...new Set(titles.values())], between);
    const before = this.#spots;
    this.#spots = new Map();
    /** @type {Group[]} */
    const fresh = [];
    for (const part of partsOf(nodes, lines)) {
      const group = this.#groupOf(part, before);
      if (!group.height) fresh.push(group);
      if (part.isLoose) this.#placeLoose(part, group, before);
      else this.#placeJoined(part, lines, layers, group, before);
    }
    this.#pack(fresh, aspect);
    return this.#points;
  }

  /**
   * The group to which most members belong already, or a new one.
   * @param {Part} part
   * @param {Map<string, Spot>} before
   * @returns {Group}
   */
  #groupOf({ members, isLoose }, before) {
    const taken = new Set([...this.#spots.values()].map((spot) => spot.group));
    /** @type {Map<Group, number>} */
    const counts = new Map();
    for (const { id } of members) {
      const group = before.get(id)?.group;
      if (group && group.isLoose === isLoose && !taken.has(group))
        counts.set(group, (counts.get(group) ?? 0) + 1);
    }
    const [most] = [...counts].sort(([, a], [, b]) => b - a);
    return most?.[0] ?? { start: -1, y: 0, height: 0, isLoose };
  }

  /**
   * @param {Part} part
   * @param {Group} group
   * @param {Map<string, Spot>} before
   */
  #placeLoose({ members }, group, before) {
    const width = Math.max(1, Math.min(WIDEST, Math.ceil(members.length / DEEP)));
    const taken = new Set();
    const fresh = [];
    for (const { id } of members) {
      const spot = before.get(id);
      if (spot?.group !== group) fresh.push(id);
      else {
        this.#spots.set(id, spot);
        taken.add(`${spot.layer} ${spot.y}`);
      }
    }
    let cell = 0;
    const at = () => ({ layer: cell % width, y: Math.floor(cell / width) * STEP.y });
    for (const id of fresh) {
      while (taken.has(`${at().layer} ${at().y}`)) cell += 1;
      this.#spots.set(id, { group, ...at() });
      taken.add(`${at().layer} ${at().y}`);
    }
    this.#measure(members, group);
  }

  /**
   * @param {Part} part
   * @param {Arrow[]} lines
   * @param {Map<string, number>} layers
   * @param {Group} group
   * @param {Map<string, Spot>} before
   */
  #placeJoined({ members }, lines, layers, group, before) {
    const own = new Set(members.map((one) => one.id));
    const inside = lines.filter(({ from }) => own.has(from));
    const layer = (/** @type {Placed} */ { title }) => layers.get(title) ?? 0;
    if (!group.height) {
      for (const [id, y] of firstHeights(members, inside, layer))
        this.#spots.set(id, { group, layer: 0, y });
      for (const one of members) this.#spot(one.id).layer = layer(one);
      return this.#measure(members, group);
    }
    const kept = members.filter((one) => before.get(one.id)?.group === group);
    const fresh = members.filter((one) => before.get(one.id)?.group !== group);
    /** @type {Map<number, number[]>} */
    const taken = new Map();
    const put = (/** @type {Placed} */ one, /** @type {number} */ wish) => {
      const heights = taken.get(layer(one)) ?? [];
      const y = nearestFree(heights, wish);
      taken.set(layer(one), [...heights, y]);
      this.#spots.set(one.id, { group, layer: layer(one), y });
    };
    for (const one of kept) put(one, before.get(one.id)?.y ?? 0);
    for (const one of fresh) {
      const joined = inside.flatMap(({ from, to }) => {
        const other = from === one.id ? to : to === one.id ? from : "";
        return this.#spots.get(other)?.y ?? [];
      });
      put(one, joined.reduce((sum, y) => sum + y, 0) / (joined.length || 1));
    }
    this.#measure(members, group);
  }

  /**
   * @param {Placed[]} members
   * @param {Group} group
   */
  #measure(members, group) {
    const lowest = Math.max(...members.map(({ id }) => this.#spot(id).y));
    group.height = Math.max(group.height, lowest + STEP.y + ROOM);
  }

  /** @param {string} id */
  #spot(id) {
    return /** @type {Spot} */ (this.#spots.get(id));
  }

  /**
   * Put groups beside and below each other: those that are there only move down, and only if what
   * is above them has grown.
   * @param {Group[]} fresh
   * @param {number} aspect
   */
  #pack(fresh, aspect) {
    const spots = Map.groupBy(this.#spots, ([, spot]) => spot.group);
    /** @type {Map<Group, number[]>} */
    const layers = new Map();
    for (const [group, own] of spots)
      layers.set(
        group,
        [...new Set(own.map(([, spot]) => spot.layer))].sort((a, b) => a - b),
      );
    const width = (/** @type {Group} */ group) => layers.get(group)?.length ?? 0;
    this.#groups = this.#groups.filter((group) => spots.has(group));
    if (!this.#groups.length) this.#columns = columnsFor(fresh, width, aspect);
    this.#groups.push(...fresh);
    /** @type {number[]} */
    const heights = Array(this.#columns).fill(0);
    for (const group of this.#groups) {
      if (group.start < 0) group.start = lowestStart(heights, width(group));
      stack(heights, group, width(group));
    }
    this.#points = new Map();
    for (const [id, { group, layer, y }] of this.#spots) {
      const column = group.start + (layers.get(group)?.indexOf(layer) ?? 0);
      this.#points.set(id, { x: column * STEP.x, y: group.y + y });
    }
  }
}

/**
 * What is connected, the worst first; then what is not, by kind.
 * @param {Placed[]} nodes
 * @param {Arrow[]} lines
 * @returns {Part[]}
 */
function partsOf(nodes, lines) {
  const heads = new Map(nodes.map((one) => [one.id, one.id]));
  const head = (/** @type {string} */ id) => {
    let at = id;
    for (let next = heads.get(at); next && next !== at; next = heads.get(at)) at = next;
    heads.set(id, at);
    return at;
  };
  for (const { from, to } of lines) heads.set(head(from), head(to));
  const joined = new Set(lines.flatMap(({ from, to }) => [from, to]));
  const groups = Map.groupBy(nodes, ({ id, title }) => (joined.has(id) ? head(id) : `${title}\n`));
  const worst = (/** @type {Part} */ { members }) => Math.min(...members.map((one) => one.rank));
  return [...groups.values()]
    .map((members) => {
      const sorted = members.toSorted(
        (a, b) => order(a.title, b.title) || a.rank - b.rank || order(a.id, b.id),
      );
      return { members: sorted, isLoose: !joined.has(members[0].id), title: members[0].title };
    })
    .sort(
      (a, b) =>
        Number(a.isLoose) - Number(b.isLoose) ||
        worst(a) - worst(b) ||
        b.members.length - a.members.length ||
        order(a.members[0].id, b.members[0].id),
    );
}

/**
 * Heights at which each is near those it is joined to, from the layer with the most nodes outwards.
 * @param {Placed[]} members
 * @param {Arrow[]} lines
 * @param {(one: Placed) => number} layer
 * @returns {Map<string, number>}
 */
function firstHeights(members, lines, layer) {
  const owner = new Map(lines.map(({ from, to }) => [to, from]));
  const ordered = members.toSorted((a, b) => order(owner.get(a.id) ?? "", owner.get(b.id) ?? ""));
  const columns = [...Map.groupBy(ordered, layer)].sort(
    ([a, first], [b, second]) => second.length - first.length || a - b,
  );
  const boxes = ordered.map((one) => ({ id: one.id, column: layer(one) - columns[0][0] }));
  const sizes = { ...BOX, across: STEP.x - BOX.width, down: STEP.y - BOX.height };
  const points = layout(boxes, lines, sizes);
  return new Map([...points].map(([id, { y }]) => [id, Math.round(y)]));
}

/**
 * The height that is nearest to the wished one and has room for a node.
 * @param {number[]} taken
 * @param {number} wish
 */
function nearestFree(taken, wish) {
  const isFree = (/** @type {number} */ y) =>
    y >= 0 && taken.every((other) => Math.abs(other - y) >= STEP.y);
  const first = Math.max(0, Math.round(wish));
  if (isFree(first)) return first;
  const free = taken.flatMap((y) => [y - STEP.y, y + STEP.y]).filter(isFree);
  return free.reduce((best, y) => (Math.abs(y - first) < Math.abs(best - first) ? y : best));
}

/**
 * With how many columns a map is seen largest in a frame of a shape.
 * @param {Group[]} groups
 * @param {(group: Group) => number} width
 * @param {number} aspect
 */
function columnsFor(groups, width, aspect) {
  const least = Math.max(1, ...groups.map(width));
  let best = least;
  let largest = 0;
  for (let columns = least; columns < least + MOST; columns++) {
    /** @type {number[]} */
    const heights = Array(columns).fill(0);
    for (const group of groups)
      stack(heights, { ...group, start: lowestStart(heights, width(group)) }, width(group));
    const scale = Math.min(aspect / (columns * STEP.x), 1 / Math.max(...heights));
    if (scale > largest) [best, largest] = [columns, scale];
    else if (aspect / (columns * STEP.x) < largest) break; // wider ones are only smaller
  }
  return best;
}

/**
 * @param {number[]} heights of columns by now
 * @param {Group} group
 * @param {number} width in columns
 */
function stack(heights, group, width) {
  const end = group.start + width;
  while (heights.length < end) heights.push(0);
  group.y = Math.max(group.y, ...heights.slice(group.start, end));
  heights.fill(group.y + group.height, group.start, end);
}

/**
 * The first of the columns in which a group is highest.
 * @param {number[]} heights of columns by now
 * @param {number} width in columns
 */
function lowestStart(heights, width) {
  let best = 0;
  let lowest = Infinity;
  for (let start = 0; start + width <= Math.max(heights.length, width); start++) {
    const y = Math.max(0, ...heights.slice(start, start + width));
    if (y < lowest) [best, lowest] = [start, y];
  }
  return best;
}
