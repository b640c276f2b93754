/** New objects from documents of a text. */

import { ApiError, isAborted, send, YAML_TYPE } from "../../core/api.js";
import { collectionPath } from "../../core/paths.js";
import { documentsOf, scan } from "../../core/yaml_scan.js";
import { warningsOf } from "../../parts/checked.js";
import { MANAGER } from "./sending.js";

/** @import {Place} from "../../app.js" */
/** @import {Kind} from "../../core/kinds.js" */
/** @typedef {{apiVersion?: string, kind?: string, metadata?: {name?: string, namespace?: string}}} Head */
/** @typedef {{text: string, before: number, head: Head}} Piece a document and the lines before it */
/**
 * What came of a check: an object, why it cannot be made, or why nobody can say yet.
 * @typedef {{piece: Piece, made: any, error: unknown, note: string, warnings: string[]}} Checked
 */

/**
 * @param {string} text
 * @returns {Piece[]}
 */
export function piecesOf(text) {
  return documentsOf(text).map((one) => ({ ...one, head: headOf(one.text) }));
}

/**
 * Have the server try each document without effect.
 * @param {Piece[]} pieces
 * @param {Place} place
 * @returns {Promise<Checked[]>}
 */
export async function checkAll(pieces, place) {
  const checked = [];
  for (const piece of pieces) {
    /** @type {Checked} */
    const one = { piece, made: null, error: null, note: "", warnings: [] };
    try {
      const { object, warnings } = await make(piece, place, { dryRun: "All" });
      Object.assign(one, { made: object, warnings });
    } catch (error) {
      if (isAborted(error)) throw error;
      if (isInNewNamespace(error, piece, pieces)) {
        one.note = "It can be checked once its namespace is there.";
      } else one.error = error;
    }
    checked.push(one);
  }
  return checked;
}

/**
 * @param {Piece} piece
 * @param {Place} place
 * @param {Record<string, string>} [query]
 * @returns {Promise<{kind: Kind, object: any, warnings: string[]}>}
 */
export async function make(piece, place, query = {}) {
  const kind = await kindOf(piece.head, place);
  const response = await send(collectionPath(kind, namespaceOf(piece, place)), {
    method: "POST",
    body: piece.text,
    type: YAML_TYPE,
    query: { ...query, fieldManager: MANAGER, fieldValidation: "Strict" },
    signal: place.signal,
  });
  return { kind, object: await response.json(), warnings: warningsOf(response) };
}

/**
 * Where an object goes that says no namespace itself.
 * @param {Piece} piece
 * @param {Place} place
 */
export function namespaceOf(piece, place) {
  return piece.head.metadata?.namespace || place.namespace || "default";
}

/**
 * The kind in the version that is written, which need not be the preferred one.
 * @param {Head} head
 * @param {Place} place
 * @returns {Promise<Kind>}
 */
export async function kindOf(head, { catalogue, signal }) {
  if (!head.apiVersion || !head.kind) throw new Error("it must say its apiVersion and kind");
  if (!catalogue.of(head)) await catalogue.load(signal);
  const kind = catalogue.of(head);
  if (!kind) throw new Error(`the server has no kind ${head.kind} in ${head.apiVersion}`);
  return { ...kind, version: head.apiVersion.split("/").at(-1) ?? kind.version };
}

/**
 * @param {unknown} error
 * @param {Piece} piece
 * @param {Piece[]} pieces
 */
function isInNewNamespace(error, piece, pieces) {
  const isMade = pieces
    .slice(0, pieces.indexOf(piece))
    .some(
      ({ head }) =>
        head.kind === "Namespace" && head.metadata?.name === piece.head.metadata?.namespace,
    );
  return isMade && error instanceof ApiError && error.code === 404;
}

/**
 * @param {string} text
 * @returns {Head}
 */
function headOf(text) {
  try {
    return JSON.parse(text);
  } catch {
    return scan(text).value ?? {};
  }
}
