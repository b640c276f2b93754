/** A dialog in which one of many things is chosen by typing a few letters of it. */

import { fill, h } from "../core/dom.js";

/** @typedef {{title: string, detail: string, run: () => void}} Choice */

const MAX_ITEMS = 50; // shown at once
const LONG = 253; // characters of the longest names

/**
 * @param {string} label
 * @param {Choice[]} choices
 * @param {Promise<Choice[]>[]} [later] what else there is to choose, as it comes
 * @param {(text: string) => void} [otherwise] what to do with a text that is none of them
 */
export function choose(label, choices, later = [], otherwise) {
  const palette = new Palette(label, choices, otherwise);
  for (const some of later) void some.then((more) => palette.add(more));
}

class Palette {
  /** @type {Choice[]} */
  #shown = [];
  #at = 0;

  /**
   * @param {string} label
   * @param {Choice[]} choices
   * @param {((text: string) => void) | undefined} otherwise
   */
  constructor(label, choices, otherwise) {
    this.choices = choices;
    this.otherwise = otherwise;
    this.list = h("ul", { class: "choices", role: "listbox", id: "choices", "aria-label": label });
    this.input = h("input", {
      type: "text",
      placeholder: label,
      "aria-label": label,
      role: "combobox",
      "aria-expanded": "true",
      "aria-controls": "choices",
      autocomplete: "off",
      spellcheck: "false",
      oninput: () => this.#filter(),
      onkeydown: this.#pressed,
    });
    this.dialog = h(
      "dialog",
      { class: "palette", "aria-label": label, onclose: () => this.dialog.remove() },
      this.input,
      this.list,
    );
    document.body.append(this.dialog);
    this.dialog.showModal();
    this.#filter();
    this.input.focus();
  }

  /** @param {Choice[]} more */
  add(more) {
    this.choices = [...this.choices, ...more];
    this.#filter();
  }

  #filter() {
    const words = this.input.value.toLowerCase().split(/\s+/).filter(Boolean);
    this.#shown = this.choices
      .filter((one) => words.every((word) => textOf(one).includes(word)))
      .sort((a, b) => rank(a, words) - rank(b, words));
    this.#at = 0;
    this.#draw();
  }

  #draw() {
    const shown = this.#shown.slice(0, MAX_ITEMS);
    fill(
      this.list,
      shown.map((one, index) =>
        h(
          "li",
          {
            role: "option",
            id: `choice-${index}`,
            "aria-selected": String(index === this.#at),
            onclick: () => this.#take(one),
          },
          h("span", {}, one.title),
          h("small", {}, one.detail),
        ),
      ),
    );
    if (shown.length) this.input.setAttribute("aria-activedescendant", `choice-${this.#at}`);
    else this.input.removeAttribute("aria-activedescendant");
    this.list.children[this.#at]?.scrollIntoView({ block: "nearest" });
  }

  /** @param {KeyboardEvent} event */
  #pressed = (event) => {
    const maximum = Math.min(this.#shown.length, MAX_ITEMS);
    if (event.key === "ArrowDown") this.#at = Math.min(this.#at + 1, maximum - 1);
    else if (event.key === "ArrowUp") this.#at = Math.max(this.#at - 1, 0);
    else if (event.key === "Enter") this.#enter();
    else return;
    event.preventDefault();
    this.#draw();
  };

  #enter() {
    const text = this.input.value.trim();
    if (this.#shown[this.#at]) this.#take(this.#shown[this.#at]);
    else if (text && this.otherwise) {
      this.dialog.close();
      this.otherwise(text);
    }
  }

  /** @param {Choice} choice */
  #take(choice) {
    this.dialog.close();
    choice.run();
  }
}

/** @param {Choice} choice */
function textOf(choice) {
  return `${choice.title} ${choice.detail}`.toLowerCase();
}

/**
 * How far from what was typed a choice is: the more words it has just so the nearer, then those
 * whose title begins with one, then those whose title has little else.
 * @param {Choice} choice
 * @param {string[]} words
 */
function rank(choice, words) {
  const own = textOf(choice).split(/\s+/);
  const begins = words.some((word) => choice.title.toLowerCase().startsWith(word));
  const others = words.length ? Math.min(choice.title.length, LONG) / LONG / 2 : 0;
  return words.filter((word) => !own.includes(word)).length * 2 + (begins ? 0 : 1) + others;
}
