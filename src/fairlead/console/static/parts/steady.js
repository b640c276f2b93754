/** Redrawing that nobody notices: only what changed, with the focus where it was. */

import { fill, h } from "../core/dom.js";
import { age, clock } from "../core/time.js";

/** @import {Children} from "../core/dom.js" */

const TICK = 5_000; // milliseconds between two looks at ages

/** @type {WeakMap<Element, string>} */
const drawn = new WeakMap();

/**
 * Draw an element again if what it shows is not what it showed.
 * @template T
 * @param {Element} element
 * @param {T} shown anything that JSON can hold
 * @param {(shown: T) => Children} draw
 */
export function redraw(element, shown, draw) {
  const text = JSON.stringify(shown);
  if (drawn.get(element) === text) return;
  drawn.set(element, text);
  const focused = element.contains(document.activeElement) ? markOf(document.activeElement) : "";
  const open = new Set([...element.querySelectorAll("details[open]")].map(markOf));
  fill(element, draw(shown));
  for (const one of element.querySelectorAll("details")) one.open ||= open.has(markOf(one));
  if (!focused) return;
  const again = [...element.querySelectorAll("a, button, summary")].find(
    (one) => markOf(one) === focused,
  );
  if (again instanceof HTMLElement) again.focus({ preventScroll: true });
}

/** @param {Element | null} element */
function markOf(element) {
  return (
    element?.getAttribute("data-mark") ??
    element?.getAttribute("href") ??
    element?.getAttribute("aria-label") ??
    element?.textContent
  );
}

/**
 * How long ago something was; `keepAges` keeps it true.
 * @param {string | undefined} moment
 */
export function ago(moment) {
  if (!moment) return "";
  return h("time", { datetime: moment, title: clock(moment) }, age(moment));
}

/**
 * @param {Element} host
 * @param {AbortSignal} signal
 */
export function keepAges(host, signal) {
  const timer = setInterval(() => renewAges(host), TICK);
  signal.addEventListener("abort", () => clearInterval(timer));
}

/**
 * Tell all ages as of now, or of the moment that is shown.
 * @param {Element} host
 */
export function renewAges(host) {
  for (const one of host.querySelectorAll("time")) {
    const text = age(one.dateTime);
    if (one.textContent !== text) one.textContent = text;
  }
}
