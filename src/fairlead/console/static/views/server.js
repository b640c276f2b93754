/** How the server itself is: what it was asked, how fast it answers, what it holds; the last hour,
 * and live. */

import { isAborted, reasonOf } from "../core/api.js";
import { fill, h } from "../core/dom.js";
import { quantityText } from "../core/quantities.js";
import {
  Samples,
  frequent,
  requestsOf,
  secondsText,
  shortText,
  sum,
  troubles,
} from "../core/samples.js";
import { clock, shortClock } from "../core/time.js";
import { bar, faint, plainTable } from "../parts/bits.js";
import { Graph, nearest } from "../parts/graph.js";
import { redraw } from "../parts/steady.js";

/** @import {Place} from "../app.js" */
/** @import {Sample} from "../core/samples.js" */
/** @import {Line} from "../parts/graph.js" */
/** @typedef {(samples: Sample[]) => Line[]} Lines */

const MOST = 5; // verbs and codes with a line of their own
const MINUTE = 60_000;

/** @param {number} value */
const bytes = (value) => `${quantityText("memory", value)}B`;
/** @param {number} value */
const each = (value) => `${shortText(value)}/s`;

/** @type {[string, (value: number) => string, Lines][]} */
const GRAPHS = [
  ["Requests by verb", each, (all) => byPart(all, 0)],
  ["Requests by code", each, (all) => byPart(all, 1)],
  ["Time to answer reads", secondsText, (all) => paces(all, "reads")],
  ["Time to answer writes", secondsText, (all) => paces(all, "writes")],
  [
    "Requests under way, and waiting in queues",
    shortText,
    (all) => [line(all, "under way", "underWay"), line(all, "waiting", "queued")],
  ],
  ["Open watches", shortText, (all) => [line(all, "", "watches")]],
  [
    "Stalls: time in which one piece of work held up everybody",
    secondsText,
    (all) => [line(all, "", "stallSeconds")],
  ],
  ["Time to commit", secondsText, (all) => paces(all, "commits")],
  [
    "Commits",
    each,
    (all) => [{ name: "", values: all.map((one) => one.commits[0] / one.seconds) }],
  ],
  ["Revision", (value) => String(Math.round(value)), (all) => [line(all, "", "revision")]],
  ["Objects", shortText, (all) => [line(all, "", "objects")]],
  ["Size of the store", bytes, (all) => [line(all, "", "bytes")]],
  [
    "Processor",
    (value) => `${shortText(value)} %`,
    (all) => [{ name: "", values: all.map((one) => (one.cpuSeconds / one.seconds) * 100) }],
  ],
  ["Memory", bytes, (all) => [line(all, "", "memory")]],
];

/** @param {Place} place */
export async function show(place) {
  place.title("Server");
  const samples = new Samples();
  await samples.load(place.signal);
  const board = new Board(samples);
  fill(place.host, board.elements());
  board.draw();
  const look = async () => {
    try {
      await samples.load(place.signal);
      board.draw();
    } catch (error) {
      if (!isAborted(error)) board.draw(reasonOf(error));
    }
  };
  const timer = setInterval(() => void look(), samples.period * 1000);
  place.signal.addEventListener("abort", () => clearInterval(timer));
}

class Board {
  state = h("span", { role: "status" });
  told = h("div", { class: "card" });
  place = h("div", { class: "bar" });
  table = h("div");
  moment = h("input", {
    type: "range",
    min: 0,
    "aria-label": "Moment",
    oninput: () => this.#point(this.#times[Number(this.moment.value)]),
  });
  at = h("output", { class: "faint" });
  graphs = GRAPHS.map(([title, text]) => new Graph(title, text, (time) => this.#point(time)));
  numbers = h(
    "details",
    { ontoggle: () => this.#tabulate() },
    h("summary", {}, "The numbers, by minutes"),
    this.table,
  );
  /** @type {number[]} */
  #times = [];
  #pointed = NaN;

  /** @param {Samples} samples */
  constructor(samples) {
    this.samples = samples;
  }

  elements() {
    return [
      bar(h("h1", {}, "Server"), this.state),
      this.place,
      this.told,
      h("label", { class: "bar moment" }, "Moment", this.moment, this.at),
      h(
        "div",
        { class: "graphs" },
        this.graphs.map((one) => one.element),
      ),
      this.numbers,
    ];
  }

  /** @param {string} [problem] why there is nothing newer */
  draw(problem = "") {
    const { shown } = this.samples;
    const found = troubles(shown);
    redraw(this.state, problem || "live", (text) =>
      h("span", { class: problem ? "bad" : "faint" }, problem ? `not current: ${text}` : text),
    );
    redraw(this.told, found, (all) => (all.length ? all.map(trouble) : allWell()));
    redraw(this.place, [this.samples.known, this.samples.processes], () => this.#processes());
    this.#times = shown.map((one) => one.time * 1000);
    this.moment.max = String(this.#times.length - 1);
    if (Number.isNaN(this.#pointed)) this.moment.value = this.moment.max;
    GRAPHS.forEach(([, , lines], index) =>
      this.graphs[index].show({ times: this.#times, lines: lines(shown) }),
    );
    this.#point(this.#pointed);
    this.#tabulate();
  }

  /** @param {number} time */
  #point(time) {
    const last = this.#times.length - 1;
    const index = Number.isNaN(time) ? last : nearest(this.#times, time);
    this.#pointed = index === last ? NaN : time;
    this.moment.value = String(index);
    const text = index === last ? "now" : clock(new Date(this.#times[index]).toISOString());
    this.moment.setAttribute("aria-valuetext", text);
    this.at.textContent = text;
    for (const one of this.graphs) one.point(this.#pointed);
  }

  #processes() {
    const { known, processes, chosen } = this.samples;
    if (processes < 2) return null;
    const choices = known.map((one) =>
      h("option", { value: one, selected: one === chosen }, `process ${one + 1}`),
    );
    const select = h("select", {
      "aria-label": "Process",
      onchange: () => {
        this.samples.chosen = Number(select.value);
        this.draw();
      },
    });
    fill(select, choices);
    return [
      select,
      faint(`of ${processes}: each has numbers of its own, and appears here once it has answered.`),
    ];
  }

  #tabulate() {
    if (!this.numbers.open) return;
    redraw(this.table, minutes(this.samples.shown), (rows) =>
      plainTable("The last hour by minutes", TITLES, rows),
    );
  }
}

/** @param {{tone: string, text: string, time: number}} found */
function trouble({ tone, text, time }) {
  const sign = tone === "bad" ? "✗ " : "! ";
  const last = ` Last at ${clock(new Date(time * 1000).toISOString())}.`;
  return h("p", { class: "trouble" }, h("span", { class: tone }, sign, text), faint(last));
}

function allWell() {
  return h(
    "p",
    { class: "trouble good" },
    "✓ Nothing was wrong: no stalls, no request that was refused as too many or failed.",
  );
}

/**
 * @param {Sample[]} all
 * @param {string} name
 * @param {"watches" | "underWay" | "queued" | "stallSeconds" | "revision" | "objects" | "bytes" | "memory"} field
 * @returns {Line}
 */
function line(all, name, field) {
  return { name, values: all.map((one) => one[field]) };
}

/**
 * @param {Sample[]} all
 * @param {"reads" | "writes" | "commits"} field
 * @returns {Line[]}
 */
function paces(all, field) {
  const at = (/** @type {1 | 2} */ index) =>
    all.map((one) => (one[field][0] ? one[field][index] : null));
  return [
    { name: "half within", values: at(1) },
    { name: "99 of 100 within", values: at(2) },
  ];
}

/**
 * @param {Sample[]} all
 * @param {0 | 1} part
 * @returns {Line[]}
 */
function byPart(all, part) {
  const names = frequent(all, part, MOST);
  const of = (/** @type {(text: string) => boolean} */ is) =>
    all.map((one) => requestsOf(one, part, is) / one.seconds);
  const lines = names.map((name) => ({ name, values: of((text) => text === name) }));
  const others = of((text) => !names.includes(text));
  return others.some(Boolean) ? [...lines, { name: "others", values: others }] : lines;
}

const TITLES = [
  ...["Minute", "Requests", "Refused or failed", "Slow reads", "Slow writes", "Watches"],
  ...["Waiting", "Stalled", "Commits", "Revision", "Objects", "Store", "Processor", "Memory"],
];

/**
 * A row for each minute, the last first.
 * @param {Sample[]} all
 */
function minutes(all) {
  /** @type {Map<number, Sample[]>} */
  const groups = new Map();
  for (const one of all) {
    const minute = Math.floor((one.time * 1000) / MINUTE);
    groups.set(minute, [...(groups.get(minute) ?? []), one]);
  }
  return [...groups].reverse().map(([minute, group]) => row(minute * MINUTE, group));
}

/**
 * @param {number} time
 * @param {Sample[]} group
 */
function row(time, group) {
  const total = (/** @type {(one: Sample) => number} */ of) => sum(group.map(of));
  const most = (/** @type {(one: Sample) => number} */ of) => Math.max(...group.map(of));
  const last = group[group.length - 1];
  const isWrong = (/** @type {string} */ code) => code === "429" || code >= "500";
  return [
    shortClock(time),
    total((one) => requestsOf(one, 0, () => true)),
    total((one) => requestsOf(one, 1, isWrong)),
    secondsText(most((one) => one.reads[2])),
    secondsText(most((one) => one.writes[2])),
    last.watches,
    most((one) => one.queued),
    secondsText(total((one) => one.stallSeconds)),
    total((one) => one.commits[0]),
    last.revision,
    last.objects,
    bytes(last.bytes),
    `${shortText((total((one) => one.cpuSeconds) / total((one) => one.seconds)) * 100)} %`,
    bytes(last.memory),
  ];
}
