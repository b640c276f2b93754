/** An object as YAML, to read and to edit. */

import { difference } from "../../core/diff.js";
import { fill, h } from "../../core/dom.js";
import { draftOf } from "../../core/drafts.js";
import { bind } from "../../core/keys.js";
import { isSecret, masked } from "../../core/secrets.js";
import { yamlLines } from "../../core/yaml_lines.js";
import { Document } from "../../parts/document.js";
import { say } from "../../parts/messages.js";
import { edit } from "./editing.js";

/** @import {Place} from "../../app.js" */
/** @import {Subject} from "../../core/subject.js" */
/** @import {Line} from "../../core/yaml_lines.js" */

const FRESH = 4000; // milliseconds for which a changed line is marked

/**
 * @param {Place} place
 * @param {Subject} subject
 */
export function show(place, subject) {
  if (draftOf(subject.path)) void edit(place, subject, () => read(place, subject));
  else read(place, subject);
}

/**
 * @param {Place} place
 * @param {Subject} subject
 */
function read(place, subject) {
  const reading = new AbortController();
  const signal = AbortSignal.any([place.signal, reading.signal]);
  const text = new Text(subject, signal);
  const open = () => {
    if (!subject.kind.verbs.includes("update")) return;
    reading.abort();
    void edit(place, subject, () => read(place, subject));
  };
  const managers = switchOf("Managed fields", () => text.change({ managers: managers.checked }));
  const values = switchOf("Values", () => text.change({ values: values.checked }));
  fill(
    place.host,
    h(
      "div",
      { class: "bar" },
      h(
        "button",
        { class: "primary", disabled: !subject.kind.verbs.includes("update"), onclick: open },
        "Edit",
        h("kbd", {}, "e"),
      ),
      h("button", { onclick: () => void text.copy() }, "Copy"),
      h("label", {}, managers, " Managed fields"),
      isSecret(subject.object) && h("label", {}, values, " Values"),
      text.state,
    ),
    text.document.element,
  );
  bind({ key: "e", says: "edit this object", run: open }, signal);
  bind({ key: "m", says: "managed fields", run: () => managers.click() }, signal);
  text.draw();
}

/**
 * @param {string} label
 * @param {() => void} changed
 */
function switchOf(label, changed) {
  return h("input", { type: "checkbox", "aria-label": label, onchange: changed });
}

/** What of an object is shown as text. */
class Text {
  document = new Document("YAML");
  state = h("span", { class: "faint", role: "status" });
  #chosen = { managers: false, values: false };
  /** @type {Line[]} */
  #lines = [];
  #timer = 0;

  /**
   * @param {Subject} subject
   * @param {AbortSignal} signal
   */
  constructor(subject, signal) {
    this.subject = subject;
    subject.addEventListener("changed", () => this.draw(), { signal });
    signal.addEventListener("abort", () => clearTimeout(this.#timer));
  }

  /** @param {{managers?: boolean, values?: boolean}} chosen */
  change(chosen) {
    Object.assign(this.#chosen, chosen);
    this.#lines = [];
    this.draw();
  }

  /** Show it as it is now, with what changed marked for a moment. */
  draw() {
    const before = this.#lines;
    this.#lines = yamlLines(this.#shown());
    const fresh = before.length ? changed(before, this.#lines) : new Set();
    this.document.show(this.#lines, (line) => (fresh.has(line) ? { mark: "fresh" } : {}));
    fill(this.state, fresh.size ? `${fresh.size} lines changed` : "");
    clearTimeout(this.#timer);
    if (fresh.size) {
      this.#timer = setTimeout(() => {
        fill(this.state);
        this.document.show(this.#lines);
      }, FRESH);
    }
  }

  async copy() {
    try {
      await navigator.clipboard.writeText(this.#lines.map((line) => `${line.text}\n`).join(""));
      say("Copied.");
    } catch {
      say("The browser does not let us copy.");
    }
  }

  #shown() {
    const { object } = this.subject;
    const { managedFields, ...metadata } = object.metadata;
    const kept = this.#chosen.managers ? object : { ...object, metadata };
    return this.#chosen.values ? kept : masked(kept);
  }
}

/**
 * The lines that were not there before.
 * @param {Line[]} before
 * @param {Line[]} after
 */
function changed(before, after) {
  const steps = difference(textsOf(before), textsOf(after));
  return new Set(steps.filter((one) => one.sign === "+").map((one) => after[one.right - 1]));
}

/** @param {Line[]} lines */
function textsOf(lines) {
  return lines.map((line) => line.text);
}
