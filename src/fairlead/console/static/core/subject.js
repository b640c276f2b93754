/** One object, kept current. */

import { ApiError, getJson, isAborted, lines, reasonOf, send } from "./api.js";
import { collectionPath, objectPath } from "./paths.js";

/** @import {Kind} from "./kinds.js" */
/** @import {Named} from "./paths.js" */

const PAUSE = 1000; // milliseconds before another try

/** Tells of `changed`. `object` is the newest there is, `isGone` says that it was deleted. */
export class Subject extends EventTarget {
  /** @type {any} */
  object = null;
  isGone = false;
  problem = "";

  /**
   * @param {Kind} kind
   * @param {Named} named
   */
  constructor(kind, named) {
    super();
    this.kind = kind;
    this.named = named;
    this.path = objectPath(kind, named);
  }

  /**
   * The first look; throws ApiError.
   * @param {AbortSignal} signal
   */
  async load(signal) {
    this.#take(await getJson(this.path, { signal }));
  }

  /**
   * Follow it until aborted.
   * @param {AbortSignal} signal
   */
  async follow(signal) {
    if (!this.kind.verbs.includes("watch")) return;
    while (!signal.aborted) {
      try {
        await this.#watch(signal);
      } catch (error) {
        if (isAborted(error) || signal.aborted) return;
        if (error instanceof ApiError && error.code === 403) return;
        if (error instanceof ApiError && error.code === 404) this.#lose();
        else this.problem = reasonOf(error);
        await new Promise((resolve) => setTimeout(resolve, PAUSE));
        await this.load(signal).catch(() => {});
      }
    }
  }

  /** @param {AbortSignal} signal */
  async #watch(signal) {
    const query = {
      watch: true,
      fieldSelector: `metadata.name=${this.named.name}`,
      resourceVersion: this.object.metadata.resourceVersion,
      allowWatchBookmarks: true,
    };
    const response = await send(collectionPath(this.kind, this.named.namespace), { query, signal });
    for await (const event of lines(response)) {
      if (event.type === "ERROR") throw new ApiError(event.object.code, event.object);
      if (event.type === "BOOKMARK")
        this.object.metadata.resourceVersion = event.object.metadata.resourceVersion;
      else if (event.type === "DELETED") this.#lose();
      else this.#take(event.object);
    }
  }

  /** @param {any} object */
  #take(object) {
    this.object = object;
    this.isGone = false;
    this.problem = "";
    this.dispatchEvent(new Event("changed"));
  }

  #lose() {
    this.isGone = true;
    this.dispatchEvent(new Event("changed"));
  }
}
