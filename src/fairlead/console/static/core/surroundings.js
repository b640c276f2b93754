/** The part of a world that is worth drawing: what leads to one object, and what it leads to. */

/** @import {Edge, Thing} from "./relations.js" */
/**
 * Columns are left of zero for what leads to the object, and right for what it leads to.
 * @typedef {{id: string, column: number, thing?: Thing, more?: {title: string, count: number, thing: Thing}}} Spot
 */
/** @typedef {{spots: Spot[], edges: Edge[]}} Surroundings */

const FAN = 6; // of one kind, from one object; the others are folded
const DEEPEST = 6; // columns to each side
const STEPS = 2; // that are not ownership
const MAX_SPOTS = 80; // spots

/**
 * @param {Map<string, Thing>} things
 * @param {Edge[]} edges
 * @param {string} centre
 * @returns {Surroundings}
 */
export function surroundings(things, edges, centre) {
  /** @type {Map<string, Spot>} */
  const spots = new Map([[centre, { id: centre, column: 0, thing: things.get(centre) }]]);
  const drawn = [
    ...walk(things, edges, centre, 1, spots),
    ...walk(things, edges, centre, -1, spots),
  ];
  push(spots, drawn);
  return { spots: [...spots.values()], edges: [...new Set(drawn)] };
}

/**
 * @param {Map<string, Thing>} things
 * @param {Edge[]} edges
 * @param {string} centre
 * @param {1 | -1} side
 * @param {Map<string, Spot>} spots
 * @returns {Edge[]} those that were followed
 */
function walk(things, edges, centre, side, spots) {
  const [near, far] =
    side > 0 ? /** @type {const} */ (["from", "to"]) : /** @type {const} */ (["to", "from"]);
  const leaving = Map.groupBy(edges, (edge) => edge[near]);
  /** @type {Edge[]} */
  const followed = [];
  let level = [{ id: centre, steps: 0 }];
  const opened = new Set([centre]);
  for (let column = side; level.length && Math.abs(column) <= DEEPEST; column += side) {
    const next = [];
    for (const { id, steps } of level) {
      for (const fan of Map.groupBy(leaving.get(id) ?? [], fanOf).values()) {
        const costs = steps + Number(fan[0].label !== "owns");
        if (costs > STEPS) continue;
        const { shown, folded } = split(fan, far, spots);
        for (const edge of shown) {
          followed.push(edge);
          const other = edge[far];
          if (!spots.has(other)) spots.set(other, { id: other, column, thing: things.get(other) });
          if (opened.has(other)) continue;
          opened.add(other);
          next.push({ id: other, steps: costs });
        }
        if (folded.length) {
          const spot = fold(things, folded, far, column);
          spots.set(spot.id, spot);
          followed.push({ ...folded[0], [far]: spot.id });
        }
      }
    }
    level = next;
  }
  return followed;

  /** @param {Edge} edge */
  function fanOf(edge) {
    return `${edge.label} ${things.get(edge[far])?.title}`;
  }
}

/**
 * @param {Edge[]} fan
 * @param {"from" | "to"} far
 * @param {Map<string, Spot>} spots
 */
function split(fan, far, spots) {
  const known = fan.filter((edge) => spots.has(edge[far]));
  const fresh = fan.filter((edge) => !spots.has(edge[far]));
  const room = spots.size >= MAX_SPOTS ? 0 : FAN;
  if (fresh.length <= room) return { shown: fan, folded: [] };
  const kept = Math.max(0, room - 1);
  return { shown: [...known, ...fresh.slice(0, kept)], folded: fresh.slice(kept) };
}

/**
 * @param {Map<string, Thing>} things
 * @param {Edge[]} folded
 * @param {"from" | "to"} far
 * @param {number} column
 * @returns {Spot}
 */
function fold(things, folded, far, column) {
  const thing = /** @type {Thing} */ (things.get(folded[0][far]));
  const id = `more ${folded[0].from} ${folded[0].to} ${folded[0].label}`;
  return { id, column, more: { title: thing.title, count: folded.length, thing } };
}

/**
 * Move spots away from the middle until what leads to another is on the near side of it.
 * @param {Map<string, Spot>} spots
 * @param {Edge[]} edges
 */
function push(spots, edges) {
  for (let round = 0; round < DEEPEST; round++) {
    for (const { from, to } of edges) {
      const [a, b] = [spots.get(from), spots.get(to)];
      if (!a || !b || a === b) continue;
      if (b.column > 0 && a.column >= 0 && b.column <= a.column && a.column < DEEPEST)
        b.column = a.column + 1;
      else if (a.column < 0 && b.column <= 0 && a.column >= b.column && b.column > -DEEPEST)
        a.column = b.column - 1;
    }
  }
}
