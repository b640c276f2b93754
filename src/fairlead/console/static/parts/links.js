/** Links to objects. */

import { h } from "../core/dom.js";
import { objectRoute } from "../core/paths.js";

/** @import {Children} from "../core/dom.js" */
/** @import {Kind} from "../core/kinds.js" */
/** @import {Near} from "../core/near.js" */
/** @import {Named} from "../core/paths.js" */

const SUMMARY = /^#\/objects(\/[^/?]+){4}$/; // the route of an object

/**
 * With the kind in front of the name.
 * @param {Kind} kind
 * @param {Named} named
 */
export function objectLink(kind, named) {
  const inside = named.namespace ? `${named.namespace}/` : "";
  const lead = h("small", { class: "faint" }, `${kind.kind} ${inside}`);
  return h("a", { href: objectRoute(kind, named) }, lead, named.name);
}

/**
 * A link to an object near another one; its name alone where its kind is not served.
 * @param {Near} near
 * @param {string} key of the kind
 * @param {string} name
 * @param {Children} [text] the name if there is none
 * @param {string} [namespace] where it is not that of the other one
 */
export function nearLink(near, key, name, text = name, namespace = near.namespace) {
  const kind = near.kind(key);
  if (!kind) return h("span", {}, text);
  const named = { namespace: kind.namespaced ? namespace : "", name };
  return h("a", { href: objectRoute(kind, named) }, text);
}

/**
 * Let links to objects inside a view of the past lead to how those were.
 * @param {Element} element
 * @param {() => number} revision that is shown
 */
export function stayThen(element, revision) {
  const lead = (/** @type {Event} */ { target }) => {
    const link = target instanceof Element ? target.closest("a") : null;
    const route = link?.getAttribute("href") ?? "";
    if (SUMMARY.test(route)) link?.setAttribute("href", `${route}?at=${revision()}`);
  };
  element.addEventListener("click", lead, { capture: true });
}
