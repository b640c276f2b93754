/** Paths as the server's messages write them, such as `.spec.containers[name="c"].image`,
 * `spec.ports[0].port` or `metadata.labels[a/b]`, found in a value. */

/** @import {Path} from "./yaml_lines.js" */
/** @typedef {{key: string | number, length: number}} Step `length` is how much of the text it takes */

/**
 * As far as the value goes along; `isWhole` says whether that is all the way.
 * @param {any} value
 * @param {string} text
 * @returns {{path: Path, isWhole: boolean}}
 */
export function locate(value, text) {
  /** @type {Path} */
  const path = [];
  let rest = text.replace(/^\./, "");
  let at = value;
  while (rest) {
    const step = stepInto(at, rest);
    if (!step) break;
    path.push(step.key);
    at = at[step.key];
    if (step.length) rest = rest.slice(step.length).replace(/^\./, "");
  }
  return { path, isWhole: !rest };
}

/**
 * @param {any} value
 * @param {Path} path
 * @returns {any}
 */
export function valueAt(value, path) {
  return path.reduce((at, step) => at?.[step], value);
}

/**
 * @param {any} at
 * @param {string} rest
 * @returns {Step | null}
 */
function stepInto(at, rest) {
  if (at === null || typeof at !== "object") return null;
  if (rest.startsWith("[")) return bracketed(at, rest);
  if (Array.isArray(at)) {
    // Some messages leave out which item they mean.
    const key = at.findIndex((item) => stepInto(item, rest));
    return key < 0 ? null : { key, length: 0 };
  }
  const key = Object.keys(at)
    .filter((name) => rest.startsWith(name) && /^([.[]|$)/.test(rest.slice(name.length)))
    .reduce((a, b) => (b.length > a.length ? b : a), "");
  return key ? { key, length: key.length } : null;
}

/**
 * @param {any} at
 * @param {string} rest
 * @returns {Step | null}
 */
function bracketed(at, rest) {
  const found = /^\[((?:"(?:[^"\\]|\\.)*"|[^"\]])*)\]/.exec(rest);
  if (!found) return null;
  const [{ length }, inside] = found;
  if (!Array.isArray(at)) return Object.hasOwn(at, inside) ? { key: inside, length } : null;
  const key = /^\d+$/.test(inside)
    ? Number(inside)
    : at.findIndex((item) => isMeant(item, keysOf(inside)));
  return key < 0 || key >= at.length ? null : { key, length };
}

/**
 * `name="c",port=80` or `="v"`.
 * @param {string} text
 * @returns {[string, string][]}
 */
function keysOf(text) {
  const parts = text.matchAll(/([^=,]*)=("(?:[^"\\]|\\.)*"|[^,]*)(?:,|$)/g);
  return [...parts].map(([, name, value]) => [name, plain(value)]);
}

/** @param {string} text */
function plain(text) {
  try {
    return String(JSON.parse(text));
  } catch {
    return text;
  }
}

/**
 * @param {any} item
 * @param {[string, string][]} keys
 */
function isMeant(item, keys) {
  return (
    keys.length > 0 && keys.every(([name, value]) => String(name ? item?.[name] : item) === value)
  );
}
