/** Moments as people write them: `08:36`, `two minutes ago`, `-5m`, `now`, or a date. */

/** @type {Record<string, number>} */
const SECONDS = { s: 1, m: 60, h: 3_600, d: 86_400 };
const NUMBERS = "no a two three four five six seven eight nine ten eleven twelve".split(" ");
const DAY = 86_400_000; // milliseconds

/**
 * In milliseconds; not a number where it cannot be understood.
 * @param {string} text
 * @param {number} [now] in milliseconds
 */
export function momentOf(text, now = Date.now()) {
  const plain = text.trim().toLowerCase();
  if (plain === "now") return now;
  const past = agoOf(plain);
  if (!Number.isNaN(past)) return now - past * 1000;
  const clock = /^(\d{1,2}):(\d{2})(?::(\d{2}))?$/.exec(plain);
  if (!clock) return /\d{4}-\d/.test(plain) ? Date.parse(text.trim()) : NaN;
  const [hours, minutes, seconds] = clock.slice(1).map((one) => Number(one ?? 0));
  if (hours > 23 || minutes > 59 || seconds > 59) return NaN;
  const found = new Date(now).setHours(hours, minutes, seconds, 0);
  return found > now ? found - DAY : found; // what is still to come was yesterday
}

/**
 * How many seconds ago.
 * @param {string} text
 */
function agoOf(text) {
  const found = /^(-?)\s*(\d+|[a-z]+)\s*([a-z]+)?(\s+ago)?$/.exec(text);
  if (!found || !(found[1] || found[4])) return NaN;
  const [, , count, unit = "m"] = found;
  const number = /^\d+$/.test(count) ? Number(count) : NUMBERS.indexOf(count.replace("an", "a"));
  return number < 0 ? NaN : number * (SECONDS[unit[0]] ?? NaN);
}
