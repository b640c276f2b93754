/** How Services are, by the pods that they select: nothing of their own tells it. */

import { keyOf } from "./states.js";

/** @import {State} from "./states.js" */
/** @import {Thing, World} from "./relations.js" */

/**
 * Tell of all Services whether somebody is behind them. All pods must have been seen.
 * @param {World} world
 */
export function judgeServices({ things, edges, catalogue }) {
  /** @type {Map<string, Thing[]>} */
  const pods = new Map();
  for (const { from, to, label } of edges) {
    const pod = label === "selects" && things.get(to);
    if (pod) pods.set(from, [...(pods.get(from) ?? []), pod]);
  }
  for (const thing of things.values()) {
    const isService = thing.kind && keyOf(catalogue, thing.kind) === "services.";
    if (isService && thing.object?.spec?.selector && !thing.object.metadata.deletionTimestamp)
      thing.state = stateOf(pods.get(thing.id) ?? []);
  }
}

/**
 * @param {Thing[]} pods
 * @returns {State}
 */
function stateOf(pods) {
  if (!pods.length) return { word: "no pods", tone: "bad", why: "no pod has its labels" };
  const ready = pods.filter((one) => one.state.tone === "good").length;
  const word = `${ready} of ${pods.length} ready`;
  return { word, tone: ready === pods.length ? "good" : ready ? "warn" : "bad", why: "" };
}
