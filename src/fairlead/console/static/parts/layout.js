/** Where the boxes of a picture go: in columns, each near those it is joined to; and the lines. */

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
  /** @type {Map<string, string[]>} */
  const joined = new Map(boxes.map((box) => [box.id, []]));
  for (const { from, to } of lines) {
    if (from === to) continue;
    joined.get(from)?.push(to);
    joined.get(to)?.push(from);
  }
  // From the middle outwards: each column is placed by the ones before it.
  const order = [...columns.keys()].sort((a, b) => Math.abs(a) - Math.abs(b) || b - a);
  const left = Math.min(0, ...order);
  for (const column of order) {
    const x = (column - left) * (sizes.width + sizes.across);
    place(columns.get(column) ?? [], x, joined, points, sizes);
  }
  const top = Math.min(0, ...[...points.values()].map((point) => point.y));
  for (const point of points.values()) point.y -= top;
  return points;
}

/**
 * The path of a line from one box to another, with a tip.
 * @param {Point} from
 * @param {Point} to
 * @param {{width: number, height: number}} sizes of a box
 */
export function curve(from, to, sizes) {
  const isForward = from.x <= to.x;
  const x1 = from.x + (isForward ? sizes.width : 0);
  const x2 = to.x + (isForward ? 0 : sizes.width);
  const [y1, y2] = [from.y, to.y].map((y) => y + sizes.height / 2);
  const middle = (x1 + x2) / 2;
  const tip = isForward ? -5 : 5;
  return `M${x1} ${y1}C${middle} ${y1} ${middle} ${y2} ${x2} ${y2}m${tip} -3l${-tip} 3l${tip} 3`;
}

/**
 * @param {Box[]} boxes of one column
 * @param {number} x
 * @param {Map<string, string[]>} joined ids by id
 * @param {Map<string, Point>} points
 * @param {Sizes} sizes
 */
function place(boxes, x, joined, points, sizes) {
  const wanted = boxes
    .map((box) => ({ box, y: wish(joined.get(box.id) ?? [], points) }))
    .sort((a, b) => a.y - b.y);
  const step = sizes.height + sizes.down;
  let y = -Infinity;
  const placed = wanted.map((one) => (y = Math.max(one.y, y + step)));
  const drift = wanted.reduce((sum, one, index) => sum + one.y - placed[index], 0) / boxes.length;
  wanted.forEach(({ box }, index) => points.set(box.id, { x, y: placed[index] + drift }));
}

/**
 * The height at which a box would be level with what it is joined to.
 * @param {string[]} joined
 * @param {Map<string, Point>} points
 */
function wish(joined, points) {
  const heights = joined.flatMap((other) => points.get(other)?.y ?? []);
  return heights.reduce((sum, one) => sum + one, 0) / (heights.length || 1);
}
