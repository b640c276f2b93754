/** What changed lately, and what changes now: the server's feed of all kinds. */

import { ApiError, getJson, isAborted, lines, reasonOf, send } from "../../core/api.js";

/**
 * @typedef {object} Change
 * @property {string} resourceVersion
 * @property {string} type
 * @property {string} [time]
 * @property {string} [user]
 * @property {{manager?: string}[]} [by]
 * @property {string} [namespace]
 * @property {string} name
 * @property {string} group
 * @property {string} kind
 * @property {string} resource
 */

const KEPT = 12;
const PATH = "/history";
const PAUSE = 3_000; // milliseconds before another try
const NEVER = [400, 403, 404, 405]; // answers after which there is no use in asking again

/** Tells of `begun` (anything before may have been missed), `changed` with the change as detail, and
 * `ended`. */
export class Changes extends EventTarget {
  /** The newest first. @type {Change[]} */
  items = [];
  problem = "";

  /** @param {string} namespace */
  constructor(namespace) {
    super();
    this.namespace = namespace;
  }

  /** @param {AbortSignal} signal */
  async run(signal) {
    while (!signal.aborted) {
      try {
        await this.#follow(signal);
      } catch (error) {
        if (isAborted(error) || signal.aborted) return;
        this.problem = reasonOf(error);
        this.dispatchEvent(new Event("ended"));
        if (error instanceof ApiError && NEVER.includes(error.code)) return;
        await new Promise((resolve) => setTimeout(resolve, PAUSE));
      }
    }
  }

  /** @param {AbortSignal} signal */
  async #follow(signal) {
    const about = { namespace: this.namespace };
    const past = await getJson(PATH, { query: { ...about, limit: KEPT }, signal });
    this.items = past.items.slice(-KEPT).reverse();
    this.problem = "";
    const query = { ...about, watch: true, resourceVersion: past.metadata.resourceVersion };
    const response = await send(PATH, { query, signal });
    this.dispatchEvent(new Event("begun"));
    for await (const event of lines(response)) {
      if (event.type === "ERROR") throw new ApiError(event.object.code, event.object);
      if (event.type === "BOOKMARK") continue;
      this.items = [event.object, ...this.items].slice(0, KEPT);
      this.dispatchEvent(new CustomEvent("changed", { detail: event.object }));
    }
  }
}
