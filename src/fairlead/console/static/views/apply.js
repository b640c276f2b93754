/** Applying a text with any objects in it: what each would become first, then all of them. */

import { ApiError, isAborted, reasonOf } from "../core/api.js";
import { command } from "../core/commands.js";
import { fill, h } from "../core/dom.js";
import { ANYTHING, draftOf, dropDraft, keepDraft } from "../core/drafts.js";
import { objectPath, objectRoute } from "../core/paths.js";
import { problemsOf } from "../core/problems.js";
import { bar, faint } from "../parts/bits.js";
import { showProblems } from "../parts/checked.js";
import { commandLine } from "../parts/doing.js";
import { Editor } from "../parts/editor.js";
import { problem, say } from "../parts/messages.js";
import { kindOf, namespaceOf, piecesOf } from "./object/making.js";
import { showPlan } from "./object/planned.js";
import { apply, isSame, planOf } from "./object/planning.js";
import { MANAGER } from "./object/sending.js";

/** @import {Place} from "../app.js" */
/** @import {Piece} from "./object/making.js" */
/** @import {Plan, Wish} from "./object/planning.js" */
/** What comes of a document. @typedef {{piece: Piece, wish: Wish | null, plan: Plan | null, route: string, note: string}} Checked */

/** @param {Place} place */
export function show(place) {
  place.title("Apply");
  const view = new ApplyView(place);
  fill(place.host, view.element);
  if (view.editor.text) void view.check();
  else view.editor.area.focus();
}

class ApplyView {
  #isBusy = false;

  /** @param {Place} place */
  constructor(place) {
    this.place = place;
    this.editor = new Editor({
      label: "YAML to apply",
      changed: () => this.#typed(),
      check: () => void this.check(),
      leave: () => this.button.focus(),
    });
    this.editor.text = draftOf(ANYTHING)?.text ?? "";
    this.button = h(
      "button",
      { class: "primary", onclick: () => void this.check() },
      "What would happen?",
      h("kbd", {}, "Ctrl+S"),
    );
    this.file = h("input", {
      type: "file",
      "aria-label": "File to apply",
      onchange: () => void this.#read(),
    });
    this.outcome = h("div", { class: "outcome" });
    this.element = h(
      "div",
      { class: "editing" },
      bar(h("h1", {}, "Apply"), this.file, this.button),
      faint("Paste or drop a file, here or on any page. Nothing is applied until you say so."),
      this.editor.element,
      this.outcome,
    );
  }

  #typed() {
    keepDraft(ANYTHING, { text: this.editor.text, base: "" });
    fill(this.outcome);
  }

  async #read() {
    const [file] = this.file.files ?? [];
    if (!file) return;
    this.editor.replace(await file.text());
    await this.check();
  }

  async check() {
    if (this.#isBusy) return;
    this.#isBusy = true;
    const { text } = this.editor;
    /** @type {Piece | null} */
    let at = null;
    try {
      const pieces = piecesOf(text);
      /** @type {Checked[]} */
      const checked = [];
      for (const piece of pieces) {
        at = piece;
        checked.push(await this.#try(piece, pieces));
      }
      if (this.editor.text === text) this.#show(checked);
    } catch (error) {
      if (!isAborted(error)) this.#refused(error, at);
    } finally {
      this.#isBusy = false;
    }
  }

  /**
   * @param {Piece} piece
   * @param {Piece[]} pieces
   * @returns {Promise<Checked>}
   */
  async #try(piece, pieces) {
    const { place } = this;
    const kind = await kindOf(piece.head, place);
    const { name } = piece.head.metadata ?? {};
    if (!name) throw new Error("it must say its metadata.name");
    const named = { name, namespace: kind.namespaced ? namespaceOf(piece, place) : "" };
    const { signal } = place;
    const wish = { path: objectPath(kind, named), text: piece.text, manager: MANAGER, signal };
    const checked = { piece, wish, plan: null, route: objectRoute(kind, named), note: "" };
    try {
      return { ...checked, plan: await planOf(wish) };
    } catch (error) {
      const isNew = pieces.some(
        ({ head }) => head.kind === "Namespace" && head.metadata?.name === named.namespace,
      );
      if (!isNew || !(error instanceof ApiError) || error.code !== 404) throw error;
      return { ...checked, note: "It can be checked once its namespace is there." };
    }
  }

  /** @param {Checked[]} checked */
  #show(checked) {
    this.editor.note([]);
    if (!checked.length) return fill(this.outcome, problem("There is nothing to apply."));
    const taken = checked.reduce((sum, one) => sum + (one.plan?.conflicts.length ?? 0), 0);
    const title = checked.length > 1 ? `Apply all ${checked.length}` : "Apply";
    const word = taken ? `${title} and take over ${taken} fields` : title;
    const { catalogue } = this.place;
    const force = taken ? ["--force-conflicts"] : [];
    const flags = ["--server-side", `--field-manager=${MANAGER}`, ...force];
    const line = command(catalogue, "apply", ...flags, "-f", "FILE");
    const button = h(
      "button",
      { class: "primary", onclick: () => void this.#apply(checked) },
      word,
    );
    fill(
      this.outcome,
      bar(h("h2", {}, "What would happen"), button, commandLine(line)),
      checked.map(({ piece, plan, route, note }) => [
        h(
          "h3",
          {},
          h("a", { href: route }, `${piece.head.kind} ${piece.head.metadata?.name}`),
          plan && !plan.before.length && [" ", h("span", { class: "badge good" }, "new")],
        ),
        plan
          ? showPlan(plan, null, () => {}, ` in ${piece.head.kind} ${piece.head.metadata?.name}`)
          : faint(note),
      ]),
    );
    button.focus();
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
    fill(this.outcome, showProblems(problems, this.editor, reasonOf(error)));
  }

  /**
   * Whether something else would happen now than what was shown; then that is shown.
   * @param {Checked[]} checked
   */
  async #hasMoved(checked) {
    const now = await Promise.all(
      checked.map(async (one) => {
        const plan = one.wish && one.plan && (await planOf(one.wish).catch(() => null));
        return { ...one, plan };
      }),
    );
    const isOther = checked.some(
      ({ plan }, index) => plan && !(now[index].plan && isSame(plan, now[index].plan)),
    );
    if (!isOther) return false;
    say("It changed meanwhile: this is what would happen now.");
    this.#show(now);
    return true;
  }

  /** @param {Checked[]} checked */
  async #apply(checked) {
    if (this.#isBusy) return;
    this.#isBusy = true;
    try {
      if (await this.#hasMoved(checked)) return;
      for (const { piece, wish, plan } of checked) {
        if (!wish) continue;
        try {
          await apply(wish, { force: (plan?.conflicts.length ?? 0) > 0 || undefined });
        } catch (error) {
          if (!isAborted(error)) this.#refused(error, piece);
          return;
        }
      }
      dropDraft(ANYTHING);
      say(`Applied ${checked.length === 1 ? "it" : `all ${checked.length}`}.`);
      const links = checked.map(({ piece, route }) =>
        h("li", {}, h("a", { href: route }, `${piece.head.kind} ${piece.head.metadata?.name}`)),
      );
      fill(this.outcome, h("h2", {}, "Applied"), h("ul", { class: "links" }, links));
    } finally {
      this.#isBusy = false;
    }
  }
}
