/** What is around a map: the search, buttons, and what there is to say about it. */

import { fill, h } from "../../core/dom.js";
import { faint } from "../../parts/bits.js";
import { redraw } from "../../parts/steady.js";
import { LEGEND } from "./drawing.js";

/** @import {Gathering} from "../../core/gathering.js" */
/** @import {Thing} from "../../core/relations.js" */
/**
 * @typedef {object} Handlers
 * @property {(app: string) => void} chosen an application
 * @property {() => void} sought another text is searched
 * @property {(event: KeyboardEvent) => void} searching a key in the search
 * @property {() => void} nextBad
 * @property {(factor: number) => void} zoom
 * @property {() => void} fit
 * @property {() => void} arrange
 * @property {() => void} change between map and list
 */

export const ZOOM = 1.25; // times that a key zooms
const NOTES = 4;

export class Controls {
  state = h("span", { class: "state", role: "status" }, faint("looking…"));
  hits = h("span", { class: "faint", role: "status" });
  notes = h("div", { class: "faint wrap" });
  legend = h(
    "ul",
    { class: "links map-legend", "aria-label": "Lines" },
    LEGEND.map(([look, words]) => h("li", {}, h("span", { class: `sample ${look}` }), words)),
  );

  /**
   * @param {string} wanted what is searched
   * @param {Handlers} handlers
   */
  constructor(wanted, handlers) {
    this.apps = h("select", {
      ...{ "aria-label": "Application", hidden: true },
      onchange: () => handlers.chosen(this.apps.value),
    });
    this.search = h("input", {
      ...{ type: "search", placeholder: "Search", "aria-label": "Search the map", value: wanted },
      ...{ oninput: handlers.sought, onkeydown: handlers.searching },
    });
    this.form = h("button", { title: "As a list or as a map (i)", onclick: handlers.change });
    /** @type {[string, string, () => void][]} */
    const buttons = [
      ["Next problem", "Go to the next that is not well (b)", handlers.nextBad],
      ["−", "Zoom out (-)", () => handlers.zoom(1 / ZOOM)],
      ["+", "Zoom in (+)", () => handlers.zoom(ZOOM)],
      ["Fit", "Show all of it (0)", handlers.fit],
      ["Arrange", "Arrange again, the worst first", handlers.arrange],
    ];
    this.buttons = buttons.map(([text, title, onclick]) => h("button", { title, onclick }, text));
  }

  get elements() {
    return [
      this.apps,
      this.search,
      this.hits,
      h("span", { class: "state" }, this.form, this.buttons),
    ];
  }

  /** @param {boolean} isList */
  become(isList) {
    fill(this.form, isList ? "Map" : "List");
    this.legend.hidden = isList;
    for (const button of this.buttons) button.hidden = isList;
  }

  /**
   * @param {string[]} names of applications
   * @param {string} chosen
   */
  offer(names, chosen) {
    this.apps.hidden = !names.length && !chosen;
    const all = chosen && !names.includes(chosen) ? [chosen, ...names] : names;
    redraw(this.apps, all, () => [
      h("option", { value: "" }, "all applications"),
      all.map((name) => h("option", { value: name }, name)),
    ]);
    this.apps.value = chosen;
  }

  /**
   * How it all is, and what could not be looked at.
   * @param {Thing[]} things
   * @param {Gathering} gathering
   */
  tell(things, { problems, feed, revision }) {
    const count = (/** @type {string} */ tone) =>
      things.filter((one) => one.state.tone === tone).length;
    const told = { bad: count("bad"), warn: count("warn"), all: things.length, feed: feed.state };
    redraw(this.state, told, ({ bad, warn, all }) => [
      bad > 0 && h("span", { class: "badge bad" }, `✗ ${bad}`),
      warn > 0 && h("span", { class: "badge warn" }, `! ${warn}`),
      faint(`${all} ${all === 1 ? "object" : "objects"}`),
      !revision && faint(feed.state === "live" ? "live" : "looked at every 5 s"),
    ]);
    const notes = [...problems.values()];
    if (!things.length) notes.unshift("Nothing is here.");
    redraw(this.notes, notes, () => [
      notes.slice(0, NOTES).map((one) => h("p", {}, one)),
      notes.length > NOTES && h("p", {}, `and ${notes.length - NOTES} more`),
    ]);
  }
}
