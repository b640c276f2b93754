/** In which layer of a map the objects of a kind go: after all kinds whose objects refer to them. */

/** @typedef {{from: string, to: string}} Arrow */

/**
 * Layers from zero. What refers to others is as near to them as can be; circles are cut where they
 * are found, always in the same place.
 * @param {string[]} kinds
 * @param {Arrow[]} arrows between kinds
 * @returns {Map<string, number>}
 */
export function layersOf(kinds, arrows) {
  const after = neighbours(kinds, arrows);
  const sorted = inOrder(after, new Set(arrows.map(({ to }) => to)));
  const ranks = new Map(sorted.map((kind, index) => [kind, index]));
  const rank = (/** @type {string} */ kind) => ranks.get(kind) ?? 0;
  const forward = (/** @type {string} */ kind) =>
    [...(after.get(kind) ?? [])].filter((other) => rank(other) > rank(kind));
  const layers = new Map(sorted.map((kind) => [kind, 0]));
  const layer = (/** @type {string} */ kind) => layers.get(kind) ?? 0;
  for (const kind of sorted)
    for (const other of forward(kind)) layers.set(other, Math.max(layer(other), layer(kind) + 1));
  for (const kind of sorted.toReversed()) {
    const next = forward(kind).map(layer);
    if (next.length) layers.set(kind, Math.min(...next) - 1);
  }
  return layers;
}

/**
 * @param {string[]} kinds
 * @param {Arrow[]} arrows
 * @returns {Map<string, Set<string>>}
 */
function neighbours(kinds, arrows) {
  const found = new Map(kinds.toSorted().map((kind) => [kind, new Set()]));
  for (const { from, to } of arrows) if (from !== to) found.get(from)?.add(to);
  return found;
}

/**
 * Each before those that it refers to, as far as there are no circles.
 * @param {Map<string, Set<string>>} after
 * @param {Set<string>} targets
 */
function inOrder(after, targets) {
  /** @type {string[]} */
  const done = [];
  const seen = new Set();
  const visit = (/** @type {string} */ kind) => {
    if (seen.has(kind)) return;
    seen.add(kind);
    for (const other of [...(after.get(kind) ?? [])].sort()) visit(other);
    done.unshift(kind);
  };
  // Circles are entered last, by those that something outside refers to, or by name.
  const kinds = [...after.keys()];
  for (const kind of kinds) if (!targets.has(kind)) visit(kind);
  for (const kind of kinds) visit(kind);
  return done;
}
