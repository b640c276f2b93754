/** Colours for names: a name has the same one everywhere, unless another one beside it has it. */

const HUES = [210, 30, 140, 280, 55, 0, 180, 320, 95, 250, 15, 165];

/**
 * @param {string[]} names
 * @returns {Map<string, number>} hues in degrees
 */
export function huesOf(names) {
  const found = new Map();
  const taken = new Set();
  for (const name of [...new Set(names)].sort()) {
    let at = hash(name) % HUES.length;
    while (taken.has(at) && taken.size < HUES.length) at = (at + 1) % HUES.length;
    taken.add(at);
    found.set(name, HUES[at]);
  }
  return found;
}

/** @param {string} text */
function hash(text) {
  let sum = 7;
  for (const letter of text) sum = (sum * 31 + (letter.codePointAt(0) ?? 0)) % 1_000_003;
  return sum;
}
