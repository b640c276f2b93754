/** How the cluster is: what is wrong first, then what there is and what changed. */

import { fill, h } from "../core/dom.js";
import { Rights } from "../core/rights.js";
import { keyOf } from "../core/states.js";
import { keepAges, redraw } from "../parts/steady.js";
import {
  changeList,
  countList,
  deniedTable,
  findingTable,
  healthList,
  unseenNotes,
  warningTable,
} from "./overview/cards.js";
import { Changes } from "./overview/changes.js";
import { Notes } from "./overview/notes.js";
import { SECTIONS, Survey } from "./overview/survey.js";

/** @import {Place} from "../app.js" */
/** @import {Children} from "../core/dom.js" */
/** @import {Finding} from "./overview/survey.js" */
/** @import {Change} from "./overview/changes.js" */

const GRAVE = ["bad", "warn"];

/** @param {Place} place */
export async function show(place) {
  const { host, catalogue, namespace, signal } = place;
  place.title("Overview");
  const verdict = h("span", { role: "status" });
  const wrong = h("div", { class: "stack" });
  const around = h("div", { class: "stack" });
  fill(
    host,
    h("div", { class: "bar" }, h("h1", {}, "Overview"), verdict),
    h("div", { class: "overview" }, wrong, around),
  );
  const rights = await Rights.load(catalogue, namespace, signal);
  const survey = new Survey(catalogue, namespace, rights);
  const changes = new Changes(namespace);
  const notes = new Notes(catalogue, namespace, rights);
  const problems = new Column(wrong, true);
  const facts = new Column(around, false);

  const draw = () => {
    const found = findings(survey);
    sayVerdict(verdict, survey, notes, found);
    for (const { title, items } of found) problems.show(title, items, findingTable);
    problems.show("Requests that were denied", notes.denied, deniedTable);
    problems.show("Recent warnings", notes.warnings, (shown) => warningTable(catalogue, shown));
    problems.show("Not looked at", unseenNotes(survey), (shown) =>
      h(
        "ul",
        { class: "links faint" },
        shown.map((one) => h("li", { class: "wrap" }, one)),
      ),
    );
    facts.show("Health", [notes.version, ...notes.failing], ([version, ...failing]) =>
      healthList(catalogue.about, version, failing),
    );
    facts.show("Recent changes", changes.items, (shown) => changeList(catalogue, shown));
    facts.show("Objects", countsOf(survey), countList);
  };
  const soon = oncePerFrame(draw);
  for (const one of [survey, changes, notes]) one.addEventListener("changed", soon);
  feed(changes, survey, soon);
  keepAges(host, signal);
  draw();
  void Promise.all([survey.run(signal), changes.run(signal), notes.run(signal)]);
}

/**
 * @param {Changes} changes
 * @param {Survey} survey
 * @param {() => void} draw
 */
function feed(changes, survey, draw) {
  changes.addEventListener("begun", () => {
    survey.isFed = true;
    survey.touchAll();
    draw();
  });
  changes.addEventListener("ended", () => {
    survey.isFed = false;
    survey.touchAll();
  });
  changes.addEventListener("changed", (event) => {
    const change = /** @type {CustomEvent<Change>} */ (event).detail;
    survey.touch(change.group, change.resource);
  });
}

/** @param {() => void} run */
function oncePerFrame(run) {
  let isAsked = false;
  return () => {
    if (isAsked) return;
    isAsked = true;
    requestAnimationFrame(() => {
      isAsked = false;
      run();
    });
  };
}

/** @param {Survey} survey */
function findings(survey) {
  const looks = [...survey.looks];
  const sections = SECTIONS.map(([title, keys]) => {
    const names = /** @type {readonly string[]} */ (keys);
    const those = looks.filter(([kind]) => names.includes(keyOf(survey.catalogue, kind)));
    return {
      title: String(title),
      items: those.flatMap(([, look]) => look.wrong).sort(worstFirst),
    };
  });
  const ending = looks.flatMap(([, look]) => look.ending);
  return [...sections, { title: "Deletions that are held up", items: ending }];
}

/**
 * @param {Finding} a
 * @param {Finding} b
 */
function worstFirst(a, b) {
  return GRAVE.indexOf(a.state.tone) - GRAVE.indexOf(b.state.tone);
}

/** @param {Survey} survey */
function countsOf(survey) {
  return [...survey.looks]
    .filter(([, look]) => look.count > 0)
    .map(([kind, look]) => ({ kind, count: look.count }))
    .sort((a, b) => a.kind.kind.localeCompare(b.kind.kind));
}

/**
 * @param {Element} element
 * @param {Survey} survey
 * @param {Notes} notes
 * @param {{items: unknown[]}[]} found
 */
function sayVerdict(element, survey, notes, found) {
  const count = found.reduce((sum, one) => sum + one.items.length, 0) + notes.failing.length;
  const scope = survey.hidden.length ? " in what you may see" : "";
  let [word, tone] = [`${count} ${count === 1 ? "thing is" : "things are"} wrong${scope}`, "bad"];
  if (!count && !survey.looks.size) [word, tone] = ["you may not look at anything here", "warn"];
  else if (!count && !survey.isWhole) [word, tone] = ["looking…", "faint"];
  else if (!count) [word, tone] = [`nothing is wrong${scope}`, "good"];
  redraw(element, { word, tone }, () => h("span", { class: tone }, word));
}

/** Cards that are there when they have something to show. */
class Column {
  /** @type {Map<string, {card: HTMLElement, body: HTMLElement, count: HTMLElement}>} */
  #cards = new Map();

  /**
   * @param {HTMLElement} host
   * @param {boolean} isCounted
   */
  constructor(host, isCounted) {
    this.host = host;
    this.isCounted = isCounted;
  }

  /**
   * @template T
   * @param {string} title
   * @param {T[]} items
   * @param {(items: T[]) => Children} draw
   */
  show(title, items, draw) {
    let found = this.#cards.get(title);
    if (!found) {
      const [body, count] = [h("div"), h("span", { class: "faint" })];
      const card = h("section", { class: "card", "aria-label": title });
      fill(card, h("h2", {}, title, " ", count), body);
      this.#cards.set(title, (found = { card, body, count }));
      this.host.append(card);
    }
    found.card.hidden = !items.length;
    if (this.isCounted) found.count.textContent = String(items.length);
    redraw(found.body, items, draw);
  }
}
