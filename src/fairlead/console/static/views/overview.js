/** How the cluster is: what is wrong first, then what there is and what changed. */

import { fill, h } from "../core/dom.js";
import { Feed } from "../core/feed.js";
import { Rights } from "../core/rights.js";
import { keyOf } from "../core/states.js";
import { keepAges, redraw } from "../parts/steady.js";
import * as cards from "./overview/cards.js";
import { Notes } from "./overview/notes.js";
import { SECTIONS, Survey } from "./overview/survey.js";

/** @import {Place} from "../app.js" */
/** @import {Finding} from "./overview/survey.js" */

const RECENT = 12; // changes that are shown
const KEPT = 500; // changes between two frames of which each is heeded

/** @param {Place} place */
export async function show(place) {
  const { host, catalogue, namespace, signal } = place;
  place.title("Overview");
  const board = new Board(place);
  fill(host, board.elements());
  keepAges(host, signal);
  const rights = await Rights.load(catalogue, namespace, signal);
  const survey = new Survey(catalogue, namespace, rights);
  const feed = new Feed(namespace, RECENT, KEPT);
  const notes = new Notes(catalogue, namespace, rights);
  survey.addEventListener("changed", () => board.showSurvey(survey));
  notes.addEventListener("changed", () => board.showNotes(notes));
  heed(feed, survey, board);
  board.showSurvey(survey);
  void feed.run(signal);
  void notes.run(signal);
  await survey.run(signal);
}

/**
 * Show what changes, and have the survey look where it does.
 * @param {Feed} feed
 * @param {Survey} survey
 * @param {Board} board
 */
function heed(feed, survey, board) {
  let heeded = 0;
  let wasFed = false;
  feed.addEventListener("changed", () => {
    const isFed = feed.state === "live";
    const fresh = feed.count - heeded;
    heeded = feed.count;
    if (isFed && !wasFed && !feed.gaps.length) survey.catchUp(feed.since, feed.changes);
    // What happened while there was no feed was missed, and so is what it has let go.
    else if (isFed !== wasFed || fresh > KEPT) survey.touchAll();
    else if (fresh) for (const one of feed.changes.slice(-fresh)) survey.touch(one);
    wasFed = survey.isFed = isFed;
    board.recent.show(feed.changes.slice(-RECENT).reverse());
  });
}

/** What is seen of it all. */
class Board {
  verdict = h("span", { role: "status" });
  /** @type {{keys: readonly string[], card: cards.Card<Finding>}[]} */
  sections = SECTIONS.map(([title, keys]) => ({
    keys,
    card: new cards.Card(title, cards.findingTable),
  }));
  ending = new cards.Card("Deletions that are held up", cards.findingTable);
  denied = new cards.Card("Requests that were denied", cards.deniedTable);
  unseen = new cards.Card("Not looked at", cards.noteList);
  counts = new cards.Card("Objects", cards.countList);
  #failing = 0;
  #found = 0;
  /** @type {Survey | null} */
  #survey = null;

  /** @param {Place} place */
  constructor({ catalogue }) {
    this.catalogue = catalogue;
    const dialect = `dialect ${catalogue.about.dialect}`;
    this.warnings = new cards.Card("Recent warnings", (/** @type {any[]} */ events) =>
      cards.warningTable(catalogue, events),
    );
    this.recent = new cards.Card("Recent changes", (/** @type {any[]} */ items) =>
      cards.changeList(catalogue, items),
    );
    this.health = new cards.Card("Health", (/** @type {string[]} */ [version, ...failing]) =>
      cards.healthList(`${version}, ${dialect}`, failing),
    );
  }

  elements() {
    const sections = this.sections.map((one) => one.card);
    const wrong = [...sections, this.ending, this.denied, this.warnings, this.unseen];
    const around = [this.health, this.recent, this.counts];
    return [
      h("div", { class: "bar" }, h("h1", {}, "Overview"), this.verdict),
      h(
        "div",
        { class: "overview" },
        [wrong, around].map((column) =>
          h(
            "div",
            { class: "stack" },
            column.map((card) => card.element),
          ),
        ),
      ),
    ];
  }

  /** @param {Survey} survey */
  showSurvey(survey) {
    const looks = [...survey.looks];
    const ending = looks.flatMap(([, look]) => look.ending);
    let count = ending.length;
    this.ending.show(ending, ending.length);
    for (const { keys, card } of this.sections) {
      const wrong = looks
        .filter(([kind]) => keys.includes(keyOf(this.catalogue, kind)))
        .flatMap(([, look]) => look.wrong);
      count += wrong.length;
      // "bad" comes before "warn".
      card.show(
        wrong.sort((a, b) => a.state.tone.localeCompare(b.state.tone)),
        wrong.length,
      );
    }
    this.unseen.show(survey.notes());
    const counts = looks.map(([kind, look]) => ({ kind, count: look.count }));
    this.counts.show(counts.filter((one) => one.count).sort(byName));
    this.#survey = survey;
    this.#found = count;
    this.#judge();
  }

  /** @param {Notes} notes */
  showNotes(notes) {
    this.#failing = notes.failing.length;
    this.denied.show(notes.denied, notes.denied.length);
    this.warnings.show(notes.warnings, notes.warnings.length);
    this.health.show([notes.version, ...notes.failing]);
    this.#judge();
  }

  #judge() {
    if (!this.#survey) return;
    redraw(this.verdict, verdictOf(this.#survey, this.#found + this.#failing), ([tone, text]) =>
      h("span", { class: tone }, text),
    );
  }
}

/**
 * The tone of it, and the words.
 * @param {Survey} survey
 * @param {number} count of what is wrong
 */
function verdictOf(survey, count) {
  const scope = survey.hidden.length ? " in what you may see" : "";
  if (count) return ["bad", `${count} ${count === 1 ? "thing is" : "things are"} wrong${scope}`];
  if (!survey.looks.size) return ["warn", "you may not look at anything here"];
  const isPartial = [...survey.looks.values()].some((one) => one.problem);
  if (isPartial) return ["warn", "not all could be looked at"];
  return survey.isWhole ? ["good", `nothing is wrong${scope}`] : ["faint", "looking…"];
}

/**
 * @param {{kind: {kind: string}}} a
 * @param {{kind: {kind: string}}} b
 */
function byName(a, b) {
  return a.kind.kind.localeCompare(b.kind.kind);
}
