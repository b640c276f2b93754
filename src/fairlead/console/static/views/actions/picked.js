/** Rows of a list that are picked, and what can be done with all of them at once. */

import { isAborted } from "../../core/api.js";
import { fill, h } from "../../core/dom.js";
import { faint } from "../../parts/bits.js";
import { allowedActions, begin } from "./offers.js";

/** @import {Place} from "../../app.js" */
/** @import {Kind} from "../../core/kinds.js" */
/** @import {LiveTable, Row} from "../../core/live_table.js" */
/** @import {Action} from "./parts.js" */

/** Tells of `changed`. */
export class Picked extends EventTarget {
  /** Ids of rows. @type {Set<string>} */
  #ids = new Set();
  /** @type {Promise<Action[]> | null} */
  #allowed = null;

  /**
   * @param {Place} place
   * @param {Kind} kind
   * @param {LiveTable} table
   */
  constructor(place, kind, table) {
    super();
    this.place = place;
    this.kind = kind;
    this.table = table;
    this.element = h("div", { class: "bar", role: "group", "aria-label": "Picked", hidden: true });
    table.addEventListener("changed", () => this.#forget(), { signal: place.signal });
  }

  /** @param {Row} row */
  has(row) {
    return this.#ids.has(row.id);
  }

  /** @param {Row} row */
  toggle(row) {
    if (!this.#ids.delete(row.id)) this.#ids.add(row.id);
    this.#tell();
  }

  /**
   * Pick all of these, or none if all of them are.
   * @param {Row[]} rows
   */
  all(rows) {
    const isAll = rows.every((row) => this.has(row));
    this.#ids = new Set(isAll ? [] : rows.map((row) => row.id));
    this.#tell();
  }

  /** Rows that are gone are not picked any more. */
  #forget() {
    const gone = [...this.#ids].filter((id) => !this.table.rows.has(id));
    for (const id of gone) this.#ids.delete(id);
    if (gone.length) this.#tell();
  }

  #tell() {
    this.dispatchEvent(new Event("changed"));
    void this.#draw().catch((error) => {
      if (!isAborted(error)) throw error;
    });
  }

  async #draw() {
    this.element.hidden = !this.#ids.size;
    if (!this.#ids.size) return;
    const { place, kind } = this;
    const named = { namespace: place.namespace || undefined };
    this.#allowed ??= allowedActions(place, kind, named);
    const allowed = await this.#allowed;
    const drop = () => {
      this.#ids.clear();
      this.#tell();
    };
    fill(
      this.element,
      h("strong", { role: "status" }, `${this.#ids.size} picked`),
      allowed.map((one) =>
        h("button", { onclick: () => void begin(one, this.#targets(), place) }, one.title),
      ),
      !allowed.length && faint("You may do nothing with them."),
      h("button", { onclick: drop }, "Drop all"),
    );
  }

  #targets() {
    const rows = [...this.#ids].flatMap((id) => this.table.rows.get(id) ?? []);
    return rows.map(({ namespace, name }) => ({ kind: this.kind, named: { namespace, name } }));
  }
}
