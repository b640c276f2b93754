/** What is on a map as a list, the worst first, with what each is connected with in words. */

import { h } from "../../core/dom.js";
import { objectRoute } from "../../core/paths.js";
import { go } from "../../core/router.js";
import { worstFirst } from "../../core/strips.js";
import { Grid } from "../../parts/grid.js";
import { SIGNS } from "../../parts/picture.js";

/** @import {Edge, Thing} from "../../core/relations.js" */
/** @typedef {{thing: Thing, told: string}} Row */

const TOLD = 4; // relations in words
const COLUMNS = [
  { title: "State", width: "11rem" },
  { title: "Kind", width: "11rem" },
  { title: "Name", width: "20rem" },
  { title: "Connected with", width: "minmax(30rem, 1fr)" },
];
const NARROW = [
  { title: "State", width: "8.5rem" },
  { title: "Name", width: "11rem" },
  { title: "Kind", width: "8rem" },
  { title: "Connected with", width: "30rem" },
];

export class Listing {
  #isNarrow = matchMedia("(max-width: 700px)").matches;
  #sorted = { column: 0, descending: false };
  /** Rows that show what they showed, by id. @type {Map<string, {shown: string, row: Row}>} */
  #rows = new Map();

  constructor() {
    this.grid = new Grid({
      label: "Objects of the map",
      cells: (/** @type {Row} */ row) => this.#cells(row),
      open: ({ thing }) => thing.kind && go(objectRoute(thing.kind, thing)),
      sort: () => {},
    });
  }

  /**
   * @param {Map<string, Thing>} things
   * @param {Edge[]} edges
   * @param {Set<string>} shown ids
   * @param {string} wanted words that rows have to have
   */
  show(things, edges, shown, wanted) {
    const leaving = Map.groupBy(edges, (edge) => edge.from);
    const coming = Map.groupBy(edges, (edge) => edge.to);
    const titleOf = (/** @type {string} */ id) => {
      const thing = things.get(id);
      return `${thing?.title} ${thing?.name}`;
    };
    const before = this.#rows;
    this.#rows = new Map();
    const found = [...shown].flatMap((id) => things.get(id) ?? []).sort(worstFirst);
    for (const thing of found) {
      const own = (leaving.get(thing.id) ?? []).slice(0, TOLD);
      const others = (coming.get(thing.id) ?? []).slice(0, TOLD);
      const told = [
        ...others.map(({ from, label }) => `${titleOf(from)} ${label} it`),
        ...own.map(({ to, label }) => `${label} ${titleOf(to)}`),
      ].join("; ");
      const text = JSON.stringify([thing.state, told]);
      const known = before.get(thing.id);
      const row = known?.shown === text ? known.row : { thing, told };
      this.#rows.set(thing.id, { shown: text, row });
    }
    const words = wanted.split(/\s+/).filter(Boolean);
    const rows = [...this.#rows.values()].map(({ row }) => row).filter((row) => fits(row, words));
    this.grid.show(this.#isNarrow ? NARROW : COLUMNS, rows, this.#sorted);
    return rows.length;
  }

  /** @param {Row} row */
  #cells({ thing, told }) {
    const { tone, word, why } = thing.state;
    const state = h("span", { class: tone, title: why }, SIGNS[tone], word || "–");
    const [first, second] = this.#isNarrow ? [thing.name, thing.title] : [thing.title, thing.name];
    return [state, first, second, told];
  }
}

/**
 * @param {Row} row
 * @param {string[]} words in lower case
 */
function fits({ thing }, words) {
  const text = [thing.title, thing.name, thing.state.word].join(" ").toLowerCase();
  return words.every((word) => text.includes(word));
}
