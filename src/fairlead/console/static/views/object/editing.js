/** Editing an object: its text is checked by the server, the difference is shown, then it is saved.
 * What others do meanwhile is shown at once. */

import { ApiError, getText, isAborted, reasonOf, send, YAML_TYPE } from "../../core/api.js";
import { fill, h } from "../../core/dom.js";
import { draftOf, dropDraft, keepDraft } from "../../core/drafts.js";
import { MARKS, merge } from "../../core/merge.js";
import { problemsOf } from "../../core/problems.js";
import { scan, withoutManagers } from "../../core/yaml_scan.js";
import { ask } from "../../parts/asking.js";
import { showProblems, showWarnings, warningsOf } from "../../parts/checked.js";
import { showDifference } from "../../parts/difference.js";
import { Editor } from "../../parts/editor.js";
import { problem, say } from "../../parts/messages.js";
import { showMoved } from "./moved.js";

/** @import {Place} from "../../app.js" */
/** @import {Subject} from "../../core/subject.js" */

export const MANAGER = "fairlead-console";

/**
 * @param {Place} place
 * @param {Subject} subject
 * @param {() => void} done
 */
export async function edit(place, subject, done) {
  const ending = new AbortController();
  const signal = AbortSignal.any([place.signal, ending.signal]);
  const editing = new Editing(subject, signal, () => {
    ending.abort();
    done();
  });
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

/**
 * The text of an object that can be sent back.
 * @param {string} path
 * @param {AbortSignal} signal
 */
export async function editableText(path, signal) {
  return withoutManagers(await getText(path, { accept: YAML_TYPE, signal }));
}

/** @param {string} text */
function versionOf(text) {
  return scan(text).value?.metadata?.resourceVersion ?? "";
}

class Editing {
  #base = "";
  #isBusy = false;
  #frame = 0;
  /** @type {(mine: string) => void} */
  #tell = () => {};

  /**
   * @param {Subject} subject
   * @param {AbortSignal} signal
   * @param {() => void} done
   */
  constructor(subject, signal, done) {
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
      this.outcome,
    );
  }

  /** Take the draft that was left here, or the object as it is. */
  async begin() {
    const draft = draftOf(this.subject.path);
    this.#base = draft?.base ?? (await editableText(this.subject.path, this.signal));
    this.editor.text = draft?.text ?? this.#base;
    if (draft) {
      say("This is what you wrote here before.");
      void this.#look();
    }
    const look = () => void this.#look();
    this.subject.addEventListener("changed", look, { signal: this.signal });
  }

  #typed() {
    const isKept = keepDraft(this.subject.path, { text: this.editor.text, base: this.#base });
    fill(this.outcome, !isKept && problem("this text is too long to be kept when you leave"));
    cancelAnimationFrame(this.#frame);
    this.#frame = requestAnimationFrame(() => this.#tell(this.editor.text));
  }

  /** Look whether others changed the object since we began. */
  async #look() {
    if (this.#isBusy) return;
    if (this.subject.isGone) {
      fill(this.moved, problem("It was deleted meanwhile. What you wrote is still here."));
      return;
    }
    try {
      const theirs = await editableText(this.subject.path, this.signal);
      if (versionOf(theirs) === versionOf(this.#base)) fill(this.moved);
      else this.#show(theirs);
    } catch (error) {
      if (!isAborted(error)) fill(this.moved, problem(reasonOf(error)));
    }
  }

  /** @param {string} theirs */
  #show(theirs) {
    const texts = { base: this.#base, mine: this.editor.text, theirs };
    const choices = {
      rebase: () => this.#rebase(theirs),
      restart: () => this.#restart(theirs),
    };
    fill(this.outcome);
    const { element, tell } = showMoved(texts, choices);
    this.#tell = tell;
    fill(this.moved, element);
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

  /** @param {string} theirs */
  #restart(theirs) {
    this.#take(theirs, theirs);
  }

  /**
   * @param {string} base
   * @param {string} text
   */
  #take(base, text) {
    this.#base = base;
    fill(this.moved);
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
      const response = await this.#put(text, { dryRun: "All" }, YAML_TYPE);
      const after = withoutManagers(await response.text());
      if (this.editor.text === text) this.#showOutcome(text, after, warningsOf(response));
    } catch (error) {
      this.#refused(error, text);
    } finally {
      this.#isBusy = false;
    }
  }

  /**
   * @param {string} text
   * @param {Record<string, string>} query
   * @param {string} accept
   * @returns {Promise<Response>}
   */
  async #put(text, query, accept) {
    const options = {
      method: "PUT",
      body: text,
      type: YAML_TYPE,
      query: { ...query, fieldManager: MANAGER, fieldValidation: "Strict" },
      signal: this.signal,
    };
    try {
      return await send(this.subject.path, { ...options, accept });
    } catch (error) {
      // A refusal as YAML is not for us to read: ask for it once more.
      if (error instanceof ApiError && query.dryRun) return send(this.subject.path, options);
      throw error;
    }
  }

  /**
   * @param {unknown} error
   * @param {string} text
   */
  #refused(error, text) {
    if (isAborted(error)) return;
    if (error instanceof ApiError && error.code === 409 && error.reason === "Conflict") {
      this.#isBusy = false;
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
      h("div", { class: "bar" }, h("h2", {}, "This would change"), save),
      showWarnings(warnings),
      showDifference(this.#base.split("\n"), after.split("\n"), "What would change"),
    );
    save.focus();
    this.outcome.scrollIntoView({ block: "nearest" });
  }

  /** @param {string} text */
  async #save(text) {
    if (this.#isBusy) return;
    this.#isBusy = true;
    try {
      const response = await this.#put(text, {}, "");
      dropDraft(this.subject.path);
      say(["Saved.", ...warningsOf(response)].join(" "));
      this.done();
    } catch (error) {
      this.#refused(error, text);
    } finally {
      this.#isBusy = false;
    }
  }

  async #cancel() {
    const isChanged = this.editor.text !== this.#base;
    if (isChanged && !(await ask("Throw away what you wrote?", "Throw away"))) return;
    dropDraft(this.subject.path);
    this.done();
  }
}
