/** What a refusal says about a text, line by line. */

import { ApiError, reasonOf } from "./api.js";
import { locate } from "./field_paths.js";
import { lineOf, scan } from "./yaml_scan.js";

/** @import {Scanned} from "./yaml_scan.js" */
/** @typedef {{line: number, says: string}} Problem `line` is -1 where nobody knows */

// How messages without causes tell what they mean: by a line, or by a field.
const LINE = /\bline (\d+):? ?[^\n(]*/g;
const FIELDS = [
  /(?:unknown|duplicate) field "([^"]+)"/g,
  /struct field \w+\.([\w.[\]-]+)/g,
  /(?:^|: )(\.[^\s:]+): [^\n]*/g,
];

/**
 * The problems of a text that the server does not take, each at its line.
 * @param {unknown} error
 * @param {string} text
 * @returns {Problem[]}
 */
export function problemsOf(error, text) {
  const message = reasonOf(error);
  if (!(error instanceof ApiError)) return [{ line: -1, says: message }];
  const scanned = scan(text);
  const caused = error.causes.map(({ field = "", message: says = "" }) => ({
    line: lineOfField(scanned, field),
    says: field ? `${field}: ${says}` : says,
  }));
  if (caused.length) return caused;
  const byLine = [...message.matchAll(LINE)].map(([says, number]) => ({
    line: Number(number) - 1,
    says,
  }));
  const byField = FIELDS.flatMap((pattern) => [...message.matchAll(pattern)]).map(
    ([says, field]) => ({ line: lineOfField(scanned, field), says: says.replace(/^: /, "") }),
  );
  const found = [...byLine, ...byField].filter(
    (one, index, all) => one.line >= 0 && all.findIndex((o) => o.line === one.line) === index,
  );
  return found.length ? found : [{ line: -1, says: message }];
}

/**
 * @param {Scanned} scanned
 * @param {string} field
 */
function lineOfField(scanned, field) {
  const { path } = locate(scanned.value, field);
  return path.length ? lineOf(scanned, path) : -1;
}
