/** All changes as they happen, by those who make them. */

import { fill, h } from "../core/dom.js";
import { Feed } from "../core/feed.js";
import { bind } from "../core/keys.js";
import { actorOf, kindOf, managerOf, revisionOf } from "../core/past.js";
import { objectRoute } from "../core/paths.js";
import { go, keep } from "../core/router.js";
import { clock } from "../core/time.js";
import { bar, faint } from "../parts/bits.js";
import { actor, badge, fields, losses } from "../parts/change.js";
import { Grid } from "../parts/grid.js";
import { guarded } from "../parts/messages.js";

/** @import {Place} from "../app.js" */
/** @import {Change} from "../core/past.js" */
/**
 * A line: a change, the head of a group, or a word about changes that were missed.
 * @typedef {{change: Change} | {head: string, count: number} | {after: number, upto: number}} Line
 */

const FIRST = 200; // changes that happened before, to begin with
const BEFORE = 1000; // of them that are fetched: what people did is rare among them
const MAX_LINES = 2000; // lines that are kept
const EACH = 6; // of an actor, until all are asked for
// Users and managers of the system's own parts.
const SYSTEM = /^(system:.*|unknown|kubelet|(kube|cluster)-(controller-manager|scheduler))$/;
const ANY = "";
const COLUMNS = [
  { title: "Time", width: "6.5rem" },
  { title: "Who", width: "minmax(9rem, 1.2fr)" },
  { title: "What", width: "6.5rem" },
  { title: "Kind", width: "minmax(6rem, .8fr)" },
  { title: "Object", width: "minmax(13rem, 1.6fr)" },
  { title: "Fields", width: "minmax(10rem, 2.5fr)" },
];
const UNSORTED = { column: -1, descending: false };

/** @param {Place} place */
export async function show(place) {
  place.title("Live feed");
  const view = new FeedView(place);
  view.draw();
  view.feed.addEventListener("changed", () => void view.fetchOlder(), { once: true });
  await view.feed.run(place.signal);
}

class FeedView {
  /** What is shown while it is paused. @type {Change[] | null} */
  #held = null;
  #heldCount = 0;
  /** Places of columns. Where there is little room, what changed is seen first. */
  #order = matchMedia("(max-width: 700px)").matches ? [0, 4, 2, 1, 3, 5] : [0, 1, 2, 3, 4, 5];
  #columns = this.#order.map((index) => COLUMNS[index]);
  /** Whose changes are all shown. @type {Set<string>} */
  #open = new Set();

  /** @param {Place} place */
  constructor(place) {
    this.place = place;
    this.feed = new Feed(place.catalogue, place.namespace, FIRST, MAX_LINES);
    const { query } = place.route;
    this.filter = h("input", {
      type: "search",
      placeholder: "Filter",
      "aria-label": "Filter",
      value: query.get("filter") ?? "",
      oninput: () => this.#refresh("filter", this.filter.value),
    });
    this.kind = this.#select("Kind", "kind");
    this.who = this.#select("Who", "who");
    this.grouped = h("input", {
      type: "checkbox",
      checked: query.get("order") !== "time",
      onchange: () => this.#refresh("order", this.grouped.checked ? "" : "time"),
    });
    this.pauser = h(
      "button",
      { title: "Pause or go on (space)", onclick: () => this.#pause() },
      "Pause",
    );
    this.state = h("span", { class: "faint", role: "status" });
    const older = () => void guarded(this.state, this.feed.older(place.signal));
    this.older = h("button", { hidden: true, onclick: older }, "Older");
    this.grid = new Grid({
      label: "Changes",
      cells: (/** @type {Line} */ line) => {
        const cells = this.#cells(line);
        return "head" in line ? cells : this.#order.map((index) => cells[index]);
      },
      identity: (line) => ("change" in line ? line.change : line),
      // What lines show depends on their order.
      mark: (line) => ("head" in line ? "group" : this.grouped.checked ? "" : "timed"),
      open: (line) => this.#choose(line),
      sort: () => {},
    });
    this.grid.element.classList.add("feed");
    this.feed.addEventListener("changed", () => this.#refresh(), { signal: place.signal });
    bind({ key: " ", says: "pause the feed or go on", run: () => this.#pause() }, place.signal);
    bind({ key: "s", says: "filter the feed", run: () => this.filter.focus() }, place.signal);
  }

  draw() {
    const label = h("label", {}, this.grouped, " by who did it");
    const choices = [this.filter, this.kind, this.who, label, this.pauser];
    fill(
      this.place.host,
      bar(h("h1", {}, "Live feed"), choices, this.state, this.older),
      this.grid.element,
    );
    this.#refresh();
    this.grid.focus();
  }

  /** What happened before, until there is enough of it. */
  async fetchOlder() {
    const { feed } = this;
    const { signal } = this.place;
    try {
      while (!signal.aborted && feed.hasOlder && feed.changes.length < BEFORE)
        await feed.older(signal);
    } catch {
      // There is a button for it.
    }
  }

  /**
   * @param {string} label
   * @param {string} name in the address
   */
  #select(label, name) {
    const made = h("select", {
      "aria-label": label,
      onchange: () => this.#refresh(name, made.value),
    });
    const chosen = this.place.route.query.get(name);
    if (chosen) made.append(h("option", { value: chosen, selected: true }, chosen));
    return made;
  }

  #pause() {
    this.#held = this.#held ? null : [...this.feed.changes];
    this.#heldCount = this.feed.count;
    fill(this.pauser, this.#held ? "Go on" : "Pause");
    this.#refresh();
  }

  /**
   * @param {string} [name] of a choice to keep in the address
   * @param {string} [value]
   */
  #refresh(name, value = "") {
    if (name) keep(name, value);
    else if (this.#held) return this.#tell();
    const changes = this.#held ?? this.feed.changes;
    offer(this.kind, "every kind", new Set(changes.map((one) => one.kind ?? "")));
    offer(this.who, "everybody", new Set(changes.map(actorOf)));
    const lines = this.#lines(changes.filter(this.#fits()).reverse());
    this.grid.show(this.#columns, lines, UNSORTED);
    this.#tell();
  }

  #tell() {
    const missed = this.feed.count - this.#heldCount;
    const { state, problem, changes } = this.feed;
    const newest = this.#held ? `paused, ${missed} since then` : problem || state;
    fill(this.state, `${(this.#held ?? changes).length} · ${newest}`);
    this.state.classList.toggle("bad", state === "waiting");
    this.older.hidden = !this.feed.hasOlder || this.#held !== null;
  }

  /** @returns {(change: Change) => boolean} */
  #fits() {
    const words = this.filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    const [kind, who] = [this.kind.value, this.who.value];
    return (change) =>
      (kind === ANY || change.kind === kind) &&
      (who === ANY || actorOf(change) === who) &&
      (!words.length || hasWords(change, words));
  }

  /**
   * @param {Change[]} changes newest first
   * @returns {Line[]}
   */
  #lines(changes) {
    if (!this.grouped.checked) return withGaps(changes, this.feed.gaps);
    const isSystem = (/** @type {string} */ name) => Number(SYSTEM.test(name));
    const groups = [...Map.groupBy(changes, actorOf)].sort(
      ([a], [b]) => isSystem(a) - isSystem(b) || a.localeCompare(b), // people first
    );
    return [
      ...this.feed.gaps.slice(-1),
      ...groups.flatMap(([head, found]) => [
        { head, count: found.length },
        ...found.slice(0, this.#open.has(head) ? MAX_LINES : EACH).map((change) => ({ change })),
      ]),
    ];
  }

  /** @param {Line} line */
  #choose(line) {
    if ("change" in line) {
      const kind = kindOf(line.change, this.place.catalogue);
      go(`${objectRoute(kind, line.change, "history")}?at=${line.change.resourceVersion}`);
    } else if ("head" in line) {
      if (!this.#open.delete(line.head)) this.#open.add(line.head);
      this.#refresh("order", this.grouped.checked ? "" : "time");
    }
  }

  /**
   * @param {Line} line
   * @returns {(Node | string)[]}
   */
  #cells(line) {
    if ("after" in line) {
      const text = `Changes from ${line.after + 1} to ${line.upto} were missed.`;
      return ["", h("span", { class: "warn", title: text }, "missed"), "", "", text, ""];
    }
    if ("head" in line) {
      const sign = this.#open.has(line.head) ? "▾" : line.count > EACH ? "▸" : "";
      return [sign, h("span", {}, actor(line.head), faint(` ${line.count}`))];
    }
    const { change } = line;
    const manager = faint(managerOf(change));
    return [
      clock(change.time),
      this.grouped.checked ? manager : h("span", {}, actor(actorOf(change)), " ", manager),
      badge(change),
      change.kind ?? "",
      [change.namespace, change.name].filter(Boolean).join("/"),
      h("span", {}, losses(change), fields(change)),
    ];
  }
}

/**
 * Let one of these be chosen, without taking away what is.
 * @param {HTMLSelectElement} select
 * @param {string} any
 * @param {Set<string>} values
 */
function offer(select, any, values) {
  const known = new Set([...select.options].map((one) => one.value));
  if (known.size && [...values].every((one) => known.has(one))) return;
  const chosen = select.value;
  const all = [...values.add(chosen)].filter(Boolean).sort();
  fill(
    select,
    h("option", { value: ANY }, any),
    all.map((value) => h("option", { value }, value)),
  );
  select.value = chosen;
}

/**
 * @param {Change} change
 * @param {string[]} words
 */
function hasWords(change, words) {
  const { kind, namespace, name, by = [], lost = [], changed = [] } = change;
  const parts = [actorOf(change), kind, namespace, name, ...changed];
  const text = [...parts, ...[...by, ...lost].map((one) => one.manager)].join("\n").toLowerCase();
  return words.every((word) => text.includes(word));
}

/**
 * @param {Change[]} changes newest first
 * @param {{after: number, upto: number}[]} gaps
 * @returns {Line[]}
 */
function withGaps(changes, gaps) {
  /** @type {Line[]} */
  const lines = [];
  const left = [...gaps];
  for (const change of changes) {
    while (left.length && revisionOf(change) <= left[left.length - 1].after) {
      lines.push(/** @type {Line} */ (left.pop()));
    }
    lines.push({ change });
  }
  return [...lines, ...left.reverse()];
}
