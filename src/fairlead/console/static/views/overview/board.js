/** What is seen of a survey: the verdict, and cards of what is wrong, what there is and what changed. */

import { h } from "../../core/dom.js";
import { keyOf } from "../../core/states.js";
import { counted } from "../../parts/bits.js";
import { redraw } from "../../parts/steady.js";
import * as cards from "./cards.js";
import { OTHERS, SECTIONS } from "./survey.js";

/** @import {Children} from "../../core/dom.js" */
/** @import {Change} from "../../core/past.js" */
/** @import {Place} from "../../app.js" */
/** @import {Finding, Survey} from "./survey.js" */
/** @import {Notes} from "./notes.js" */

const RECENT = 60; // changes of which the newest are shown
/** What is wrong, in a word for those who look for a part of the page. */
const WORDS = ["pod", "workload", "job", "node", "claim", "API", "other"];

export class Board {
  verdict = h("span", { role: "status" });
  /** @type {{keys: readonly string[], card: cards.Card<Finding>}[]} */
  sections = [...SECTIONS, /** @type {const} */ ([OTHERS, []])].map(([title, keys]) => ({
    keys,
    card: new cards.Card(title, cards.findingTable),
  }));
  parts = h("div", { class: "parts", role: "group", "aria-label": "What is wrong" });
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

  /** @param {Children} [aside] what stands beside the verdict */
  elements(aside) {
    const [pods, ...sections] = this.sections.map((one) => one.card);
    const wrong = [pods, this.ending, ...sections, this.denied, this.warnings, this.unseen];
    const around = [this.health, this.recent, this.counts];
    return [
      h("div", { class: "bar" }, h("h1", {}, "Overview"), this.verdict, this.parts, aside),
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
    const known = this.sections.flatMap((one) => one.keys);
    for (const { keys, card } of this.sections) {
      const isOf = (/** @type {string} */ key) =>
        keys.length ? keys.some((one) => one === key) : !known.some((one) => one === key);
      const wrong = looks
        .filter(([kind]) => isOf(keyOf(this.catalogue, kind)))
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
    this.#tellParts();
    this.#judge();
  }

  /** How much is wrong with what, each the way to its card. */
  #tellParts() {
    const named = this.sections.map(({ card }, index) => ({ word: WORDS[index], card }));
    const others = [
      { word: "deletion", card: this.ending },
      { word: "denied request", card: this.denied },
      { word: "warning", card: this.warnings },
    ];
    const shown = [...named, ...others]
      .filter(({ card }) => !card.element.hidden)
      .map(({ word, card }) => ({ word, count: card.count, title: card.title }));
    const found = new Map([...named, ...others].map(({ word, card }) => [word, card]));
    redraw(this.parts, shown, (all) =>
      all.map(({ word, count, title }) =>
        h(
          "button",
          { title: `Go to: ${title}`, onclick: () => found.get(word)?.reveal() },
          counted(count, word),
        ),
      ),
    );
  }

  /** @param {Notes} notes */
  showWarnings({ warnings }) {
    this.warnings.show(warnings, warnings.length);
    this.#tellParts();
  }

  /** @param {Change[]} changes oldest first */
  showChanges(changes) {
    this.recent.show(changes.slice(-RECENT).reverse());
  }

  /** @param {Notes} notes */
  showNotes(notes) {
    this.#failing = notes.failing.length;
    this.denied.show(notes.denied, notes.denied.length);
    this.showWarnings(notes);
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
