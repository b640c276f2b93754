/** A list as the server's Table, kept current by one watch. */

import { getJson } from "./api.js";
import { Followed } from "./followed.js";
import { collectionPath } from "./paths.js";

/** @import {Kind} from "./kinds.js" */
/** @typedef {{name: string, type: string, format?: string, priority: number, description?: string}} Column */
/**
 * @typedef {object} Row
 * @property {string} id
 * @property {string} namespace
 * @property {string} name
 * @property {string} created
 * @property {string} deleting since when, empty if it is not
 * @property {unknown[]} cells
 * @property {string} text all of it in lower case, for filters
 */
/** @typedef {{labelSelector?: string, fieldSelector?: string}} Selectors */

const FIRST = 100; // rows of the first page: more than are seen at once
const PAGE = 500;
const MAX_ROWS = 50_000; // rows that are asked for

/** Tells of `changed`, at most once a frame. Columns and rows are there to read. */
export class LiveTable extends Followed {
  /** @type {Column[]} */
  columns = [];
  /** @type {Map<string, Row>} */
  rows = new Map();
  /** Rows that came, changed or went since the last `changed`. @type {Set<string>} */
  touched = new Set();
  /** Those of them that were there to be seen before. @type {Set<string>} */
  fresh = new Set();
  /** How many there are that were not asked for. */
  left = 0;

  /**
   * @param {Kind} kind
   * @param {string} namespace
   * @param {string} metaGroup
   * @param {Selectors} [selectors]
   */
  constructor(kind, namespace, metaGroup, selectors = {}) {
    const accept = `application/json;as=Table;v=v1;g=${metaGroup},application/json`;
    super(collectionPath(kind, namespace), selectors, accept);
    this.kind = kind;
  }

  /** @param {AbortSignal} signal */
  async list(signal) {
    /** @type {Map<string, Row>} */
    const rows = new Map();
    const isFirst = this.state === "loading";
    if (isFirst) this.rows = rows;
    let next = "";
    let version = "";
    do {
      const limit = next || !isFirst ? PAGE : FIRST;
      const query = { ...this.selectors, limit, continue: next };
      const table = await getJson(this.path, { accept: this.accept, query, signal });
      this.columns = table.columnDefinitions ?? this.columns;
      for (const row of table.rows ?? []) this.touched.add(take(rows, row));
      ({ resourceVersion: version, continue: next = "" } = table.metadata);
      this.left = table.metadata.remainingItemCount ?? 0;
      if (isFirst) this.tell();
    } while (next && rows.size < MAX_ROWS);
    this.rows = rows;
    this.version = version;
    this.tell();
  }

  /** @param {any} event */
  apply(event) {
    for (const row of event.object.rows ?? []) {
      this.version = row.object.metadata.resourceVersion;
      if (event.type === "BOOKMARK") continue;
      const id = event.type === "DELETED" ? drop(this.rows, row) : take(this.rows, row);
      this.touched.add(id);
      this.fresh.add(id);
      this.tell();
    }
    if (event.type === "BOOKMARK" && event.object.metadata?.resourceVersion) {
      this.version = event.object.metadata.resourceVersion;
    }
  }

  told() {
    this.touched.clear();
    this.fresh.clear();
  }
}

/**
 * @param {Map<string, Row>} rows
 * @param {any} row of a Table
 */
function take(rows, row) {
  const metadata = row.object.metadata;
  const id = identity(metadata);
  const namespace = metadata.namespace ?? "";
  rows.set(id, {
    id,
    namespace,
    name: metadata.name,
    created: metadata.creationTimestamp ?? "",
    deleting: metadata.deletionTimestamp ?? "",
    cells: row.cells,
    text: [namespace, metadata.name, ...row.cells].join("\n").toLowerCase(),
  });
  return id;
}

/**
 * @param {Map<string, Row>} rows
 * @param {any} row of a Table
 */
function drop(rows, row) {
  const id = identity(row.object.metadata);
  rows.delete(id);
  return id;
}

/** @param {{namespace?: string, name: string}} metadata */
function identity(metadata) {
  return `${metadata.namespace ?? ""}/${metadata.name}`;
}
