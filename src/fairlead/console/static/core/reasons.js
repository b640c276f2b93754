/** Why an object is not well, in words and with what to look at: its worst pod, what it waits for. */

import { conditionsOf, stateOf, toneOf } from "./states.js";

/** @import {Near} from "./near.js" */
/** @import {State, Tone} from "./states.js" */
/** @typedef {{key: string, name: string, namespace?: string}} Pointer at an object */
/** `about` is what to look at, `hint` what can be done. @typedef {{tone: Tone, text: string, about?: Pointer, hint?: string}} Reason */

const RANK = { bad: 0, warn: 1, "": 2, good: 3 };
const PODS = "pods.";
const FEW = 3; // pods that are named
const OF_SERVER = "kubernetes"; // the finalizer that the server itself puts on namespaces
/** By the reason for which a pod waits: what can be done about it. @type {Record<string, string>} */
const HINTS = {
  Unschedulable: "Look at what the nodes have left, or at taints and selectors of nodes.",
  ImagePullBackOff: "Check the name of the image, and what it is pulled with.",
  ErrImagePull: "Check the name of the image, and what it is pulled with.",
  CrashLoopBackOff: "Its log tells more, also the one before the restart.",
  CreateContainerConfigError: "It names a ConfigMap, a Secret or a key that is not there.",
  OOMKilled: "It used more memory than its limit.",
};

/**
 * Pods with the worst first; those that are alike in the order of their names.
 * @param {any[]} pods
 * @returns {{pod: any, state: State}[]}
 */
export function worstFirst(pods) {
  return pods
    .map((pod) => ({ pod, state: stateOf(PODS, pod) }))
    .sort(
      (a, b) =>
        RANK[a.state.tone] - RANK[b.state.tone] ||
        (a.pod.metadata.name < b.pod.metadata.name ? -1 : 1),
    );
}

/**
 * @param {any} pod
 * @param {State} [state]
 * @returns {Reason}
 */
export function podReason(pod, state = stateOf(PODS, pod)) {
  const { name, namespace } = pod.metadata;
  const text = [state.word, state.why].filter(Boolean).join(" – ");
  return { tone: state.tone, text, about: { key: PODS, name, namespace }, hint: HINTS[state.word] };
}

/**
 * The worst pods of a workload, one of each way of being unwell.
 * @param {any[]} pods
 * @returns {Reason[]}
 */
export function worstPods(pods) {
  const wrong = worstFirst(pods).filter(({ state }) => state.tone !== "good");
  const ways = Map.groupBy(wrong, ({ state }) => state.word);
  return [...ways.values()].slice(0, FEW).map(([{ pod, state }, ...others]) => {
    const reason = podReason(pod, state);
    const more = others.length ? ` (and ${others.length} more like it)` : "";
    return { ...reason, text: reason.text + more };
  });
}

/**
 * Conditions that are not as they should be.
 * @param {any} object
 * @returns {Reason[]}
 */
export function conditionReasons(object) {
  return conditionsOf(object)
    .map((one) => ({ one, tone: toneOf(one) }))
    .filter(({ tone }) => tone === "bad" || tone === "warn")
    .map(({ one, tone }) => ({
      tone,
      text: [`${one.type} is ${one.status}`, one.message || one.reason].filter(Boolean).join(": "),
    }));
}

/**
 * What keeps an object that is being deleted.
 * @param {any} object
 * @returns {Reason[]}
 */
export function deletionReasons({ metadata, spec }) {
  if (!metadata.deletionTimestamp) return [];
  const holders = [...(metadata.finalizers ?? []), ...(spec?.finalizers ?? [])];
  return holders.map((one) => ({
    tone: /** @type {Tone} */ ("warn"),
    text: `Its deletion waits for the finalizer ${one}`,
    hint:
      one === OF_SERVER
        ? "The server takes it away when nothing is left in it."
        : "Whoever put it there takes it away when it has cleaned up.",
  }));
}

/**
 * Why a pod waits that no node was found for.
 * @param {any} pod
 * @param {Near} near
 * @returns {Reason[]}
 */
export function nodeReasons(pod, near) {
  if (pod.spec.nodeName || pod.status?.phase !== "Pending") return [];
  const nodes = near.kind("nodes.");
  if (!nodes || !near.rights.mayList(nodes)) return [];
  const isEmpty = !near.all("nodes.", {}, "").length && near.isComplete;
  if (!isEmpty) return [];
  const text = "There are no nodes, so nothing can run.";
  const hint = near.catalogue.about.foreign
    ? "A machine becomes one when its agent registers it."
    : "Start the server with --simulate-nodes 3 to have some.";
  return [{ tone: "bad", text, hint }];
}

/**
 * ConfigMaps and Secrets that a pod needs and that are not there.
 * @param {any} pod
 * @param {Near} near
 * @returns {Reason[]}
 */
export function missingConfig(pod, near) {
  if (stateOf(PODS, pod).tone === "good") return [];
  return needed(pod).flatMap(([key, name]) => {
    const kind = near.kind(key);
    if (!kind || !near.rights.mayList(kind)) return [];
    const all = near.all(key);
    if (!near.isComplete || all.some((one) => one.metadata.name === name)) return [];
    return [{ tone: /** @type {Tone} */ ("bad"), text: `${kind.kind} ${name} is not there` }];
  });
}

/**
 * @param {any} pod
 * @returns {[string, string][]}
 */
function needed({ spec }) {
  const containers = [...(spec.initContainers ?? []), ...spec.containers];
  const sources = [
    ...(spec.volumes ?? []).flatMap((/** @type {any} */ one) => [
      ["configmaps.", one.configMap?.name, one.configMap?.optional],
      ["secrets.", one.secret?.secretName, one.secret?.optional],
    ]),
    ...containers.flatMap((one) => [
      ...(one.envFrom ?? []).flatMap((/** @type {any} */ from) => [
        ["configmaps.", from.configMapRef?.name, from.configMapRef?.optional],
        ["secrets.", from.secretRef?.name, from.secretRef?.optional],
      ]),
      ...(one.env ?? []).flatMap((/** @type {any} */ { valueFrom = {} }) => [
        ["configmaps.", valueFrom.configMapKeyRef?.name, valueFrom.configMapKeyRef?.optional],
        ["secrets.", valueFrom.secretKeyRef?.name, valueFrom.secretKeyRef?.optional],
      ]),
    ]),
  ];
  /** @type {Map<string, [string, string]>} */
  const wanted = new Map();
  for (const [key, name, isOptional] of sources)
    if (name && !isOptional) wanted.set(`${key}/${name}`, [key, name]);
  return [...wanted.values()];
}
