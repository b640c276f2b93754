/** Moments and how long ago they were, as the command line says it. */

const UNITS = /** @type {const} */ ([
  ["d", 86_400],
  ["h", 3_600],
  ["m", 60],
  ["s", 1],
]);

// Hours are as a moment is typed: 08:36.
const DIGITS = /** @type {const} */ ({ hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
const SECOND = /** @type {const} */ ({ second: "2-digit" });
const DAY = /** @type {const} */ ({ year: "numeric", month: "numeric", day: "numeric" });
const inMinutes = formatter(DIGITS);
const inSeconds = formatter({ ...DIGITS, ...SECOND });
const withDate = formatter({ ...DAY, ...DIGITS, ...SECOND });

/** The moment of the past that is shown, in milliseconds. */
let shown = NaN;

/**
 * Show a moment of the past: ages and durations are told as of then.
 * @param {number} moment in milliseconds; not a number for now
 */
export function showMoment(moment) {
  shown = moment;
}

/** What time it is on the page: that of the moment that is shown, or now. */
export function presentTime() {
  return Number.isNaN(shown) ? Date.now() : shown;
}

/**
 * @param {string | undefined} moment
 * @param {number} [now] in milliseconds
 */
export function age(moment, now = presentTime()) {
  if (!moment) return "";
  let seconds = Math.max(0, Math.floor((now - Date.parse(moment)) / 1000));
  if (Number.isNaN(seconds)) return "";
  const parts = [];
  for (const [unit, length] of UNITS) {
    const count = Math.floor(seconds / length);
    seconds -= count * length;
    if (count && parts.length < 2) parts.push(`${count}${unit}`);
    if (parts.length && count >= 10) break;
  }
  return parts.join("") || "0s";
}

/**
 * The time of day for axes and tables.
 * @param {number} moment in milliseconds
 * @param {boolean} [withSeconds]
 */
export function shortClock(moment, withSeconds = false) {
  return Number.isNaN(moment) ? "" : (withSeconds ? inSeconds : inMinutes)(moment);
}

/**
 * The time of day, with the date where it is not today's.
 * @param {string | undefined} moment
 */
export function clock(moment) {
  if (!moment) return "";
  const date = new Date(moment);
  if (Number.isNaN(date.getTime())) return moment; // what a custom kind says may be anything
  const today = date.toDateString() === new Date().toDateString();
  return (today ? inSeconds : withDate)(date);
}

/**
 * Formats moments. What does that is costly to make, and is made when it is needed first.
 * @param {Intl.DateTimeFormatOptions} options
 */
function formatter(options) {
  /** @type {Intl.DateTimeFormat | undefined} */
  let made;
  return (/** @type {Date | number} */ moment) =>
    (made ??= new Intl.DateTimeFormat([], options)).format(moment);
}
