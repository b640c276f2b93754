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
    this.signal = place.signal;
    this.lookAtAll = lookAtAll;
    this.content = make(this);
    this.wrong = h("div", {});
    this.body = h("div", {});
    const parts = [h("h2", {}, title), this.content.form, this.wrong, this.body];
    this.element = h("section", { class: "card", "aria-label": title }, parts);
  }

  /** Show what there is now. */
  async look() {
    await this.#guarded(async () => {
      const { items } = await getJson(`${ROOT}/${this.content.resource}`, { signal: this.signal });
      refill(this.body, this.content.draw(items ?? []));
    });
  }

  /**
   * Do something, say what came of it, and look again.
   * @param {string} method
   * @param {string} path below the group
   * @param {unknown} body
   * @param {(answer: any) => string} done
   */
  async act(method, path, body, done) {
    await this.#guarded(async () => {
      const options = { method, body: JSON.stringify(body), signal: this.signal };
      say(done(await getJson(`${ROOT}/${path}`, options)));
      this.lookAtAll();
    });
  }

  /**
   * A button that does something to one of what there is, by name.
   * @param {string} text
   * @param {string} name
   * @param {string} method
   * @param {string} path
   * @param {(answer: any) => string} done
   */
  button(text, name, method, path, done) {
    const key = `${text} ${name}`;
    const act = () => void this.act(method, path, {}, done);
    return h("button", { "aria-label": key, "data-key": key, onclick: act }, text);
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
