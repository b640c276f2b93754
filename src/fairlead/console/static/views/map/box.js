/** The box of a node on the map: its kind, its name, how it is, and its members. */

import { svg, visible } from "../../core/dom.js";
import { objectRoute } from "../../core/paths.js";
import { SIGNS } from "../../parts/picture.js";
import { BOX } from "../../parts/places.js";

/** @import {Node} from "../../core/strips.js" */

const NAME = 22; // characters of a name that fit in
const HEAD = 25; // of a kind and a state
const KIND = 16; // of a kind
const DOT = 6; // pixels of a member, with the room beside it
const DOTS = 28; // members in a row
// What all nodes have. It is copied for each, which takes a fraction of the time of making it.
const FRAME = svg("rect", { ...BOX, rx: 4 });
const TONE = svg("rect", { class: "tone", width: 5, height: BOX.height, rx: 2 });
const TEXTS = {
  kind: svg("text", { class: "kind", x: 12, y: 15 }),
  name: svg("text", { class: "name", x: 12, y: 33 }),
  nameAboveDots: svg("text", { class: "name", x: 12, y: 29 }),
  word: svg("text", { class: "word", x: BOX.width - 8, y: 15, "text-anchor": "end" }),
};

/**
 * The parts of a node that stay while it changes.
 * @param {string} id
 * @param {Node} node
 */
export function made(id, node) {
  const element = elementOf(node);
  element.setAttribute("data-id", id);
  return { element, title: svg("title"), word: text("word") };
}

/**
 * A link to the object, or a button that opens a strip.
 * @param {Node} node
 */
function elementOf({ members, thing }) {
  if (members.length) return svg("g", { role: "button" });
  if (!thing.kind) return svg("g", { role: "img" });
  return svg("a", { href: objectRoute(thing.kind, thing) });
}

/**
 * The kind of a node, in as few letters as there is room for.
 * @param {Node} node
 */
function kindOf({ title, thing }) {
  const brief = title.length > KIND && thing.kind?.shortNames[0]?.toUpperCase();
  return brief || short(title, KIND);
}

/**
 * How it is, beside its kind.
 * @param {Node} node
 */
export function wordOf(node) {
  const { tone, word } = node.state;
  return word && SIGNS[tone] + short(word, HEAD - kindOf(node).length);
}

/**
 * What is read out of a node, and shown where the pointer rests.
 * @param {Node} node
 */
export function inFull({ title, name, state, members, thing }) {
  const where = thing.namespace && !members.length && ` in ${thing.namespace}`;
  const full = `${title} ${name}${where || ""}${state.word && `: ${state.word}`}`;
  return [full, state.why].filter(Boolean).join(". ");
}

/** What of a node is seen from afar, too. @param {Node} node */
export function frameOf({ members }) {
  const tones = members.slice(0, DOTS).map((one) => one.state.tone);
  return [FRAME.cloneNode(), TONE.cloneNode(), dots(tones)];
}

/** The texts of a node that do not depend on its state. @param {Node} node */
export function textsOf(node) {
  const { name, members, isOpen } = node;
  const lead = members.length ? (isOpen ? "▾ " : "▸ ") : "";
  const place = members.length ? "nameAboveDots" : "name";
  return [text("kind", kindOf(node)), text(place, lead + short(name, NAME))];
}

/**
 * @param {keyof typeof TEXTS} place
 * @param {string} [words]
 */
function text(place, words = "") {
  const element = /** @type {SVGTextElement} */ (TEXTS[place].cloneNode());
  element.textContent = visible(words);
  return element;
}

/**
 * Members by their states, in one path a tone.
 * @param {string[]} tones
 */
function dots(tones) {
  const places = tones.map((tone, index) => ({ tone: tone || "none", x: 12 + index * DOT }));
  return [...Map.groupBy(places, (one) => one.tone)].map(([tone, own]) =>
    svg("path", { class: `dots on-${tone}`, d: own.map(({ x }) => `M${x} 34h4v4h-4z`).join("") }),
  );
}

/**
 * The middle of what is too long is left out: names differ at their ends.
 * @param {string} text
 * @param {number} length
 */
function short(text, length) {
  if (text.length <= length) return text;
  const end = Math.floor((length - 1) / 2);
  return `${text.slice(0, length - 1 - end)}…${text.slice(-end)}`;
}
