/** Whole objects of a kind, kept current by one watch. */

import { Followed } from "./followed.js";
import { list } from "./listing.js";

const MAX_OBJECTS = 5_000;

/** Tells of `changed`, at most once a frame. */
export class LiveList extends Followed {
  /** @type {Map<string, any>} */
  #items = new Map();
  /** How many there are that were not asked for. */
  left = 0;

  get items() {
    return [...this.#items.values()];
  }

  /** @param {AbortSignal} signal */
  async list(signal) {
    const query = /** @type {Record<string, string>} */ (this.selectors);
    const found = await list(this.path, { query, maximum: MAX_OBJECTS, signal });
    this.#items = new Map(found.items.map((one) => [one.metadata.uid, one]));
    this.left = found.total - found.items.length;
    this.version = found.version;
    this.tell();
  }

  /** @param {any} event */
  apply({ type, object }) {
    this.version = object.metadata.resourceVersion;
    if (type === "BOOKMARK") return;
    if (type === "DELETED") this.#items.delete(object.metadata.uid);
    else this.#items.set(object.metadata.uid, object);
    this.tell();
  }
}
