/** A part of the testing powers: what there is of it, and what can be done. */

import { getJson, isAborted, reasonOf } from "../../core/api.js";
import { fill, h } from "../../core/dom.js";
import { refill } from "../../parts/focus.js";
import { problem, say } from "../../parts/messages.js";

/** @import {Place} from "../../app.js" */
/** @import {Child} from "../../core/dom.js" */
/**
 * What a panel is made of: a form that stays, and what is drawn from what there is.
 * @typedef {{resource: string, form?: Child, draw: (items: any[]) => Child[]}} Content
 */

const ROOT = "/apis/testing.fairlead.dev/v1";

export class Panel {
  /**
   * @param {Place} place
   * @param {string} title
   * @param {(panel: Panel) => Content} make
   * @param {() => void} lookAtAll
   */
  constructor(place, title, make, lookAtAll) {
    this.place = place;
    this.lookAtAll = lookAtAll;
    this.content = make(this);
    this.wrong = h("div", {});
    this.body = h("div", { class: "scrolled" });
    this.element = h(
      "section",
      { class: "card", "aria-label": title },
      h("h2", {}, title),
      this.content.form,
      this.wrong,
      this.body,
    );
  }

  /** Show what there is now. */
  async look() {
    await this.#guarded(async () => {
      const { items } = await getJson(`${ROOT}/${this.content.resource}`, {
        signal: this.place.signal,
      });
      refill(this.body, this.content.draw(items ?? []));
    });
  }

  /**
   * Do something, say that it was done, and look again.
   * @param {string} method
   * @param {string} path below the group
   * @param {unknown} body
   * @param {(answer: any) => string} done
   */
  async act(method, path, body, done) {
    await this.#guarded(async () => {
      const text = body === null ? undefined : JSON.stringify(body);
      const { signal } = this.place;
      say(done(await getJson(`${ROOT}/${path}`, { method, body: text, signal })));
      this.lookAtAll();
    });
  }

  /** @param {() => Promise<void>} work */
  async #guarded(work) {
    try {
      await work();
      fill(this.wrong);
    } catch (error) {
      if (!isAborted(error)) fill(this.wrong, problem(reasonOf(error)));
    }
  }
}

/**
 * A button that can be found again after it was drawn anew.
 * @param {string} text
 * @param {string} about what it acts on
 * @param {() => void} run
 */
export function action(text, about, run) {
  const key = `${text} ${about}`;
  return h("button", { "aria-label": key, "data-key": key, onclick: run }, text);
}

/**
 * @param {string} button
 * @param {() => void} run
 * @param {...Child} fields
 */
export function form(button, run, ...fields) {
  const submitted = (/** @type {Event} */ event) => {
    event.preventDefault();
    run();
  };
  return h("form", { class: "bar asking", onsubmit: submitted }, fields, h("button", {}, button));
}

/**
 * @param {string} label
 * @param {string} [placeholder]
 */
export function input(label, placeholder = "") {
  const made = h("input", { placeholder, size: 10, autocomplete: "off", spellcheck: "false" });
  return { made, label: h("label", { class: "stacked" }, label, made) };
}
