/** What the server says of a text before it is taken: warnings, and what is wrong at which line. */

import { h } from "../core/dom.js";

/** @import {Problem} from "../core/problems.js" */
/** @import {Editor} from "./editor.js" */

/**
 * The warnings of an answer.
 * @param {Response} response
 * @returns {string[]}
 */
export function warningsOf(response) {
  const found = (response.headers.get("Warning") ?? "").matchAll(/299 \S+ "((?:[^"\\]|\\.)*)"/g);
  return [...found].map(([, text]) => text.replace(/\\(.)/g, "$1"));
}

/** @param {string[]} warnings */
export function showWarnings(warnings) {
  return warnings.map((text) => h("p", { class: "warning", role: "status" }, `Warning: ${text}`));
}

/**
 * Problems as a list, each leading to its line of the editor, which goes to the first of them.
 * @param {Problem[]} problems
 * @param {Editor} editor
 * @param {string} title
 */
export function showProblems(problems, editor, title) {
  editor.note(problems);
  const first = problems.find((one) => one.line >= 0);
  if (first) editor.goTo(first.line);
  return h(
    "div",
    { class: "problem", role: "alert" },
    h("strong", {}, title),
    h(
      "ul",
      {},
      problems.map(({ line, says }) =>
        h(
          "li",
          {},
          line >= 0 &&
            h("button", { class: "plain", onclick: () => editor.goTo(line) }, `line ${line + 1}`),
          line >= 0 && ": ",
          says,
        ),
      ),
    ),
  );
}
