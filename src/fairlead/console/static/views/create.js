/** New objects from a text: checked by the server, looked at, then made one after another. */

import { isAborted } from "../core/api.js";
import { command } from "../core/commands.js";
import { fill, h } from "../core/dom.js";
import { draftOf, dropDraft, keepDraft } from "../core/drafts.js";
import { kindRoute, groupOf, objectRoute } from "../core/paths.js";
import { problemsOf } from "../core/problems.js";
import { go } from "../core/router.js";
import { yamlLines } from "../core/yaml_lines.js";
import { showProblems, showWarnings } from "../parts/checked.js";
import { showDifference } from "../parts/difference.js";
import { commandLine } from "../parts/doing.js";
import { Editor } from "../parts/editor.js";
import { nothing, problem, say } from "../parts/messages.js";
import { checkAll, make, piecesOf } from "./object/making.js";

/** @import {Place} from "../app.js" */
/** @import {Kind} from "../core/kinds.js" */
/** @import {Checked, Piece} from "./object/making.js" */

const NAME = "\n  name: ";

/** @param {Place} place */
export function show(place) {
  const [, group, plural] = place.route.parts;
  const kind = place.catalogue.find(groupOf(group ?? ""), plural ?? "");
  if (!kind) return fill(place.host, nothing("there is no such kind"));
  place.title(`New ${kind.kind}`);
  const creating = new Creating(place, kind);
  fill(place.host, creating.element);
  creating.begin();
}

/**
 * What every object begins with.
 * @param {Kind} kind
 * @param {string} namespace
 */
function beginning(kind, namespace) {
  const apiVersion = kind.group ? `${kind.group}/${kind.version}` : kind.version;
  const inside = kind.namespaced ? `\n  namespace: ${namespace || "default"}` : "";
  return `apiVersion: ${apiVersion}\nkind: ${kind.kind}\nmetadata:${NAME}${inside}\n`;
}

class Creating {
  #isBusy = false;
  /** @type {Set<string>} */
  #made = new Set(); // documents that need not be made again

  /**
   * @param {Place} place
   * @param {Kind} kind
   */
  constructor(place, kind) {
    this.place = place;
    this.kind = kind;
    this.draft = `create ${kind.group}/${kind.plural}`;
    this.base = beginning(kind, place.namespace);
    this.editor = new Editor({
      label: "YAML of new objects",
      changed: () => this.#typed(),
      check: () => void this.#check(),
      leave: () => this.button.focus(),
    });
    this.editor.text = draftOf(this.draft)?.text ?? this.base;
    this.button = h(
      "button",
      { class: "primary", onclick: () => void this.#check() },
      "Check",
      h("kbd", {}, "Ctrl+S"),
    );
    this.outcome = h("div", { class: "outcome" });
    this.element = this.#frame();
  }

  /** Begin where the name goes, or where somebody left off. */
  begin() {
    const { area, text } = this.editor;
    const at = text === this.base ? text.indexOf(NAME) + NAME.length : text.length;
    area.focus();
    area.setSelectionRange(at, at);
  }

  #frame() {
    return h(
      "div",
      { class: "editing" },
      h(
        "div",
        { class: "bar" },
        h("h1", {}, "New ", h("a", { href: kindRoute(this.kind) }, this.kind.kind)),
        this.button,
        h("button", { onclick: () => this.#cancel() }, "Cancel"),
        h("span", { class: "faint" }, "Several documents, parted by ---, are made in their order."),
      ),
      this.editor.element,
      this.outcome,
    );
  }

  #typed() {
    const isKept = keepDraft(this.draft, { text: this.editor.text, base: this.base });
    fill(this.outcome, !isKept && problem("this text is too long to be kept when you leave"));
  }

  #cancel() {
    dropDraft(this.draft);
    go(kindRoute(this.kind));
  }

  async #check() {
    if (this.#isBusy) return;
    this.#isBusy = true;
    const { text } = this.editor;
    try {
      const pieces = this.#pieces(text);
      const checked = await checkAll(pieces, this.place);
      if (this.editor.text === text) this.#show(checked);
    } catch (error) {
      if (!isAborted(error)) this.#refused(error, null);
    } finally {
      this.#isBusy = false;
    }
  }

  /** @param {string} text */
  #pieces(text) {
    return piecesOf(text).filter((one) => !this.#made.has(one.text));
  }

  /** @param {Checked[]} checked */
  #show(checked) {
    const failed = checked.find((one) => one.error);
    if (failed) return this.#refused(failed.error, failed.piece);
    this.editor.note([]);
    if (!checked.length) return fill(this.outcome, problem("There is nothing to make."));
    const pieces = checked.map((one) => one.piece);
    const button = h(
      "button",
      { class: "primary", onclick: () => void this.#make(pieces) },
      checked.length > 1 ? `Create all ${checked.length}` : "Create",
    );
    const line = command(this.place.catalogue, "create", "-f", "FILE");
    fill(
      this.outcome,
      h("div", { class: "bar" }, h("h2", {}, "This would be made"), button, commandLine(line)),
      checked.flatMap((one) => [
        h("h3", {}, `${one.piece.head.kind ?? ""} ${one.made?.metadata.name ?? ""}`),
        ...showWarnings(one.warnings),
        one.made ? this.#preview(one.made) : h("p", { class: "faint" }, one.note),
      ]),
    );
    button.focus();
  }

  /** @param {any} made */
  #preview(made) {
    const { managedFields, ...metadata } = made.metadata;
    const lines = yamlLines({ ...made, metadata }).map((line) => line.text);
    return showDifference([], lines, `New ${made.kind}`);
  }

  /**
   * @param {unknown} error
   * @param {Piece | null} piece
   */
  #refused(error, piece) {
    const problems = problemsOf(error, piece?.text ?? "").map(({ line, says }) => ({
      line: piece ? Math.max(line, 0) + piece.before : -1,
      says,
    }));
    const title = [piece?.head.kind, piece?.head.metadata?.name].filter(Boolean).join(" ");
    fill(this.outcome, showProblems(problems, this.editor, `${title || "This"} cannot be made`));
  }

  /** @param {Piece[]} pieces */
  async #make(pieces) {
    if (this.#isBusy) return;
    this.#isBusy = true;
    let last = "";
    for (const piece of pieces) {
      try {
        const { kind, object } = await make(piece, this.place);
        this.#made.add(piece.text);
        last = objectRoute(kind, object.metadata);
        say(`Made ${kind.kind} ${object.metadata.name}.`);
      } catch (error) {
        this.#isBusy = false;
        if (!isAborted(error)) this.#refused(error, piece);
        return;
      }
    }
    dropDraft(this.draft);
    go(pieces.length > 1 ? kindRoute(this.kind) : last);
  }
}
