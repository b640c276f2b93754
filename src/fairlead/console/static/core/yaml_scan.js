/** Where things are in a YAML text that somebody writes. It need not be right yet: what cannot be
 * understood belongs to what is above it. */

/** @import {Path} from "./yaml_lines.js" */
/** @typedef {{value: any, lines: Map<string, number>, text: string}} Scanned */
/** @typedef {{indent: number, isList: boolean, path: Path, current: Path, count: number}} Level */

/**
 * The values of a text as far as they are written one a line, and the line of each path.
 * @param {string} text
 * @returns {Scanned}
 */
export function scan(text) {
  const scanner = new Scanner();
  text.split("\n").forEach((line, index) => scanner.take(line, index));
  return { value: scanner.root[""], lines: scanner.lines, text };
}

/**
 * The line of a path, or of the nearest thing around it.
 * @param {Scanned} scanned
 * @param {Path} path
 */
export function lineOf(scanned, path) {
  for (let length = path.length; length > 0; length--) {
    const line = scanned.lines.get(JSON.stringify(path.slice(0, length)));
    if (line !== undefined) return line;
  }
  return 0;
}

/**
 * The documents of a text, each with the number of lines before it.
 * @param {string} text
 * @returns {{text: string, before: number}[]}
 */
export function documentsOf(text) {
  /** @type {{lines: string[], before: number}[]} */
  const found = [{ lines: [], before: 0 }];
  text.split("\n").forEach((line, index) => {
    if (/^---(\s|$)/.test(line)) found.push({ lines: [], before: index + 1 });
    else found[found.length - 1].lines.push(line);
  });
  return found
    .filter((one) => one.lines.some((line) => !/^\s*(#|$)/.test(line)))
    .map((one) => ({ text: one.lines.join("\n"), before: one.before }));
}

/**
 * The text of an object as the server writes it, without `metadata.managedFields`.
 * @param {string} text
 */
export function withoutManagers(text) {
  const lines = text.split("\n");
  let start = lines.indexOf("metadata:") + 1;
  while (start && /^ /.test(lines[start] ?? "") && lines[start] !== "  managedFields:") start++;
  if (lines[start] !== "  managedFields:") return text;
  let end = start + 1;
  while (end < lines.length && !/^(?: {2})?[^\s-]/.test(lines[end])) end++;
  return [...lines.slice(0, start), ...lines.slice(end)].join("\n");
}

class Scanner {
  /** @type {any} */
  root = Object.create(null);
  /** @type {Map<string, number>} */
  lines = new Map();
  /** @type {Level[]} */
  #levels = [{ indent: -1, isList: false, path: [], current: [], count: 0 }];
  #block = Infinity; // what is further in than this is text

  /**
   * @param {string} line
   * @param {number} index
   */
  take(line, index) {
    let rest = line.trimStart();
    let indent = line.length - rest.length;
    if (!rest || (indent > this.#block && this.#block < Infinity)) return;
    this.#block = Infinity;
    if (rest.startsWith("#")) return;
    while (/^-(\s|$)/.test(rest)) {
      const inside = rest.slice(1).trimStart();
      this.#item(indent, index);
      if (!inside) return;
      const width = rest.length - inside.length;
      rest = inside;
      if (!fieldOf(rest) && !/^-(\s|$)/.test(rest)) return this.#put(rest, indent);
      indent += width;
    }
    const field = fieldOf(rest);
    if (field) this.#field(indent, field.key, field.value, index);
  }

  /**
   * @param {number} indent
   * @param {number} index
   */
  #item(indent, index) {
    const level = this.#level(indent, true);
    level.current = [...level.path, level.count++];
    this.#at(level.current, index);
  }

  /**
   * @param {number} indent
   * @param {string} key
   * @param {string} value
   * @param {number} index
   */
  #field(indent, key, value, index) {
    const level = this.#level(indent, false);
    level.current = [...level.path, key];
    this.#at(level.current, index);
    this.#put(value, indent);
  }

  /**
   * The list or the map that goes on, or begins, at an indentation.
   * @param {number} indent
   * @param {boolean} isList
   */
  #level(indent, isList) {
    const levels = this.#levels;
    let last = levels[levels.length - 1];
    while (last.indent > indent || (last.indent === indent && last.isList && !isList)) {
      levels.pop();
      last = levels[levels.length - 1];
    }
    if (last.indent === indent && last.isList === isList) return last;
    const path = last.current;
    const made = { indent, isList, path, current: path, count: 0 };
    levels.push(made);
    this.#set(path, isList ? [] : Object.create(null));
    return made;
  }

  /**
   * @param {Path} path
   * @param {number} index
   */
  #at(path, index) {
    const key = JSON.stringify(path);
    if (!this.lines.has(key)) this.lines.set(key, index);
  }

  /**
   * @param {string} value of the last field or item
   * @param {number} indent of the line it is on
   */
  #put(value, indent) {
    if (/^[|>]/.test(value)) this.#block = indent;
    if (value) this.#set(this.#levels[this.#levels.length - 1].current, scalarOf(value));
  }

  /**
   * @param {Path} path
   * @param {unknown} value
   */
  #set(path, value) {
    let holder = this.root;
    for (const step of ["", ...path].slice(0, -1)) holder = holder?.[step];
    if (holder && typeof holder === "object") holder[path.at(-1) ?? ""] = value;
  }
}

/**
 * @param {string} text
 * @returns {{key: string, value: string} | null}
 */
function fieldOf(text) {
  const quoted = /^("(?:[^"\\]|\\.)*"|'(?:[^']|'')*')\s*:(?:\s|$)/.exec(text);
  if (quoted) return { key: scalarOf(quoted[1]), value: text.slice(quoted[0].length).trim() };
  const end = text.search(/:(\s|$)/);
  if (end < 1 || /^["'{[|>#]/.test(text)) return null;
  return { key: text.slice(0, end).trimEnd(), value: text.slice(end + 1).trim() };
}

/** @param {string} text */
function scalarOf(text) {
  const [quoted] = /^("(?:[^"\\]|\\.)*"|'(?:[^']|'')*')/.exec(text) ?? [];
  if (!quoted) return text.replace(/(?:\s#.*|,)$/, "").trim();
  if (quoted[0] === "'") return quoted.slice(1, -1).replaceAll("''", "'");
  try {
    return String(JSON.parse(quoted));
  } catch {
    return quoted.slice(1, -1);
  }
}
