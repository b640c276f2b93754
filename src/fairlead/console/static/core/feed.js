/** All changes of a namespace, or of everything, as they happen. */

import { ApiError, isAborted, lines, reasonOf, send } from "./api.js";
import { Live } from "./live.js";
import { EVERYTHING, pastOf, revisionOf } from "./past.js";

/** @import {Catalogue} from "./kinds.js" */
/** @import {Change} from "./past.js" */
/** Changes that were missed, in the place where they would have been. @typedef {{after: number, upto: number}} Gap */

const PAUSE = 1000; // milliseconds before another try

/** Tells of `changed`, at most once a frame. */
export class Feed extends Live {
  /** Oldest first; the oldest are let go when there are too many. @type {Change[]} */
  changes = [];
  /** @type {Gap[]} */
  gaps = [];
  /** The revision since which everything is known here. */
  since = 0;
  /** The revision since which no change was missed; zero until that is known. */
  start = 0;
  /** The oldest one that the server knows. */
  oldest = 0;
  /** How many came while it was followed. */
  count = 0;
  #seen = 0;
  #isCurrent = false;

  /**
   * @param {Catalogue} catalogue
   * @param {string} namespace empty for all of them
   * @param {number} first how many that happened before to begin with
   * @param {number} maximum how many are kept
   */
  constructor(catalogue, namespace, first, maximum) {
    super();
    this.hasHistory = !catalogue.about.foreign;
    this.namespace = namespace;
    this.first = first;
    this.maximum = maximum;
  }

  /**
   * Follow, and again whenever that ends; until aborted or not allowed. Servers of others have no
   * history to follow.
   * @param {AbortSignal} signal
   */
  async run(signal) {
    while (this.hasHistory && !signal.aborted) {
      try {
        if (!this.#isCurrent) await this.#begin(signal);
        await this.#watch(signal);
        this.become("waiting", "the server ended it");
      } catch (error) {
        if (isAborted(error) || signal.aborted) return;
        this.become("waiting", reasonOf(error));
        if (error instanceof ApiError && [403, 404].includes(error.code)) return;
        if (error instanceof ApiError && error.code === 410) this.#isCurrent = false;
      }
      await new Promise((resolve) => setTimeout(resolve, PAUSE));
    }
  }

  /** Whether the server knows more than is here. */
  get hasOlder() {
    return this.since > this.oldest;
  }

  /**
   * What happened before all that is here.
   * @param {AbortSignal} signal
   */
  async older(signal) {
    const query = { namespace: this.namespace, limit: this.first, before: this.since + 1 };
    const { items, metadata } = await pastOf("", query, signal);
    this.oldest = Number(metadata.oldest);
    this.since = metadata.before ? Number(metadata.before) - 1 : this.oldest;
    this.maximum += items.length;
    this.changes = [...items, ...this.changes];
    this.tell();
  }

  /** @param {AbortSignal} signal */
  async #begin(signal) {
    const query = {
      namespace: this.namespace,
      limit: this.first,
      since: this.#seen || undefined,
    };
    const { items, metadata } = await pastOf("", query, signal);
    const from = metadata.before ? Number(metadata.before) - 1 : Number(metadata.oldest);
    if (!this.#seen) this.since = from;
    else if (from > this.#seen) this.gaps.push({ after: this.#seen, upto: from });
    this.oldest = Number(metadata.oldest);
    for (const change of items) this.#take(change);
    this.#seen = Number(metadata.resourceVersion);
    this.start = this.#seen;
    this.#isCurrent = true;
    this.tell();
  }

  /** @param {AbortSignal} signal */
  async #watch(signal) {
    const query = { namespace: this.namespace, watch: true, resourceVersion: this.#seen };
    const response = await send(EVERYTHING, { query, signal });
    this.become("live", "");
    for await (const event of lines(response)) {
      if (event.type === "ERROR") throw new ApiError(event.object.code, event.object);
      if (event.type === "BOOKMARK") {
        this.#seen = revisionOf(event.object);
        continue;
      }
      this.count += 1;
      this.#take(event.object);
      this.tell();
    }
  }

  /** @param {Change} change */
  #take(change) {
    this.#seen = Math.max(this.#seen, revisionOf(change));
    this.changes.push(change);
    // Now and then many, not always one: moving them all costs.
    if (this.changes.length > this.maximum * 1.25) {
      this.changes = this.changes.slice(-this.maximum);
      this.since = revisionOf(this.changes[0]) - 1;
    }
  }
}
