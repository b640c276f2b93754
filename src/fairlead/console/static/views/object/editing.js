/** Editing an object: its text is checked by the server, the difference is shown, then it is saved.
 * What others do meanwhile is shown at once. */

import { ApiError, isAborted, reasonOf } from "../../core/api.js";
import { command } from "../../core/commands.js";
import { fill, h } from "../../core/dom.js";
import { draftOf, dropDraft, keepDraft } from "../../core/drafts.js";
import { MARKS, merge } from "../../core/merge.js";
import { problemsOf } from "../../core/problems.js";
import { withoutManagers } from "../../core/yaml_scan.js";
import { ask } from "../../parts/asking.js";
import { showProblems, showWarnings, warningsOf } from "../../parts/checked.js";
import { showDifference } from "../../parts/difference.js";
import { commandLine } from "../../parts/doing.js";
import { Editor } from "../../parts/editor.js";
import { problem, say } from "../../parts/messages.js";
import { showMoved } from "./moved.js";
import { editableText, sendText, tryText, versionOf } from "./sending.js";

/** @import {Place} from "../../app.js" */
/** @import {Subject} from "../../core/subject.js" */

/**
 * @param {Place} place
 * @param {Subject} subject
 * @param {() => void} done
 */
export async function edit(place, subject, done) {
  const ending = new AbortController();
  const signal = AbortSignal.any([place.signal, ending.signal]);
  const leave = () => {
    ending.abort();
    done();
  };
  const line = command(place.catalogue, "replace", "-f", "FILE");
  const editing = new Editing(subject, signal, leave, line);
  try {
    await editing.begin();
  } catch (error) {
    if (!isAborted(error)) fill(place.host, problem(reasonOf(error)));
    return;
  }
  fill(place.host, editing.element);
  editing.editor.area.focus();
  editing.editor.area.setSelectionRange(0, 0);
}

class Editing {
  #base = "";
  #isBusy = false;
  #isSaving = false;
  #looks = 0;
  #frame = 0;
  /** @type {(mine: string) => void} */
  #tell = () => {};

  /**
   * @param {Subject} subject
   * @param {AbortSignal} signal
   * @param {() => void} done
   * @param {string} command line that does the same
   */
  constructor(subject, signal, done, command) {
    this.command = command;
    this.subject = subject;
    this.signal = signal;
    this.done = done;
    this.editor = new Editor({
      label: "YAML of the object",
      changed: () => this.#typed(),
      check: () => void this.#check(),
      leave: () => this.checkButton.focus(),
    });
    this.checkButton = h(
      "button",
      { class: "primary", onclick: () => void this.#check() },
      "Check",
      h("kbd", {}, "Ctrl+S"),
    );
    this.moved = h("div", { class: "moved" });
    this.others = h("div", { class: "moved" });
    this.outcome = h("div", { class: "outcome" });
    this.element = h(
      "div",
      { class: "editing" },
      h(
        "div",
        { class: "bar" },
        this.checkButton,
        h("button", { onclick: () => void this.#cancel() }, "Cancel"),
        h("span", { class: "faint" }, "Tab indents, Escape leaves the text."),
      ),
      this.moved,
      this.editor.element,
      this.others,
      this.outcome,
    );
  }

  /** Take the draft that was left here, or the object as it is. */
  async begin() {
    const draft = draftOf(this.subject.path);
    this.#base = draft?.base ?? (await editableText(this.subject.path, this.signal));
    this.editor.text = draft?.text ?? this.#base;
    if (draft) say("This is what you wrote here before.");
    const look = () => void this.#look();
    this.subject.addEventListener("changed", look, { signal: this.signal });
    look(); // it may have changed before we listened
  }

  #typed() {
    const isKept = keepDraft(this.subject.path, { text: this.editor.text, base: this.#base });
    fill(this.outcome, !isKept && problem("this text is too long to be kept when you leave"));
    cancelAnimationFrame(this.#frame);
    this.#frame = requestAnimationFrame(() => this.#tell(this.editor.text));
  }

  /** Look whether others changed the object since we began. */
  async #look() {
    if (this.#isSaving) return;
    const look = ++this.#looks;
    if (this.subject.isGone) {
      this.#stay();
      fill(this.moved, problem("It was deleted meanwhile. What you wrote is still here."));
      return;
    }
    try {
      const theirs = await editableText(this.subject.path, this.signal);
      if (look !== this.#looks) return;
      if (versionOf(theirs) === versionOf(this.#base)) this.#stay();
      else this.#show(theirs);
    } catch (error) {
      if (!isAborted(error)) fill(this.moved, problem(reasonOf(error)));
    }
  }

  /** Nobody changed it. */
  #stay() {
    this.#tell = () => {};
    fill(this.moved);
    fill(this.others);
  }

  /** @param {string} theirs */
  #show(theirs) {
    const texts = { base: this.#base, mine: this.editor.text, theirs };
    const choices = {
      rebase: () => this.#rebase(theirs),
      restart: () => this.#take(theirs, theirs),
    };
    fill(this.outcome);
    const { line, full, tell } = showMoved(texts, choices);
    this.#tell = tell;
    fill(this.moved, line);
    fill(this.others, full);
  }

  /** @param {string} theirs */
  #rebase(theirs) {
    const [base, mine, other] = [this.#base, this.editor.text, theirs].map((one) =>
      one.split("\n"),
    );
    const { lines, conflicts } = merge(base, mine, other);
    this.#take(theirs, lines.join("\n"));
    if (conflicts) this.#showMarks();
    else say("Your changes are on top of theirs now.");
  }

  /**
   * @param {string} base
   * @param {string} text
   */
  #take(base, text) {
    this.#base = base;
    this.#stay();
    this.editor.note([]);
    this.editor.replace(text);
  }

  /** @returns {boolean} whether there are any marks of conflicts */
  #showMarks() {
    const found = this.editor.text
      .split("\n")
      .flatMap((text, line) =>
        text === MARKS.mine ? [{ line, says: "you and others changed this differently" }] : [],
      );
    if (!found.length) return false;
    fill(this.outcome, showProblems(found, this.editor, "Choose what stays, and remove the marks"));
    return true;
  }

  async #check() {
    if (this.#isBusy || this.#showMarks()) return;
    const { text } = this.editor;
    if (text === this.#base) {
      fill(this.outcome, h("p", { role: "status" }, "You have changed nothing."));
      return;
    }
    this.#isBusy = true;
    try {
      const response = await tryText(this.subject.path, text, this.signal);
      const after = withoutManagers(await response.text());
      if (this.editor.text === text) this.#showOutcome(text, after, warningsOf(response));
    } catch (error) {
      this.#refused(error, text);
    } finally {
      this.#isBusy = false;
    }
  }

  /**
   * @param {unknown} error
   * @param {string} text
   */
  #refused(error, text) {
    if (isAborted(error)) return;
    if (error instanceof ApiError && error.code === 409 && error.reason === "Conflict") {
      fill(this.outcome, problem(error.message));
      void this.#look();
      return;
    }
    const title = error instanceof ApiError ? error.message : "That did not work";
    fill(this.outcome, showProblems(problemsOf(error, text), this.editor, title));
  }

  /**
   * @param {string} text
   * @param {string} after
   * @param {string[]} warnings
   */
  #showOutcome(text, after, warnings) {
    const save = h("button", { class: "primary", onclick: () => void this.#save(text) }, "Save");
    this.editor.note([]);
    fill(
      this.outcome,
      h("div", { class: "bar" }, h("h2", {}, "This would change"), save, commandLine(this.command)),
      showWarnings(warnings),
      showDifference(this.#base.split("\n"), after.split("\n"), "What would change"),
    );
    save.focus();
    this.outcome.scrollIntoView({ block: "nearest" });
  }

  /** @param {string} text */
  async #save(text) {
    if (this.#isSaving) return;
    this.#isSaving = true;
    try {
      const response = await sendText(this.subject.path, text, this.signal);
      dropDraft(this.subject.path);
      await this.subject.load(this.signal).catch(() => {});
      say(["Saved.", ...warningsOf(response)].join(" "));
      this.done();
    } catch (error) {
      this.#isSaving = false;
      this.#refused(error, text);
    }
  }

  async #cancel() {
    const isChanged = this.editor.text !== this.#base;
    if (isChanged && !(await ask("Throw away what you wrote?", "Throw away"))) return;
    dropDraft(this.subject.path);
    this.done();
  }
}
