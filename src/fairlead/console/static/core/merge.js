/** Two changes of one text brought together, line by line. */

import { difference } from "./diff.js";

/** @typedef {{start: number, end: number, lines: string[]}} Hunk lines in place of some of the base */

export const MARKS = { mine: "<<<<<<< yours", between: "=======", theirs: ">>>>>>> theirs" };

/**
 * What both changed differently is there twice, between marks.
 * @param {string[]} base
 * @param {string[]} mine
 * @param {string[]} theirs
 * @returns {{lines: string[], conflicts: number}}
 */
export function merge(base, mine, theirs) {
  const left = hunks(base, mine);
  const right = hunks(base, theirs);
  /** @type {string[]} */
  const lines = [];
  let conflicts = 0;
  let at = 0;
  while (left.length || right.length) {
    const [ours, others] = together(left, right);
    const both = [...ours, ...others];
    const start = Math.min(...both.map((one) => one.start));
    const end = Math.max(...both.map((one) => one.end));
    lines.push(...base.slice(at, start));
    const a = applied(base, ours, start, end);
    const b = applied(base, others, start, end);
    if (!others.length || (ours.length && same(a, b))) lines.push(...a);
    else if (!ours.length) lines.push(...b);
    else {
      conflicts++;
      lines.push(MARKS.mine, ...a, MARKS.between, ...b, MARKS.theirs);
    }
    at = end;
  }
  lines.push(...base.slice(at));
  return { lines, conflicts };
}

/**
 * @param {string[]} base
 * @param {string[]} changed
 * @returns {Hunk[]}
 */
function hunks(base, changed) {
  /** @type {Hunk[]} */
  const found = [];
  let open = false;
  for (const { sign, text, left } of difference(base, changed)) {
    if (sign !== " " && !open) {
      const start = sign === "-" ? left - 1 : left;
      found.push({ start, end: start, lines: [] });
    }
    open = sign !== " ";
    if (sign === "-") found[found.length - 1].end = left;
    if (sign === "+") found[found.length - 1].lines.push(text);
  }
  return found;
}

/**
 * Take the first hunk, and all of either side that touch the same lines.
 * @param {Hunk[]} left
 * @param {Hunk[]} right
 * @returns {[Hunk[], Hunk[]]}
 */
function together(left, right) {
  /** @type {[Hunk[], Hunk[]]} */
  const taken = [[], []];
  const sides = [left, right];
  const first = !right.length || (left.length && left[0].start <= right[0].start) ? 0 : 1;
  taken[first].push(/** @type {Hunk} */ (sides[first].shift()));
  const { start } = taken[first][0];
  let { end } = taken[first][0];
  for (;;) {
    const next = sides.findIndex(([one]) => one && (one.start < end || one.start === start));
    if (next < 0) return taken;
    const one = /** @type {Hunk} */ (sides[next].shift());
    taken[next].push(one);
    end = Math.max(end, one.end);
  }
}

/**
 * @param {string[]} base
 * @param {Hunk[]} changes
 * @param {number} start
 * @param {number} end
 */
function applied(base, changes, start, end) {
  const lines = [];
  let at = start;
  for (const one of changes) {
    lines.push(...base.slice(at, one.start), ...one.lines);
    at = one.end;
  }
  return [...lines, ...base.slice(at, end)];
}

/**
 * @param {string[]} a
 * @param {string[]} b
 */
function same(a, b) {
  return a.length === b.length && a.every((line, index) => line === b[index]);
}
