/** Keeping the focus where it is while things are drawn anew. */

import { fill } from "../core/dom.js";

/** @import {Children} from "../core/dom.js" */

/**
 * Fill an element; who had the focus in it has it again, if something with the same `data-key` is
 * still there.
 * @param {Element} host
 * @param {...Children} children
 */
export function refill(host, ...children) {
  const active = document.activeElement;
  const key =
    host.contains(active) && active instanceof HTMLElement ? active.dataset.key : undefined;
  fill(host, ...children);
  if (key === undefined) return;
  for (const one of host.querySelectorAll("[data-key]")) {
    if (one instanceof HTMLElement && one.dataset.key === key) one.focus({ preventScroll: true });
  }
}
