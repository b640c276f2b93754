/** Elements without markup: every text becomes a text node, so that nothing a cluster says is ever
 * read as HTML. There is no other way to make elements here. */

/** @typedef {Node | string | number | false | null | undefined} Child */
/** @typedef {Child | Children[]} Children */
/** @typedef {Record<string, unknown>} Properties */

const SVG = "http://www.w3.org/2000/svg";
// Control characters but line breaks and tabs, and those that turn the direction of a text.
const HIDDEN = /[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/;
const SHOWN = ["title", "aria-label", "aria-valuetext"]; // attributes that are read

/**
 * An element. Functions named `on…` are listeners, `style` is an object of CSS properties, true and
 * false set or leave out an attribute.
 * @template {keyof HTMLElementTagNameMap} T
 * @param {T} tag
 * @param {Properties} [properties]
 * @param {...Children} children
 * @returns {HTMLElementTagNameMap[T]}
 */
export function h(tag, properties = {}, ...children) {
  return filled(document.createElement(tag), properties, children);
}

/**
 * The same for parts of a picture.
 * @template {keyof SVGElementTagNameMap} T
 * @param {T} tag
 * @param {Properties} [properties]
 * @param {...Children} children
 * @returns {SVGElementTagNameMap[T]}
 */
export function svg(tag, properties = {}, ...children) {
  return filled(document.createElementNS(SVG, tag), properties, children);
}

/**
 * Put these in place of all that an element holds.
 * @param {Element} element
 * @param {...Children} children
 */
export function fill(element, ...children) {
  element.replaceChildren(...nodes(children));
}

/**
 * @template {HTMLElement | SVGElement} E
 * @param {E} element
 * @param {Properties} properties
 * @param {Children[]} children
 * @returns {E}
 */
function filled(element, properties, children) {
  for (const [name, value] of Object.entries(properties)) set(element, name, value);
  element.append(...nodes(children));
  return element;
}

/**
 * @param {HTMLElement | SVGElement} element
 * @param {string} name
 * @param {unknown} value
 */
function set(element, name, value) {
  if (value === undefined || value === null || value === false) return;
  if (typeof value === "function") {
    element.addEventListener(name.slice(2), /** @type {EventListener} */ (value));
  } else if (name === "style") {
    for (const [property, text] of Object.entries(/** @type {Record<string, string>} */ (value))) {
      element.style.setProperty(property, text);
    }
  } else if (name === "value" && "value" in element) {
    element.value = String(value);
  } else {
    if (name === "href" && !/^(#|\/(?![/\\]))/.test(String(value)))
      throw new Error("links stay in the console");
    const text = value === true ? "" : String(value);
    element.setAttribute(name, SHOWN.includes(name) ? visible(text) : text);
  }
}

/**
 * @param {Children[]} children
 * @returns {(Node | string)[]}
 */
function nodes(children) {
  return children.flatMap((child) => {
    if (Array.isArray(child)) return nodes(child);
    if (child === null || child === undefined || child === false) return [];
    return [child instanceof Node ? child : visible(String(child))];
  });
}

/**
 * A text with the characters visible that turn its direction or that nobody would see, as the
 * command line shows them: what they do makes a text look like another one.
 * @param {string} text
 */
export function visible(text) {
  if (!HIDDEN.test(text)) return text;
  return text.replace(new RegExp(HIDDEN, "g"), (one) => {
    const code = one.charCodeAt(0);
    if (one === "\r") return "\\r";
    if (code < 0x80) return `^${String.fromCharCode(code ^ 0x40)}`;
    return code < 0x100 ? `\\x${code.toString(16)}` : `\\u${code.toString(16).padStart(4, "0")}`;
  });
}

/**
 * The element of this id, which must be there.
 * @param {string} id
 * @returns {HTMLElement}
 */
export function byId(id) {
  const found = document.getElementById(id);
  if (!found) throw new Error(`there is no #${id}`);
  return found;
}
