/** "What would happen if I applied this file": conflicts, the difference, who gets what, and then a
 * button that does it. */

import { isAborted, reasonOf } from "../../core/api.js";
import { fill, h } from "../../core/dom.js";
import { draftOf, keepDraft } from "../../core/drafts.js";
import { problemsOf } from "../../core/problems.js";
import { documentsOf, scan } from "../../core/yaml_scan.js";
import { ask } from "../../parts/asking.js";
import { showProblems } from "../../parts/checked.js";
import { commandLine } from "../../parts/doing.js";
import { Editor } from "../../parts/editor.js";
import { say } from "../../parts/messages.js";
import { MANAGER } from "./sending.js";
import { showPlan } from "./planned.js";
import { apply, isSame, planOf } from "./planning.js";

/** @import {Subject} from "../../core/subject.js" */
/** @import {Path} from "../../core/yaml_lines.js" */
/** @import {Conflict, Plan, Wish} from "./planning.js" */
/** @typedef {{found: (conflicts: Conflict[]) => void, goTo: (path: Path) => void, line: (...words: string[]) => string}} Beside the object, and a command line of words */

export class Applying {
  /**
   * @param {Subject} subject
   * @param {AbortSignal} signal
   * @param {Beside} beside
   */
  constructor(subject, signal, beside) {
    this.subject = subject;
    this.signal = signal;
    this.beside = beside;
    this.editor = new Editor({
      label: "YAML to apply",
      changed: () => this.#typed(),
      check: () => void this.#ask(),
      leave: () => this.button.focus(),
    });
    this.draft = `apply ${subject.path}`;
    this.editor.text = draftOf(this.draft)?.text ?? "";
    this.manager = h("input", {
      type: "text",
      "aria-label": "Field manager",
      value: MANAGER,
      maxlength: 128,
      oninput: () => this.#forget(),
    });
    this.file = h("input", {
      type: "file",
      "aria-label": "File to apply",
      onchange: () => void this.#read(this.file.files),
    });
    this.button = h(
      "button",
      { class: "primary", onclick: () => void this.#ask() },
      "What would happen?",
      h("kbd", {}, "Ctrl+S"),
    );
    this.outcome = h("div", { class: "outcome" });
    this.element = this.#frame();
  }

  focus() {
    this.editor.area.focus();
  }

  #frame() {
    /** @param {DragEvent} event */
    const dropped = (event) => {
      event.preventDefault();
      void this.#read(event.dataTransfer?.files ?? null);
    };
    return h(
      "section",
      {
        class: "editing",
        "aria-label": "What if I applied this",
        ondragover: (/** @type {Event} */ event) => event.preventDefault(),
        ondrop: dropped,
      },
      h(
        "div",
        { class: "bar" },
        h("label", {}, "Field manager ", this.manager),
        this.file,
        this.button,
      ),
      h("p", { class: "faint" }, "Paste or drop a file. Nothing is applied until you say so."),
      this.editor.element,
      this.outcome,
    );
  }

  /** @param {FileList | null} files */
  async #read(files) {
    const file = files?.[0];
    if (!file) return;
    this.editor.replace(await file.text());
    await this.#ask();
  }

  #typed() {
    keepDraft(this.draft, { text: this.editor.text, base: "" });
    this.#forget();
  }

  #forget() {
    fill(this.outcome);
    this.beside.found([]);
  }

  /** The one of several documents that is about this object, and where it begins. */
  #document() {
    const { text } = this.editor;
    const about = documentsOf(text).filter((one) => {
      const { value } = scan(one.text);
      return (
        value?.kind === this.subject.kind.kind && value.metadata?.name === this.subject.named.name
      );
    });
    return about.length === 1 ? about[0] : { text, before: 0 };
  }

  /** @returns {Wish} */
  #wish() {
    const { path } = this.subject;
    const { text } = this.#document();
    return { path, text, manager: this.manager.value, signal: this.signal };
  }

  async #ask() {
    const wish = this.#wish();
    try {
      const plan = await planOf(wish);
      if (this.#wish().text === wish.text) this.#show(wish, plan);
    } catch (error) {
      this.#refused(error);
    }
  }

  /** @param {unknown} error */
  #refused(error) {
    if (isAborted(error)) return;
    const { text, before } = this.#document();
    const problems = problemsOf(error, text).map(({ line, says }) => ({
      line: line < 0 ? line : line + before,
      says,
    }));
    this.beside.found([]);
    fill(this.outcome, showProblems(problems, this.editor, reasonOf(error)));
  }

  /**
   * @param {Wish} wish
   * @param {Plan} plan
   */
  #show(wish, plan) {
    this.editor.note([]);
    this.beside.found(plan.conflicts);
    const word = plan.conflicts.length ? "Apply and take over" : "Apply";
    const button = h("button", { onclick: () => void this.#apply(wish, plan) }, word);
    const force = plan.conflicts.length ? ["--force-conflicts"] : [];
    const flags = ["--server-side", `--field-manager=${wish.manager}`, ...force];
    const line = commandLine(this.beside.line("apply", ...flags, "-f", "FILE"));
    fill(this.outcome, showPlan(plan, [button, line], this.beside.goTo));
  }

  /**
   * @param {Wish} wish
   * @param {Plan} plan what was shown
   */
  async #apply(wish, plan) {
    const force = plan.conflicts.length > 0;
    const { kind, named } = this.subject;
    const what = `${kind.kind} ${named.name} as ${wish.manager}`;
    const taken = force ? `, taking ${plan.conflicts.length} fields from others` : "";
    if (!(await ask(`Apply this to ${what}${taken}?`, force ? "Take over" : "Apply"))) return;
    try {
      const now = await planOf(wish);
      if (!isSame(now, plan)) {
        this.#show(wish, now);
        say("It changed meanwhile: this is what would happen now.");
        return;
      }
      await apply(wish, { force: force || undefined });
      say("Applied.");
      this.#forget();
    } catch (error) {
      this.#refused(error);
    }
  }
}
