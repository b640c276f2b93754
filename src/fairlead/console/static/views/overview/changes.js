/** What changed lately, and what changes now: the server's feed of all kinds. */

import { ApiError, getJson, isAborted, lines, send } from "../../core/api.js";

/** @import {Survey} from "./survey.js" */
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

/** Tells of `changed`, at most once a frame, and the survey of every change. */
export class Changes extends EventTarget {
  /** The newest first. @type {Change[]} */
  items = [];
  #isTold = false;

  /**
   * @param {string} namespace
   * @param {Survey} survey
   */
  constructor(namespace, survey) {
    super();
    this.namespace = namespace;
    this.survey = survey;
    /** Whether it is known if there is a feed. @type {Promise<unknown>} */
    this.begun = new Promise((resolve) => this.addEventListener("begun", resolve, { once: true }));
  }

  /** @param {AbortSignal} signal */
  async run(signal) {
    while (!signal.aborted) {
      try {
        await this.#follow(signal);
      } catch (error) {
        if (isAborted(error) || signal.aborted) return;
        this.#feed(false);
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
    this.#tell();
    const query = { ...about, watch: true, resourceVersion: past.metadata.resourceVersion };
    const response = await send(PATH, { query, signal });
    this.#feed(true);
    for await (const event of lines(response)) {
      if (event.type === "ERROR") throw new ApiError(event.object.code, event.object);
      if (event.type === "BOOKMARK") continue;
      this.items = [event.object, ...this.items].slice(0, KEPT);
      this.survey.touch(event.object.group, event.object.resource);
      this.#tell();
    }
  }

  /**
   * What happened while there was no feed was missed.
   * @param {boolean} isFed
   */
  #feed(isFed) {
    if (isFed || this.survey.isFed) this.survey.touchAll();
    this.survey.isFed = isFed;
    this.dispatchEvent(new Event("begun"));
  }

  #tell() {
    if (this.#isTold) return;
    this.#isTold = true;
    requestAnimationFrame(() => {
      this.#isTold = false;
      this.dispatchEvent(new Event("changed"));
    });
  }
}
