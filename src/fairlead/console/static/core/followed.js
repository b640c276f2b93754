/** A collection that is listed once and kept current by one watch. */

import { ApiError, isAborted, lines, reasonOf, send } from "./api.js";
import { Live } from "./live.js";

const PAUSE = 1000; // milliseconds before another try
const FINAL = [401, 403, 404, 405]; // codes after which another try is no use

/** Those below say how it is listed and what an event does. */
export class Followed extends Live {
  /** The revision that is watched from; empty until it was listed. */
  version = "";
  /** Whether the user may not look at it. */
  isForbidden = false;

  /**
   * @param {string} path
   * @param {Record<string, string | undefined>} selectors
   * @param {string} [accept]
   */
  constructor(path, selectors, accept) {
    super();
    this.path = path;
    this.selectors = selectors;
    this.accept = accept;
  }

  /**
   * List, then watch, and again whenever that ends; until aborted.
   * @param {AbortSignal} signal
   */
  async run(signal) {
    while (!signal.aborted) {
      try {
        if (!this.version) await this.list(signal);
        this.become("live", "");
        await this.#watch(signal);
        await pause(); // some end at once
      } catch (error) {
        if (isAborted(error) || signal.aborted) return;
        if (error instanceof ApiError && error.code === 410) {
          this.version = "";
          await pause();
          continue;
        }
        this.isForbidden = error instanceof ApiError && error.code === 403;
        this.become("waiting", reasonOf(error));
        if (error instanceof ApiError && FINAL.includes(error.code)) return;
        await pause();
      }
    }
  }

  /**
   * List it, and leave it at that.
   * @param {AbortSignal} signal
   */
  async once(signal) {
    try {
      await this.list(signal);
      this.become("live", "");
    } catch (error) {
      if (!isAborted(error)) this.become("waiting", reasonOf(error));
    }
  }

  /** @param {AbortSignal} signal */
  async #watch(signal) {
    const query = {
      ...this.selectors,
      watch: true,
      resourceVersion: this.version,
      allowWatchBookmarks: true,
    };
    const response = await send(this.path, { accept: this.accept, query, signal });
    for await (const event of lines(response)) {
      if (event.type === "ERROR") throw new ApiError(event.object.code, event.object);
      this.apply(event);
    }
  }

  /**
   * Look at all of it, and set the version.
   * @param {AbortSignal} _signal
   * @returns {Promise<void>}
   */
  async list(_signal) {
    throw new Error("not said");
  }

  /** @param {any} _event of the watch */
  apply(_event) {
    throw new Error("not said");
  }
}

function pause() {
  return new Promise((resolve) => setTimeout(resolve, PAUSE));
}
