/** What is different between two texts, line by line. */

/** @typedef {{sign: " " | "-" | "+", text: string, left: number, right: number}} Step */

const MOST = 2000; // differences that are looked for one by one

/**
 * The way from one text to another: lines that stay, go and come, with their numbers in both.
 * @param {string[]} left
 * @param {string[]} right
 * @returns {Step[]}
 */
export function difference(left, right) {
  let start = 0;
  while (start < left.length && start < right.length && left[start] === right[start]) start++;
  let end = 0;
  while (
    end < Math.min(left.length, right.length) - start &&
    left[left.length - 1 - end] === right[right.length - 1 - end]
  ) {
    end++;
  }
  const from = left.slice(start, left.length - end);
  const to = right.slice(start, right.length - end);
  const signs = [
    ..." ".repeat(start),
    ...(shortest(from, to) ?? [..."-".repeat(from.length), ..."+".repeat(to.length)]),
    ..." ".repeat(end),
  ];
  return numbered(signs, left, right);
}

/**
 * @param {string[]} signs
 * @param {string[]} left
 * @param {string[]} right
 * @returns {Step[]}
 */
function numbered(signs, left, right) {
  let a = 0;
  let b = 0;
  return signs.map((sign) => {
    const text = sign === "+" ? right[b] : left[a];
    if (sign !== "+") a++;
    if (sign !== "-") b++;
    return { sign: /** @type {Step["sign"]} */ (sign), text, left: a, right: b };
  });
}

/**
 * The fewest steps (Myers): how far each diagonal comes with one more difference.
 * @param {string[]} left
 * @param {string[]} right
 * @returns {string[] | null} null if they have too little in common
 */
function shortest(left, right) {
  /** @type {Map<number, number>[]} */
  const trail = [];
  let reached = new Map([[1, 0]]);
  for (let count = 0; count <= Math.min(left.length + right.length, MOST); count++) {
    const next = new Map();
    for (let diagonal = -count; diagonal <= count; diagonal += 2) {
      let at = furthest(reached, diagonal, count);
      while (at < left.length && at - diagonal < right.length && left[at] === right[at - diagonal])
        at++;
      next.set(diagonal, at);
      if (at >= left.length && at - diagonal >= right.length) {
        return retraced([...trail, reached], left.length, right.length);
      }
    }
    trail.push(reached);
    reached = next;
  }
  return null;
}

/**
 * Where a diagonal begins after one more step, down or to the right.
 * @param {Map<number, number>} reached
 * @param {number} diagonal
 * @param {number} count
 */
function furthest(reached, diagonal, count) {
  if (isBelow(reached, diagonal, count)) return reached.get(diagonal + 1) ?? -1;
  return (reached.get(diagonal - 1) ?? -1) + 1;
}

/**
 * @param {Map<number, number>[]} trail
 * @param {number} x
 * @param {number} y
 */
function retraced(trail, x, y) {
  /** @type {string[]} */
  const signs = [];
  for (let count = trail.length - 1; count >= 0; count--) {
    const diagonal = x - y;
    const reached = trail[count];
    const start = count ? furthest(reached, diagonal, count) : 0;
    const isDown = isBelow(reached, diagonal, count);
    while (x > start && y > start - diagonal) {
      signs.push(" ");
      x--;
      y--;
    }
    if (!count) break;
    signs.push(isDown ? "+" : "-");
    if (isDown) y--;
    else x--;
  }
  return signs.reverse();
}

/**
 * Whether the best way to a diagonal comes down, from the one below it.
 * @param {Map<number, number>} reached
 * @param {number} diagonal
 * @param {number} count
 */
function isBelow(reached, diagonal, count) {
  const below = reached.get(diagonal + 1) ?? -1;
  const beside = reached.get(diagonal - 1) ?? -1;
  return diagonal === -count || (diagonal !== count && beside < below);
}
