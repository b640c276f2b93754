/** One object, kept current. */

import { ApiError, getJson, isAborted, lines, reasonOf, send } from "./api.js";
import { collectionPath, objectPath } from "./paths.js";

/** @import {Kind} from "./kinds.js" */
/** @import {Named} from "./paths.js" */

const PAUSE = 1000; // milliseconds before another try

/** Tells of `changed`, and of `waiting` where `problem` keeps it from hearing of changes. `object` is
 * the newest there is, `isGone` says that it was deleted. */
export class Subject extends EventTarget {
  /** @type {any} */
  object = null;
  isGone = false;
  problem = "";
  /** What is watched from; empty for whatever there is. */
  #version = "";

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
        if (codeOf(error) === 403) return this.#wait(reasonOf(error));
        if (codeOf(error) === 410) this.#version = "";
        else if (codeOf(error) !== 404) this.#wait(reasonOf(error));
        await new Promise((resolve) => setTimeout(resolve, PAUSE));
        await this.#again(signal);
      }
    }
  }

  /**
   * Another look, after which one knows whether it is still there.
   * @param {AbortSignal} signal
   */
  async #again(signal) {
    try {
      await this.load(signal);
    } catch (error) {
      if (codeOf(error) === 404) this.#lose();
    }
  }

  /** @param {AbortSignal} signal */
  async #watch(signal) {
    const query = {
      watch: true,
      fieldSelector: `metadata.name=${this.named.name}`,
      resourceVersion: this.#version,
      allowWatchBookmarks: true,
    };
    const response = await send(collectionPath(this.kind, this.named.namespace), { query, signal });
    for await (const event of lines(response)) {
      if (event.type === "ERROR") throw new ApiError(event.object.code, event.object);
      if (event.type === "BOOKMARK") this.#version = event.object.metadata.resourceVersion;
      else if (event.type === "DELETED") this.#lose(event.object);
      else this.#take(event.object);
    }
  }

  /** @param {any} object */
  #take(object) {
    this.object = object;
    this.#version = object.metadata.resourceVersion;
    this.isGone = false;
    this.problem = "";
    this.dispatchEvent(new Event("changed"));
  }

  /** @param {string} problem */
  #wait(problem) {
    this.problem = problem;
    this.dispatchEvent(new Event("waiting"));
  }

  /** @param {any} [last] as it was when it went */
  #lose(last) {
    if (last) this.#version = last.metadata.resourceVersion;
    this.isGone = true;
    this.problem = "";
    this.dispatchEvent(new Event("changed"));
  }
}

/** @param {unknown} error */
function codeOf(error) {
  return error instanceof ApiError ? error.code : 0;
}
