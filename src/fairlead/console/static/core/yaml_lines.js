/** A value as lines of YAML, each with the path of what it shows. */

/** @typedef {(string | number)[]} Path of keys and of places in lists */
/** @typedef {{text: string, path: Path, depth: number}} Line `depth` is how far it is indented */

const STEP = "  ";
// What could be read as something else than this text.
const PLAIN = /^[A-Za-z0-9_./(](?:[\w ./()@+=$%^*;<>~,-]|:(?=[^\s]))*$/;
const OTHER =
  /^(?:[-+]?\.?\d[\d_.e+:-]*|0[xob][\da-f_]+|[-+]?\.(?:inf|nan)|true|false|yes|no|on|off|y|n|null)$/i;
// What ends a line, cannot be seen, or makes text look other than it is.
const UNSEEN = "\\x7f-\\xa0\\u200b-\\u200f\\u2028-\\u202e\\u2066-\\u2069\\ufeff\\ufffe\\uffff";
const ESCAPED = new RegExp(`[${UNSEEN}]`, "g");
const NO_BLOCK = new RegExp(`[\\x00-\\x08\\x0b-\\x1f${UNSEEN}]|\\n\\n$`);
const MOMENT = /^\d{4}-\d\d?-\d\d?/;

/**
 * Fields are in the order of their names, as the server writes YAML.
 * @param {unknown} value
 * @returns {Line[]}
 */
export function yamlLines(value) {
  /** @type {Line[]} */
  const found = [];
  write(found, value, [], 0);
  return found;
}

/**
 * @param {Line[]} found
 * @param {unknown} value
 * @param {Path} path
 * @param {number} depth
 */
function write(found, value, path, depth) {
  if (!isFull(value)) {
    found.push({ text: STEP.repeat(depth) + scalar(value), path, depth });
  } else if (Array.isArray(value)) {
    value.forEach((item, index) => writeItem(found, item, [...path, index], depth));
  } else {
    const fields = /** @type {Record<string, unknown>} */ (value);
    for (const key of Object.keys(fields).sort()) {
      writeField(found, key, fields[key], [...path, key], depth);
    }
  }
}

/**
 * @param {Line[]} found
 * @param {string} key
 * @param {unknown} value
 * @param {Path} path
 * @param {number} depth
 */
function writeField(found, key, value, path, depth) {
  const start = `${STEP.repeat(depth)}${quoted(key)}:`;
  if (isFull(value)) {
    found.push({ text: start, path, depth });
    write(found, value, path, Array.isArray(value) ? depth : depth + 1);
  } else if (isBlock(value)) {
    writeBlock(found, start, /** @type {string} */ (value), path, depth);
  } else {
    found.push({ text: `${start} ${scalar(value)}`, path, depth });
  }
}

/**
 * An item of a list: its first line begins with a dash.
 * @param {Line[]} found
 * @param {unknown} value
 * @param {Path} path
 * @param {number} depth
 */
function writeItem(found, value, path, depth) {
  const indent = STEP.repeat(depth);
  if (!isFull(value)) {
    if (isBlock(value)) {
      return writeBlock(found, `${indent}-`, /** @type {string} */ (value), path, depth);
    }
    found.push({ text: `${indent}- ${scalar(value)}`, path, depth });
    return;
  }
  const at = found.length;
  write(found, value, path, depth + 1);
  found[at] = { ...found[at], text: `${indent}- ${found[at].text.trimStart()}`, depth };
}

/**
 * @param {Line[]} found
 * @param {string} start
 * @param {string} text
 * @param {Path} path
 * @param {number} depth
 */
function writeBlock(found, start, text, path, depth) {
  const ends = text.endsWith("\n");
  found.push({ text: `${start} ${ends ? "|" : "|-"}`, path, depth });
  const body = ends ? text.slice(0, -1) : text;
  for (const line of body.split("\n")) {
    found.push({ text: line && STEP.repeat(depth + 1) + line, path, depth: depth + 1 });
  }
}

/** @param {unknown} value */
function isFull(value) {
  return value !== null && typeof value === "object" && Object.keys(value).length > 0;
}

/** @param {unknown} value */
function isBlock(value) {
  return typeof value === "string" && /^\S.*\n/.test(value) && !NO_BLOCK.test(value);
}

/** @param {unknown} value */
function scalar(value) {
  if (Array.isArray(value)) return "[]";
  if (value !== null && typeof value === "object") return "{}";
  return typeof value === "string" ? quoted(value) : String(value);
}

/** @param {string} text */
function quoted(text) {
  const isPlain = PLAIN.test(text) && !OTHER.test(text) && !MOMENT.test(text) && !/\s$/.test(text);
  return isPlain ? text : JSON.stringify(text).replace(ESCAPED, escaped);
}

/** @param {string} letter */
function escaped(letter) {
  return `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`;
}
