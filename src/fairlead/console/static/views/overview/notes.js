/** What is asked for again and again because nothing tells when it changes: health, warnings among
 * events, and requests that were refused. */

import { ApiError, getJson, getText, isAborted, reasonOf } from "../../core/api.js";
import { list } from "../../core/listing.js";
import { exactly } from "../../core/past.js";
import { collectionPath } from "../../core/paths.js";
import { newestFirst } from "../../parts/rows.js";

/** @import {Catalogue} from "../../core/kinds.js" */
/** @import {Rights} from "../../core/rights.js" */

const PERIOD = 5_000; // milliseconds
const MAX_EVENTS = 1_000;
const SHOWN = 8;
const DENIED = "/history/denied";

/** Tells of `changed`. */
export class Notes extends EventTarget {
  /** Failing checks of the server, or why it cannot be asked. @type {string[]} */
  failing = [];
  version = "";
  /** The newest first. @type {any[]} */
  warnings = [];
  /** @type {any[]} */
  denied = [];

  /**
   * @param {Catalogue} catalogue
   * @param {string} namespace
   * @param {Rights} rights
   */
  constructor(catalogue, namespace, rights) {
    super();
    this.namespace = namespace;
    this.events = catalogue.find("", "events");
    this.maySeeEvents = this.events && rights.mayList(this.events);
    this.isForeign = catalogue.about.foreign;
    this.isMine = onlyOwnDenied(rights);
  }

  /** @param {AbortSignal} signal */
  async run(signal) {
    const version = getJson("/version", { signal }).catch(() => ({}));
    const tell = () => this.dispatchEvent(new Event("changed"));
    while (!signal.aborted) {
      if (!document.hidden) {
        const others = [this.loadWarnings(signal), this.#denied(signal)];
        await this.#health(signal);
        this.version = (await version).gitVersion ?? "";
        tell();
        await Promise.all(others);
        tell();
      }
      await new Promise((resolve) => setTimeout(resolve, PERIOD));
    }
  }

  /** @param {AbortSignal} signal */
  async #health(signal) {
    try {
      await getText("/readyz", { signal });
      this.failing = [];
    } catch (error) {
      if (isAborted(error)) return;
      const checks = reasonOf(error).split("\n");
      const failing = checks.filter((line) => line.startsWith("[-]"));
      this.failing = failing.length ? failing.map((line) => line.slice(3)) : checks;
    }
  }

  /**
   * @param {AbortSignal} signal
   * @param {number} [revision] of the past; 0 for now
   */
  async loadWarnings(signal, revision = 0) {
    if (!this.events || !this.maySeeEvents) return;
    const path = collectionPath(this.events, this.namespace);
    const query = { fieldSelector: "type=Warning", ...exactly(revision) };
    const found = await list(path, { query, maximum: MAX_EVENTS, signal }).catch(() => null);
    if (found) this.warnings = newestFirst(found.items).slice(0, SHOWN);
  }

  /** @param {AbortSignal} signal */
  async #denied(signal) {
    if (this.isForeign) return;
    try {
      this.denied = await recentlyDenied(this.isMine, signal);
    } catch (error) {
      // Rights may have changed since they were asked for.
      if (error instanceof ApiError && error.code === 403) this.isMine = true;
    }
  }
}

/**
 * Whether a user is told only of own requests that were denied.
 * @param {Rights} rights
 */
export function onlyOwnDenied(rights) {
  return !rights.mayRead(DENIED);
}

/**
 * The newest first.
 * @param {boolean} isMine whether only those of the user are asked for
 * @param {AbortSignal} signal
 * @returns {Promise<any[]>}
 */
export async function recentlyDenied(isMine, signal) {
  const query = { mine: isMine || undefined };
  return (await getJson(DENIED, { query, signal })).items.slice(-SHOWN).reverse();
}
