/** The keyboard: single keys that do something, wherever the focus is, unless somebody types. */

/** @typedef {{key: string, says: string, run: () => void}} Shortcut */

/** @type {Shortcut[]} */
const shortcuts = [];

/**
 * Have a key do something until the signal says no more; the latest meaning counts.
 * @param {Shortcut} shortcut
 * @param {AbortSignal} [signal]
 */
export function bind(shortcut, signal) {
  shortcuts.unshift(shortcut);
  signal?.addEventListener("abort", () => shortcuts.splice(shortcuts.indexOf(shortcut), 1));
}

/** What keys do now, each once, the first bound first. */
export function bound() {
  const seen = new Map();
  for (const one of shortcuts) if (!seen.has(one.key)) seen.set(one.key, one);
  return [...seen.values()].reverse();
}

/** Begin to listen; called once. */
export function listen() {
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
    if (event.key === " " && isPressed(event.target)) return;
    const found = shortcuts.find((one) => one.key === event.key);
    if (!found) return;
    event.preventDefault();
    found.run();
  });
}

/** @param {EventTarget | null} target */
function isTyping(target) {
  if (!(target instanceof HTMLElement)) return false;
  const typed = "input:not([type=range], [type=checkbox]), textarea, select, dialog[open]";
  return target.isContentEditable || target.closest(typed) !== null;
}

/**
 * What the space bar works on by itself.
 * @param {EventTarget | null} target
 */
function isPressed(target) {
  return target instanceof HTMLElement && target.closest("button, input, a, summary") !== null;
}
