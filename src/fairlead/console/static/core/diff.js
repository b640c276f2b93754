/** What is different between two texts, line by line. */

/** @typedef {{sign: " " | "-" | "+", text: string, left: number, right: number}} Step */

const MAX_DIFFERENCES = 2000; // differences that are looked for one by one

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
 * The fewest steps (Myers): how far each diagonal comes with one more difference. There are two
 * places more on either side of those.
 * @param {string[]} left
 * @param {string[]} right
 * @returns {string[] | null} null if they have too little in common
 */
function shortest(left, right) {
  /** @type {Int32Array[]} */
  const trail = [];
  let reached = new Int32Array(0);
  for (let count = 0; count <= Math.min(left.length + right.length, MAX_DIFFERENCES); count++) {
    const next = new Int32Array(2 * count + 5).fill(-1);
    trail.push(reached);
    for (let diagonal = -count; diagonal <= count; diagonal += 2) {
      let at = count ? furthest(reached, diagonal, count) : 0;
      while (at < left.length && at - diagonal < right.length && left[at] === right[at - diagonal])
        at++;
      next[diagonal + count + 2] = at;
      if (at >= left.length && at - diagonal >= right.length) {
        return retraced(trail, left.length, right.length);
      }
    }
    reached = next;
  }
  return null;
}

/**
 * Where a diagonal begins after one more step, down or to the right.
 * @param {Int32Array} reached with one difference less
 * @param {number} diagonal
 * @param {number} count
 */
function furthest(reached, diagonal, count) {
  return isBelow(reached, diagonal, count)
    ? reached[diagonal + count + 2]
    : reached[diagonal + count] + 1;
}

/**
 * @param {Int32Array[]} trail
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
    while (x > start && y > start - diagonal) {
      signs.push(" ");
      x--;
      y--;
    }
    if (!count) break;
    const isDown = isBelow(reached, diagonal, count);
    signs.push(isDown ? "+" : "-");
    if (isDown) y--;
    else x--;
  }
  return signs.reverse();
}

/**
 * Whether the best way to a diagonal comes down, from the one below it.
 * @param {Int32Array} reached
 * @param {number} diagonal
 * @param {number} count
 */
function isBelow(reached, diagonal, count) {
  const below = reached[diagonal + count + 2];
  const beside = reached[diagonal + count];
  return diagonal === -count || (diagonal !== count && beside < below);
}
