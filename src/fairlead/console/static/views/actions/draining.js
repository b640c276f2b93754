/** Taking pods off nodes: one of them, or all of a node. */

import { ApiError, getJson } from "../../core/api.js";
import { command } from "../../core/commands.js";
import { h } from "../../core/dom.js";
import { list } from "../../core/listing.js";
import { collectionPath, objectPath } from "../../core/paths.js";
import { allOf, commands, each, merge, titleOf } from "./parts.js";

/** @import {Place} from "../../app.js" */
/** @import {Kind} from "../../core/kinds.js" */
/** @import {Named} from "../../core/paths.js" */
/** @import {Action, Target} from "./parts.js" */

const PODS = "pods.";
const AGAIN = 2_000; // milliseconds until what a disruption budget forbids is tried again
const TRIES = 30;
const MAX_PODS = 5_000;
const MIRROR = /^kubernetes\.io\/config\.mirror$/;
const ENDED = ["Succeeded", "Failed"];

/** @type {Action} */
export const evict = {
  title: "Evict…",
  keys: [PODS],
  needs: [["create", "eviction"]],
  deed: (targets, place) => ({
    title: `Evict ${allOf(targets)}?`,
    says: h("p", {}, "It ends in its grace period, unless a disruption budget forbids that now."),
    command: () => targets.map((one) => evictionCommand(place, one)).join("\n"),
    yes: "Evict",
    run: async (signal) => {
      await each(targets, (one) => evictPod(one.kind, one.named, signal));
      return `${allOf(targets)} is being evicted.`;
    },
  }),
};

/** @type {Action} */
export const drain = {
  title: "Drain…",
  keys: ["nodes."],
  needs: [["patch"], ["create", "eviction", PODS], ["list", "", PODS]],
  isSingle: true,
  deed: async ([target], place) => {
    const { going, staying } = await podsOf(place, target.named.name);
    const names = going.map((one) => `${one.metadata.namespace}/${one.metadata.name}`);
    const progress = h("p", { role: "status" });
    return {
      title: `Drain ${titleOf(target)}?`,
      says: [
        h(
          "p",
          {},
          `It is cordoned, then these ${names.length} pods are evicted, as budgets allow:`,
        ),
        h(
          "ul",
          { class: "links mono preview" },
          names.map((one) => h("li", {}, one)),
        ),
        staying.length > 0 &&
          h("p", { class: "faint" }, `Of daemon sets and of the node: ${staying.length} stay.`),
        h("p", { class: "warn" }, "What they keep in emptyDir volumes is lost."),
        progress,
      ],
      command: () =>
        commands(place, [target], ({ named }) => [
          ...["drain", named.name, "--ignore-daemonsets", "--delete-emptydir-data", "--force"],
        ]),
      yes: "Drain",
      isGrave: true,
      run: async (signal) => {
        await merge(target, { spec: { unschedulable: true } }, signal);
        const kind = /** @type {Kind} */ (place.catalogue.find("", "pods"));
        for (const [index, { metadata }] of going.entries()) {
          progress.textContent = `${index} of ${names.length}: ${names[index]}`;
          await patiently(() => evictPod(kind, metadata, signal));
        }
        return `${titleOf(target)} is drained of ${names.length} pods.`;
      },
    };
  },
};

/**
 * The pods of a node: those that are evicted, and those that come back or belong to it.
 * @param {Place} place
 * @param {string} node
 */
async function podsOf({ catalogue, signal }, node) {
  const kind = /** @type {Kind} */ (catalogue.find("", "pods"));
  const query = { fieldSelector: `spec.nodeName=${node}` };
  const { items } = await list(collectionPath(kind), { query, maximum: MAX_PODS, signal });
  const living = items.filter((one) => !ENDED.includes(one.status?.phase));
  const stays = (/** @type {any} */ { metadata }) =>
    (metadata.ownerReferences ?? []).some((/** @type {any} */ one) => one.kind === "DaemonSet") ||
    Object.keys(metadata.annotations ?? {}).some((one) => MIRROR.test(one));
  return { going: living.filter((one) => !stays(one)), staying: living.filter(stays) };
}

/**
 * @param {Kind} kind
 * @param {Named} named
 * @param {AbortSignal} signal
 */
function evictPod(kind, { name, namespace }, signal) {
  const eviction = evictionOf({ name, namespace });
  const path = `${objectPath(kind, { name, namespace })}/eviction`;
  return getJson(path, { method: "POST", body: JSON.stringify(eviction), signal });
}

/** @param {Named} metadata */
function evictionOf(metadata) {
  return { apiVersion: "policy/v1", kind: "Eviction", metadata };
}

/**
 * Neither program has a word for it.
 * @param {Place} place
 * @param {Target} target
 */
function evictionCommand({ catalogue }, { kind, named }) {
  const path = `${objectPath(kind, named)}/eviction`;
  const body = JSON.stringify(evictionOf(named));
  if (catalogue.about.dialect === "cluster") return command(catalogue, "raw", path, "-d", body);
  return `echo '${body}' | ${command(catalogue, "create", "--raw", path, "-f", "-")}`;
}

/**
 * Again where a budget allows it later only; who is gone already need not be evicted.
 * @param {() => Promise<unknown>} work
 */
async function patiently(work) {
  for (let count = 1; ; count++) {
    try {
      return await work();
    } catch (error) {
      if (error instanceof ApiError && error.code === 404) return;
      if (!(error instanceof ApiError) || error.code !== 429 || count === TRIES) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, AGAIN));
  }
}
