/** Where the boxes of a picture go: in columns, each near those it is joined to. */

/** @typedef {{id: string, column: number}} Box */
/** @typedef {{from: string, to: string}} Line */
/** @typedef {{width: number, height: number, across: number, down: number}} Sizes */
/** @typedef {{x: number, y: number}} Point */

/**
 * The upper left corners of boxes; the first column and the topmost box are at zero.
 * @param {Box[]} boxes
 * @param {Line[]} lines
 * @param {Sizes} sizes of a box, and the room between two
 * @returns {Map<string, Point>}
 */
export function layout(boxes, lines, sizes) {
  /** @type {Map<string, Point>} */
  const points = new Map();
  const columns = Map.groupBy(boxes, (box) => box.column);
  // From the middle outwards: each column is placed by the ones before it.
  const order = [...columns.keys()].sort((a, b) => Math.abs(a) - Math.abs(b) || b - a);
  const left = Math.min(0, ...order);
  for (const column of order) {
    const x = (column - left) * (sizes.width + sizes.across);
    place(columns.get(column) ?? [], x, lines, points, sizes);
  }
  const top = Math.min(0, ...[...points.values()].map((point) => point.y));
  for (const point of points.values()) point.y -= top;
  return points;
}

/**
 * @param {Box[]} boxes of one column
 * @param {number} x
 * @param {Line[]} lines
 * @param {Map<string, Point>} points
 * @param {Sizes} sizes
 */
function place(boxes, x, lines, points, sizes) {
  const wanted = boxes
    .map((box) => ({ box, y: wish(box, lines, points) }))
    .sort((a, b) => a.y - b.y);
  const step = sizes.height + sizes.down;
  let y = -Infinity;
  const placed = wanted.map((one) => (y = Math.max(one.y, y + step)));
  const drift = wanted.reduce((sum, one, index) => sum + one.y - placed[index], 0) / boxes.length;
  wanted.forEach(({ box }, index) => points.set(box.id, { x, y: placed[index] + drift }));
}

/**
 * The height at which a box would be level with what it is joined to.
 * @param {Box} box
 * @param {Line[]} lines
 * @param {Map<string, Point>} points
 */
function wish(box, lines, points) {
  const heights = lines.flatMap(({ from, to }) => {
    const other = from === box.id ? to : to === box.id ? from : "";
    const point = points.get(other);
    return point ? [point.y] : [];
  });
  return heights.reduce((sum, one) => sum + one, 0) / (heights.length || 1);
}
