/** A list as the server's Table, kept current by one watch. */

import { ApiError, getJson, isAborted, lines, reasonOf, send } from "./api.js";
import { Live } from "./live.js";
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

const PAGE = 500;
const MAX_ROWS = 50_000; // rows that are asked for
const PAUSE = 1000; // milliseconds before another try

/** Tells of `changed`, at most once a frame. Columns and rows are there to read. */
export class LiveTable extends Live {
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
  #version = "";

  /**
   * @param {Kind} kind
   * @param {string} namespace
   * @param {string} metaGroup
   * @param {Selectors} [selectors]
   */
  constructor(kind, namespace, metaGroup, selectors = {}) {
    super();
    this.kind = kind;
    this.path = collectionPath(kind, namespace);
    this.selectors = selectors;
    this.accept = `application/json;as=Table;v=v1;g=${metaGroup},application/json`;
  }

  /**
   * List, then watch, and again whenever that ends; until aborted.
   * @param {AbortSignal} signal
   */
  async run(signal) {
    while (!signal.aborted) {
      try {
        if (!this.#version) await this.#list(signal);
        this.become("live", "");
        await this.#watch(signal);
        await pause(); // some end at once
      } catch (error) {
        if (isAborted(error) || signal.aborted) return;
        if (error instanceof ApiError && error.code === 410) {
          this.#version = "";
          await pause();
          continue;
        }
        this.become("waiting", reasonOf(error));
        if (error instanceof ApiError && [401, 403, 404, 405].includes(error.code)) return;
        await pause();
      }
    }
  }

  /** @param {AbortSignal} signal */
  async #list(signal) {
    /** @type {Map<string, Row>} */
    const rows = new Map();
    const isFirst = this.state === "loading";
    if (isFirst) this.rows = rows;
    let next = "";
    let version = "";
    do {
      const query = { ...this.selectors, limit: PAGE, continue: next };
      const table = await getJson(this.path, { accept: this.accept, query, signal });
      this.columns = table.columnDefinitions ?? this.columns;
      for (const row of table.rows ?? []) this.touched.add(take(rows, row));
      ({ resourceVersion: version, continue: next = "" } = table.metadata);
      this.left = table.metadata.remainingItemCount ?? 0;
      if (isFirst) this.tell();
    } while (next && rows.size < MAX_ROWS);
    this.rows = rows;
    this.#version = version;
    this.tell();
  }

  /** @param {AbortSignal} signal */
  async #watch(signal) {
    const query = {
      ...this.selectors,
      watch: true,
      resourceVersion: this.#version,
      allowWatchBookmarks: true,
    };
    const response = await send(this.path, { accept: this.accept, query, signal });
    for await (const event of lines(response)) {
      if (event.type === "ERROR") throw new ApiError(event.object.code, event.object);
      this.#apply(event);
    }
  }

  /** @param {any} event */
  #apply(event) {
    for (const row of event.object.rows ?? []) {
      this.#version = row.object.metadata.resourceVersion;
      if (event.type === "BOOKMARK") continue;
      const id = event.type === "DELETED" ? drop(this.rows, row) : take(this.rows, row);
      this.touched.add(id);
      this.fresh.add(id);
      this.tell();
    }
    if (event.type === "BOOKMARK" && event.object.metadata?.resourceVersion) {
      this.#version = event.object.metadata.resourceVersion;
    }
  }

  told() {
    this.touched.clear();
    this.fresh.clear();
  }
}

function pause() {
  return new Promise((resolve) => setTimeout(resolve, PAUSE));
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
