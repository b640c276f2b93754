/** Two states of an object: what is different, or all of the one. */

import { isAborted, reasonOf } from "../core/api.js";
import { fill, h } from "../core/dom.js";
import { stateAt } from "../core/past.js";
import { isSecret, masked } from "../core/secrets.js";
import { yamlLines } from "../core/yaml_lines.js";
import { bar } from "./bits.js";
import { showDifference } from "./difference.js";
import { Document } from "./document.js";
import { problem } from "./messages.js";

const KEPT = 100; // states that are not asked for again

/** Call `show` as often as wanted: only the last one counts. */
export class Compared {
  /** @type {Map<string, Promise<any>>} */
  #states = new Map();
  /** @type {[string, number, number]} */
  #last = ["", 0, 0];

  /** @param {AbortSignal} signal */
  constructor(signal) {
    this.signal = signal;
    const again = () => void this.show(...this.#last);
    this.whole = h("input", { type: "checkbox", onchange: again });
    this.managed = h("input", { type: "checkbox", onchange: again });
    this.values = h("input", { type: "checkbox", onchange: again });
    this.asking = h("label", { hidden: true }, this.values, " values");
    this.title = h("h2", {}, "Two moments");
    this.body = h("div", { class: "column" });
    this.document = new Document("State");
    this.element = h(
      "section",
      { class: "column grow", "aria-label": "Two moments" },
      bar(
        this.title,
        h("label", {}, this.whole, " the whole state"),
        h("label", {}, this.managed, " with managed fields"),
        this.asking,
      ),
      this.body,
    );
  }

  /**
   * @param {string} path of the object in the API
   * @param {number} from a revision; 0 for nothing
   * @param {number} to
   */
  async show(path, from, to) {
    /** @type {[string, number, number]} */
    const asked = [path, from, to];
    this.#last = asked;
    try {
      const [left, right] = await Promise.all([this.#state(path, from), this.#state(path, to)]);
      if (this.#last === asked) this.#draw(...this.#hidden(left, right), from, to);
    } catch (error) {
      if (!isAborted(error) && this.#last === asked) fill(this.body, problem(reasonOf(error)));
    }
  }

  /**
   * Both states without values that nobody has asked for; of those one sees which are others.
   * @param {any} left
   * @param {any} right
   * @returns {[any, any]}
   */
  #hidden(left, right) {
    this.asking.hidden = ![left, right].some((one) => one && isSecret(one));
    if (this.values.checked) return [left, right];
    return [left && masked(left), right && masked(right, left ?? undefined, "another value")];
  }

  /**
   * @param {any} left
   * @param {any} right
   * @param {number} from
   * @param {number} to
   */
  #draw(left, right, from, to) {
    const none = h("p", { class: "faint" }, `It was not there at ${right ? from : to}.`);
    if (this.whole.checked || !from || from === to) {
      fill(this.title, `At ${to}`);
      if (right) this.document.show(yamlLines(this.#shown(right)));
      fill(this.body, right ? this.document.element : none);
      return;
    }
    fill(this.title, `From ${from} to ${to}`);
    const difference = showDifference(this.#text(left), this.#text(right), "Difference");
    fill(this.body, (!left || !right) && none, difference);
  }

  /**
   * @param {string} path
   * @param {number} revision
   */
  #state(path, revision) {
    if (!revision) return null;
    const key = `${revision} ${path}`;
    const known = this.#states.get(key);
    if (known) return known;
    const asked = stateAt(path, revision, this.signal);
    this.#states.set(key, asked);
    asked.catch(() => this.#states.delete(key));
    if (this.#states.size > KEPT) this.#states.delete(this.#states.keys().next().value ?? "");
    return asked;
  }

  /**
   * Lines to compare, without what is always different.
   * @param {any} object
   */
  #text(object) {
    if (!object) return [];
    const shown = this.#shown(object);
    const { resourceVersion, ...metadata } = shown.metadata;
    return yamlLines({ ...shown, metadata }).map((line) => line.text);
  }

  /** @param {any} object */
  #shown(object) {
    if (this.managed.checked) return object;
    const { managedFields, ...metadata } = object.metadata;
    return { ...object, metadata };
  }
}
