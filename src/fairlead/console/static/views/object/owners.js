/** An object with every field coloured by its managers, and what an apply would do to it. */

import { command } from "../../core/commands.js";
import { fill, h } from "../../core/dom.js";
import { fieldsOf, managersOf, ownersByPath } from "../../core/fields.js";
import { bind } from "../../core/keys.js";
import { pastOf, userOf } from "../../core/past.js";
import { masked } from "../../core/secrets.js";
import { age, clock } from "../../core/time.js";
import { yamlLines } from "../../core/yaml_lines.js";
import { Document } from "../../parts/document.js";
import { huesOf } from "../../parts/hues.js";
import { redraw } from "../../parts/steady.js";
import { Applying } from "./applying.js";
import { takeovers } from "./takeovers.js";

/** @import {Place} from "../../app.js" */
/** @import {Manager} from "../../core/fields.js" */
/** @import {Change} from "../../core/past.js" */
/** @import {Subject} from "../../core/subject.js" */
/** @import {Line, Path} from "../../core/yaml_lines.js" */
/** @import {Conflict} from "./planning.js" */
/** @import {Extra} from "../../parts/document.js" */

/**
 * @param {Place} place
 * @param {Subject} subject
 */
export function show(place, subject) {
  const { signal } = place;
  const owned = new Owned(subject);
  const applying = new Applying(subject, signal, {
    found: (conflicts) => owned.mark(conflicts),
    goTo: (path) => owned.document.goTo(path),
    line: (...words) => command(place.catalogue, ...words),
  });
  const open = () => {
    const isOpen = !button.hasAttribute("aria-expanded") || button.ariaExpanded === "false";
    button.ariaExpanded = String(isOpen);
    fill(panel, isOpen && applying.element);
    if (isOpen) applying.focus();
    else owned.mark([]);
  };
  const button = h(
    "button",
    { onclick: open, "aria-expanded": "false" },
    "What if I applied…",
    h("kbd", {}, "w"),
  );
  const panel = h("div", { class: "panel" });
  fill(
    place.host,
    h("div", { class: "bar" }, owned.legend, h("span", { class: "gap" }), button),
    owned.told,
    owned.lost,
    h("div", { class: "beside-panel" }, owned.document.element, panel),
  );
  subject.addEventListener("changed", () => owned.draw(), { signal });
  subject.addEventListener("changed", () => void owned.remember(signal), { signal });
  void owned.remember(signal);
  bind({ key: "w", says: "what would an apply do", run: open }, signal);
  for (let number = 0; number <= 9; number++) {
    const run = () => owned.choose(number - 1);
    bind({ key: String(number), says: sayingOf(number), run }, signal);
  }
  owned.draw();
}

/** @param {number} number */
function sayingOf(number) {
  return number ? `fields of manager ${number}` : "fields of all managers";
}

/** The object by owners. */
class Owned {
  document = new Document("Fields by manager");
  legend = h("div", { class: "legend", role: "group", "aria-label": "Managers" });
  told = h("p", { class: "told faint", role: "status" }, "Arrow keys tell whose a line is.");
  /** What of its past tells who changed what hands. */
  lost = h("div");
  /** @type {Change[]} */
  #changes = [];
  /** @type {Manager[]} */
  #managers = [];
  #chosen = "";
  /** @type {Conflict[]} */
  #conflicts = [];
  /** @type {Map<string, number>} */
  #hues = new Map();
  /** @type {(path: Path) => Manager[]} */
  #ownersOf = () => [];

  /** @param {Subject} subject */
  constructor(subject) {
    this.subject = subject;
    this.document.looked = (line) => this.#tell(line);
  }

  draw() {
    const { object } = this.subject;
    const { managedFields, ...metadata } = object.metadata;
    // By name, so that keys and places stay the same whoever writes.
    this.#managers = managersOf(object).sort((a, b) => (a.id < b.id ? -1 : 1));
    this.#hues = huesOf(this.#managers.map((one) => one.name));
    this.#ownersOf = ownersByPath(fieldsOf(object));
    const lines = yamlLines(masked({ ...object, metadata }));
    const notes = this.#notes(lines);
    this.document.show(lines, (line) => this.#extra(line, notes.get(line)));
    this.#drawLegend(lines);
  }

  /**
   * Learn from the history which users are behind the managers, and who lost what to whom.
   * @param {AbortSignal} signal
   */
  async remember(signal) {
    const { kind, named, path } = this.subject;
    // Another server of the API has no history; then managers are all that is known.
    const past = await pastOf(path, {}, signal).catch(() => null);
    if (!past) return;
    this.#changes = past.items;
    redraw(
      this.lost,
      past.items.filter((one) => one.lost),
      (items) => takeovers(kind, named, items),
    );
    this.draw();
  }

  /** @param {Manager} manager */
  #worded = (manager) => {
    const user = userOf(this.#changes, manager);
    const when = manager.time ? `, ${age(manager.time)} ago at ${clock(manager.time)}` : "";
    return `${manager.name} (${manager.way}${user && ` by ${user}`}${when})`;
  };

  /**
   * Keep to the fields of one manager, or of all.
   * @param {number} index
   */
  choose(index) {
    const id = this.#managers[index]?.id ?? "";
    this.#chosen = id === this.#chosen ? "" : id;
    this.draw();
  }

  /** @param {Conflict[]} conflicts */
  mark(conflicts) {
    this.#conflicts = conflicts;
    this.draw();
  }

  /** @param {Line[]} lines */
  #drawLegend(lines) {
    const counts = new Map();
    for (const line of lines) {
      for (const { id } of this.#ownersOf(line.path)) counts.set(id, (counts.get(id) ?? 0) + 1);
    }
    const focused = [...this.legend.children].indexOf(
      /** @type {Element} */ (document.activeElement),
    );
    fill(
      this.legend,
      this.#managers.map((one, index) => this.#chip(one, index, counts.get(one.id) ?? 0)),
      !this.#managers.length && h("span", { class: "faint" }, "Nobody owns a field of it."),
    );
    const chip = this.legend.children[focused];
    if (chip instanceof HTMLElement) chip.focus();
  }

  /**
   * @param {Manager} manager
   * @param {number} index
   * @param {number} count
   */
  #chip(manager, index, count) {
    return h(
      "button",
      {
        class: "chip",
        "aria-pressed": String(manager.id === this.#chosen),
        title: `${this.#worded(manager)}: ${count} lines`,
        style: { "--a": String(this.#hues.get(manager.name)) },
        onclick: () => this.choose(index),
      },
      h("span", { class: "swatch", "aria-hidden": "true" }),
      manager.name,
      h("small", { class: "faint" }, ` ${[manager.way, age(manager.time)].join(" ").trim()}`),
      index < 9 && h("kbd", {}, index + 1),
    );
  }

  /**
   * The names beside lines: where another manager begins.
   * @param {Line[]} lines
   */
  #notes(lines) {
    const notes = new Map();
    let last = "";
    for (const line of lines) {
      const owners = this.#ownersOf(line.path);
      const names = [...new Set(owners.map((one) => one.name))].sort().join(" + ");
      if (names && names !== last) notes.set(line, names);
      if (names) last = names;
    }
    return notes;
  }

  /**
   * @param {Line} line
   * @param {string | undefined} note
   * @returns {Extra}
   */
  #extra(line, note) {
    const owners = this.#ownersOf(line.path);
    const conflict = this.#conflictAt(line);
    const [a, b = a] = [...new Set(owners.map((one) => this.#hues.get(one.name)))];
    const isDim = this.#chosen && !owners.some((one) => one.id === this.#chosen);
    const marks = [
      owners.length && "owned",
      owners.length > 1 && "shared",
      isDim && "dim",
      conflict && "conflict",
    ];
    return {
      mark: marks.filter(Boolean).join(" "),
      style: owners.length ? { "--a": String(a), "--b": String(b) } : undefined,
      hint: owners.map(this.#worded).join("\n") || undefined,
      note: conflict
        ? h("strong", { class: "bad" }, `conflict with ${conflict.with}: yours is ${conflict.mine}`)
        : note,
    };
  }

  /** @param {Line} line */
  #conflictAt(line) {
    const path = JSON.stringify(line.path);
    return this.#conflicts.find((one) => JSON.stringify(one.path) === path);
  }

  /** @param {Line} line */
  #tell(line) {
    const owners = this.#ownersOf(line.path).map(this.#worded);
    const name = line.path.join(".");
    fill(this.told, h("code", {}, name), ": ", owners.join(" and ") || "nobody owns this");
  }
}
