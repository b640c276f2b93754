/** Something is about to be done: what it means, the command that does the same, and a button. */

import { isAborted, reasonOf } from "../core/api.js";
import { fill, h } from "../core/dom.js";
import { problem, say } from "./messages.js";

/** @import {Children} from "../core/dom.js" */
/**
 * @typedef {object} Deed
 * @property {string} title
 * @property {Children} [says] what it means
 * @property {HTMLElement[]} [fields] what can be chosen; the command is shown again when they change
 * @property {() => string} command lines of it
 * @property {string} yes what the button says
 * @property {(signal: AbortSignal) => Promise<string>} run resolves to what is to be said then
 * @property {boolean} [isGrave] whether the button that does nothing has the focus
 * @property {Promise<unknown>} [ready] when all that it means is told; it cannot be done before
 */

/**
 * @param {Deed} deed
 * @param {AbortSignal} signal
 */
export function offer(deed, signal) {
  const failed = h("div");
  const line = commandLine("");
  const tell = () => fill(line, deed.command());
  const run = async () => {
    doing.disabled = true;
    fill(failed);
    try {
      say(await deed.run(signal));
      dialog.close();
    } catch (error) {
      doing.disabled = false;
      if (!isAborted(error)) fill(failed, problem(reasonOf(error)));
    }
  };
  const look = deed.isGrave ? "primary grave" : "primary";
  const doing = h("button", { class: look, autofocus: !deed.isGrave }, deed.yes);
  if (deed.ready) {
    doing.disabled = true;
    void deed.ready.finally(() => (doing.disabled = false));
  }
  const dialog = h(
    "dialog",
    { class: "doing", "aria-labelledby": "doing-title", onclose: () => dialog.remove() },
    h("h2", { id: "doing-title", class: "wrap" }, deed.title),
    h(
      "form",
      {
        onsubmit: (/** @type {Event} */ event) => {
          event.preventDefault();
          void run();
        },
        oninput: tell,
      },
      deed.says,
      deed.fields,
      h("p", { class: "faint" }, "The same from a terminal:"),
      h(
        "div",
        { class: "bar" },
        line,
        copyButton(() => line.textContent ?? ""),
      ),
      failed,
      h(
        "div",
        { class: "bar ends" },
        doing,
        h(
          "button",
          { type: "button", autofocus: deed.isGrave, onclick: () => dialog.close() },
          deed.isGrave ? "Keep it" : "Cancel",
        ),
      ),
    ),
  );
  signal.addEventListener("abort", () => dialog.close());
  tell();
  document.body.append(dialog);
  dialog.showModal();
}

/**
 * A command that does the same, beside the button that does it.
 * @param {string} text
 */
export function commandLine(text) {
  return h("code", { class: "command wrap", tabindex: 0 }, text);
}

/** @param {() => string} text */
export function copyButton(text) {
  const copy = () =>
    navigator.clipboard.writeText(text()).then(
      () => say("Copied."),
      () => say("The browser does not allow it: choose the text and copy it by hand."),
    );
  return h("button", { type: "button", onclick: () => void copy() }, "Copy");
}
