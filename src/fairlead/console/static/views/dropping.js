/** Files that are dropped anywhere, and YAML that is pasted where nobody types, are to be applied. */

import { ANYTHING, keepDraft } from "../core/drafts.js";
import { go } from "../core/router.js";

const ROUTE = "#/apply";
const OBJECT = /^\s*["']?kind["']?\s*:/m;
// What takes by itself what is pasted, or a file that is dropped.
const TYPED = "input, textarea, select, dialog";
const DROPPED = ".panel .editing, input[type=file], dialog";

/** @param {() => boolean} isSignedIn */
export function takeDropped(isSignedIn) {
  document.addEventListener("dragover", (event) => event.preventDefault());
  document.addEventListener("drop", (event) => {
    const [file] = event.dataTransfer?.files ?? [];
    if (!file || isIn(event.target, DROPPED)) return;
    event.preventDefault();
    if (isSignedIn()) void file.text().then(open);
  });
  document.addEventListener("paste", (event) => {
    const text = event.clipboardData?.getData("text/plain") ?? "";
    if (isIn(event.target, TYPED) || !isSignedIn() || !OBJECT.test(text)) return;
    event.preventDefault();
    open(text);
  });
}

/** @param {string} text */
function open(text) {
  keepDraft(ANYTHING, { text, base: "" });
  if (location.hash.startsWith(ROUTE)) window.dispatchEvent(new HashChangeEvent("hashchange"));
  else go(ROUTE);
}

/**
 * @param {EventTarget | null} target
 * @param {string} selector
 */
function isIn(target, selector) {
  return target instanceof Element && target.closest(selector) !== null;
}
