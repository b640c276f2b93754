/** The last hour of a server, as it tells it itself: one sample every few seconds. */

import { getJson } from "./api.js";

/** How many there were, and the seconds in which half of them and 99 of 100 were done. @typedef {[number, number, number]} Pace */
/**
 * @typedef {object} Sample
 * @property {number} time of its end, in seconds
 * @property {number} seconds that it covers
 * @property {Record<string, number>} requests by verb and code: `GET 200`
 * @property {Pace} reads
 * @property {Pace} writes
 * @property {Pace} commits
 * @property {number} stalls
 * @property {number} stallSeconds
 * @property {number} rejected
 * @property {number} failedCommits
 * @property {number} cpuSeconds
 * @property {number} watches
 * @property {number} underWay
 * @property {number} queued
 * @property {number} objects
 * @property {number} bytes
 * @property {number} revision
 * @property {number} memory
 */

const PATH = "/console/server";
const HOUR = 3600;
const SHORTEST = 2; // seconds; rates of less say little

/** Keeps the samples of the processes that have answered. A server of several processes has each
 * request answered by one of them, and each has numbers of its own. */
export class Samples {
  /** By the number of the process. @type {Map<number, Sample[]>} */
  #known = new Map();
  /** What happened since the last sample. @type {Map<number, Sample>} */
  #now = new Map();
  #last = 0;
  /** The process that is shown; the first that has answered. */
  chosen = -1;
  processes = 1;
  period = 10;

  /** @param {AbortSignal} signal */
  async load(signal) {
    const asked = this.#last;
    const since = this.#known.get(asked)?.at(-1)?.time ?? 0;
    const answer = await getJson(PATH, { query: { process: asked, since }, signal });
    const { process, processes, period, samples, now } = answer;
    const before = process === asked ? (this.#known.get(process) ?? []) : [];
    const all = [...before, ...samples].filter((one) => one.time > now.time - HOUR);
    this.#known.set(process, all);
    this.#now.set(process, now);
    this.#last = process;
    if (this.chosen < 0) this.chosen = process;
    Object.assign(this, { processes, period });
  }

  /** Those that have answered. */
  get known() {
    return [...this.#known.keys()].sort((a, b) => a - b);
  }

  /** The samples of the chosen process, up to now. @returns {Sample[]} */
  get shown() {
    const kept = this.#known.get(this.chosen) ?? [];
    const now = this.#now.get(this.chosen);
    return now && (!kept.length || now.seconds >= SHORTEST) ? [...kept, now] : kept;
  }
}

/**
 * How many requests there were whose verb or code is this.
 * @param {Sample} sample
 * @param {0 | 1} part the verb, or the code
 * @param {(text: string) => boolean} is
 */
export function requestsOf({ requests }, part, is) {
  return sum(
    Object.entries(requests).map(([name, count]) => (is(name.split(" ")[part]) ? count : 0)),
  );
}

/**
 * The verbs or codes that were most frequent.
 * @param {Sample[]} samples
 * @param {0 | 1} part
 * @param {number} most
 */
export function frequent(samples, part, most) {
  /** @type {Map<string, number>} */
  const counts = new Map();
  for (const { requests } of samples)
    for (const [name, count] of Object.entries(requests)) {
      const key = name.split(" ")[part];
      counts.set(key, (counts.get(key) ?? 0) + count);
    }
  const sorted = [...counts].sort((a, b) => b[1] - a[1] || a[0].localeCompare(b[0]));
  return sorted.slice(0, most).map(([name]) => name);
}

/** @param {number[]} numbers */
export function sum(numbers) {
  return numbers.reduce((a, b) => a + b, 0);
}

/**
 * What was not well, in words.
 * @param {Sample[]} samples
 * @returns {{tone: "bad" | "warn", text: string, time: number}[]}
 */
export function troubles(samples) {
  return TROUBLES.flatMap(([tone, measure, text]) => {
    const wrong = samples.filter((one) => measure(one) > 0);
    const last = wrong.at(-1);
    return last ? [{ tone, text: text(wrong), time: last.time }] : [];
  });
}

const isFailure = (/** @type {string} */ code) => code >= "500";
const isRefusal = (/** @type {string} */ code) => code === "429";
const SLOW = 0.1; // seconds that a commit may take

/** @type {["bad" | "warn", (sample: Sample) => number, (wrong: Sample[]) => string][]} */
const TROUBLES = [
  [
    "bad",
    (one) => one.failedCommits,
    (wrong) =>
      `${times(sum(wrong.map((one) => one.failedCommits)))} the store failed to commit. The log of the server says why.`,
  ],
  [
    "bad",
    (one) => requestsOf(one, 1, isFailure),
    (wrong) =>
      `${answered(wrong, isFailure)} ended with an error of the server, or of one behind it.`,
  ],
  [
    "warn",
    (one) => one.rejected + requestsOf(one, 1, isRefusal),
    (wrong) => {
      const full = sum(wrong.map((one) => one.rejected));
      const why = full ? `, ${full} of them because a queue of flow control was full` : "";
      return `${answered(wrong, isRefusal)} came when there were too many${why}. Clients try again later.`;
    },
  ],
  [
    "warn",
    (one) => one.stalls,
    (wrong) => {
      const seconds = sum(wrong.map((one) => one.stallSeconds)).toFixed(1);
      return `${times(sum(wrong.map((one) => one.stalls)))} everybody had to wait for one piece of work, ${seconds} s in all. The log names the requests.`;
    },
  ],
  [
    "warn",
    (one) => Number(one.commits[2] > SLOW),
    (wrong) => {
      const worst = Math.max(...wrong.map((one) => one.commits[2]));
      return `Commits took up to ${secondsText(worst)}: the disk of the data directory is slow or busy.`;
    },
  ],
];

/**
 * How many requests were answered so, and with which codes.
 * @param {Sample[]} samples
 * @param {(code: string) => boolean} is
 */
function answered(samples, is) {
  const count = sum(samples.map((one) => requestsOf(one, 1, is)));
  const codes = frequent(samples, 1, Infinity).filter(is).sort().join(", ");
  return `${count} ${count === 1 ? "request" : "requests"} (${codes})`;
}

/** @param {number} count */
function times(count) {
  return count === 1 ? "Once" : `${count} times`;
}

/** @param {number} seconds */
export function secondsText(seconds) {
  if (seconds >= 1) return `${shortText(seconds)} s`;
  return seconds ? `${shortText(seconds * 1000)} ms` : "0 ms";
}

/** @param {number} value */
export function shortText(value) {
  return String(Number(value >= 100 ? value.toFixed(0) : value.toPrecision(2)));
}
