/** ConfigMaps and Secrets: their data, that of secrets hidden until somebody asks for it. */

import { fill, h } from "../../core/dom.js";
import { isSecret } from "../../core/secrets.js";

/** @import {Children} from "../../core/dom.js" */
/** @import {At, Section} from "./parts.js" */
/** @typedef {[name: string, text: string, isBinary: boolean]} Entry */

const MAX_LETTERS = 20_000; // letters of a value that are shown

/** @param {At} at @returns {Section[]} */
export function sections({ subject }) {
  /** Values that were asked for. @type {Set<string>} */
  const shown = new Set();
  const hidden = isSecret({ apiVersion: "v1", ...subject.object, kind: subject.kind.kind });
  return [
    {
      title: "Data",
      look: () => entriesOf(subject.object, hidden),
      draw: (entries) =>
        entries.length
          ? h("dl", { class: "data" }, entries.map((/** @type {Entry} */ one) => entry(one)).flat())
          : h("p", { class: "faint" }, "It holds nothing."),
    },
  ];

  /** @param {Entry} one */
  function entry([name, text, isBinary]) {
    const body = h("dd", {});
    const open = () => {
      shown.add(name);
      fill(body, value(text, isBinary));
    };
    if (!hidden || shown.has(name)) open();
    else
      fill(
        body,
        h("button", { "data-mark": name, onclick: open }, "Show ", unseen(name), sizeOf(text)),
      );
    return [h("dt", { class: "mono wrap" }, name), body];
  }
}

/**
 * @param {any} object
 * @param {boolean} isEncoded
 * @returns {Entry[]}
 */
function entriesOf({ data = {}, binaryData = {}, stringData = {} }, isEncoded) {
  return [
    .../** @type {[string, string][]} */ (Object.entries({ ...data, ...stringData })).map(
      ([name, text]) =>
        /** @type {Entry} */ (isEncoded ? decoded(name, text) : [name, text, false]),
    ),
    .../** @type {[string, string][]} */ (Object.entries(binaryData)).map(([name, text]) =>
      decoded(name, text),
    ),
  ];
}

/**
 * @param {string} name
 * @param {string} text in base 64
 * @returns {Entry}
 */
function decoded(name, text) {
  try {
    const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
    return [name, new TextDecoder("utf-8", { fatal: true }).decode(bytes), false];
  } catch {
    return [name, text, true];
  }
}

/** @param {string} name */
function unseen(name) {
  return h("span", { class: "unseen" }, `${name}, `);
}

/** @param {string} text */
function sizeOf(text) {
  return h("span", { class: "faint" }, `${text.length} characters`);
}

/**
 * @param {string} text
 * @param {boolean} isBinary
 * @returns {Children}
 */
function value(text, isBinary) {
  const cut = text.length > MAX_LETTERS && `… ${text.length - MAX_LETTERS} more characters`;
  return [
    isBinary && h("span", { class: "faint" }, "binary, in base 64:"),
    h("pre", { class: "wrap" }, text.slice(0, MAX_LETTERS)),
    cut && h("span", { class: "faint" }, cut),
  ];
}
