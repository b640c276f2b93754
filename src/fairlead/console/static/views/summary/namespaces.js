/** Namespaces: what is left in one that is being deleted. */

import { conditionsOf } from "../../core/states.js";
import { sections as columns } from "./custom.js";

/** @import {At} from "./parts.js" */
/** @import {Reason} from "../../core/reasons.js" */

const LEFT = /([\w.-]+) has \d+ resource instances/g; // how its condition names a kind
const SHOWN = 10; // objects that are named

/** @param {At} at @returns {Reason[]} */
export function reasons({ subject, near }) {
  const { metadata } = subject.object;
  if (!metadata.deletionTimestamp) return [];
  const left = keysLeft(subject.object).flatMap((key) =>
    near.all(key, {}, metadata.name).map((object) => ({ key, metadata: object.metadata })),
  );
  const held = left.map(({ key, metadata: one }) => ({
    tone: /** @type {const} */ ("bad"),
    text: one.finalizers?.length
      ? `is still in it and waits for the finalizer ${one.finalizers.join(", ")}`
      : "is still in it",
    about: { key, name: one.name, namespace: one.namespace },
  }));
  const more = held.length - SHOWN;
  if (more <= 0) return held;
  return [...held.slice(0, SHOWN), { tone: "bad", text: `${more} more objects are still in it` }];
}

export const sections = columns;

/**
 * The keys of the kinds of which there is something left.
 * @param {any} namespace
 */
function keysLeft(namespace) {
  const told = conditionsOf(namespace).find((one) => one.type === "NamespaceContentRemaining");
  if (told?.status !== "True") return [];
  return [...String(told.message).matchAll(LEFT)].map(([, name]) =>
    name.includes(".") ? name : `${name}.`,
  );
}
