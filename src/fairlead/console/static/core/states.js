/** How an object is, in a word and with a tone. */

import { own } from "./own.js";
import { presentTime } from "./time.js";

/** @import {Catalogue, Kind} from "./kinds.js" */
/** @typedef {"good" | "warn" | "bad" | ""} Tone */
/** @typedef {{word: string, tone: Tone, why: string, since?: string}} State */

const PATIENCE = 60_000; // milliseconds in which something may still start
const LATELY = 600_000; // milliseconds in which a restart is worth a word
// How node agents name a container, with all of its pod, and what schedulers say of preemption.
const AGENTS_NAME = / container=(\S+) pod=\S+\([\w-]+\)/;
const PREEMPTION = /\s*preemption: .*$/s;
const STARTING = ["ContainerCreating", "PodInitializing"];
// Conditions that every kind means alike; of others nothing is known.
const GOOD_IF_TRUE = [
  ...["Ready", "Available", "Progressing", "ContainersReady", "Initialized", "PodScheduled"],
  ...["Established", "NamesAccepted", "Healthy", "Synced", "AbleToScale", "ScalingActive"],
];
const GOOD_IF_FALSE = [
  ...["Failed", "FailureTarget", "ReplicaFailure", "Stalled", "Degraded", "MemoryPressure"],
  ...["DiskPressure", "PIDPressure", "NetworkUnavailable", "DisruptionTarget"],
];
const FINE = ["PodCompleted"]; // reasons for which nothing is wrong
/** @type {Record<string, Tone>} */
const PHASES = {
  Active: "good",
  Available: "good",
  Bound: "good",
  Pending: "warn",
  Failed: "bad",
  Lost: "bad",
};

/** @type {Record<string, (object: any) => State>} */
const RULES = {
  "pods.": podState,
  "nodes.": nodeState,
  "namespaces.": phaseState,
  "persistentvolumeclaims.": claimState,
  "persistentvolumes.": phaseState,
  "replicationcontrollers.": replicaState,
  "replicasets.apps": replicaState,
  "deployments.apps": replicaState,
  "statefulsets.apps": replicaState,
  "daemonsets.apps": (object) =>
    workloadState(object, object.status?.desiredNumberScheduled, object.status?.numberReady),
  "jobs.batch": jobState,
  "horizontalpodautoscalers.autoscaling": scalerState,
};

/**
 * A name for a kind of ours that is the same in both dialects.
 * @param {Catalogue} catalogue
 * @param {Kind} kind
 */
export function keyOf(catalogue, kind) {
  const domain = `.${catalogue.about.groupDomain}`;
  const group = kind.group.endsWith(domain) ? kind.group.slice(0, -domain.length) : kind.group;
  return `${kind.plural}.${group}`;
}

/**
 * @param {string} key of its kind
 * @param {any} object
 * @returns {State}
 */
export function stateOf(key, object) {
  const since = object.metadata.deletionTimestamp;
  if (since) return { word: "ending", tone: "warn", why: holdersOf(object), since };
  return RULES[key]?.(object) ?? conditionState(object);
}

/**
 * What keeps an object that is to be deleted; namespaces tell it by their conditions.
 * @param {any} object
 */
function holdersOf(object) {
  const finalizers = [...(object.metadata.finalizers ?? []), ...(object.spec?.finalizers ?? [])];
  const told = conditionsOf(object)
    .filter((one) => one.status === "True" && one.message)
    .map((one) => one.message);
  if (told.length) return told.join("; ");
  return finalizers.length ? `held by ${finalizers.join(", ")}` : "";
}

/**
 * Whether a condition is as it should be; empty where nobody can know.
 * @param {{type?: string, status?: string, reason?: string}} condition
 * @returns {Tone}
 */
export function toneOf({ type = "", status, reason = "" }) {
  const isGood = GOOD_IF_TRUE.includes(type) ? "True" : "False";
  if (isGood === "False" && !GOOD_IF_FALSE.includes(type)) return "";
  if (status === isGood || FINE.includes(reason)) return "good";
  return status === "Unknown" ? "warn" : "bad";
}

/**
 * The conditions of an object, which custom kinds may have in any form.
 * @param {any} object
 * @returns {any[]}
 */
export function conditionsOf(object) {
  const found = object.status?.conditions;
  return Array.isArray(found) ? found.filter((one) => one && typeof one === "object") : [];
}

/**
 * @param {any} object
 * @param {string} type
 */
function condition(object, type) {
  return conditionsOf(object).find((one) => one.type === type);
}

/**
 * @param {any} object
 * @returns {State}
 */
function conditionState(object) {
  const known = conditionsOf(object).filter(toneOf);
  const wrong = known.find((one) => toneOf(one) !== "good");
  if (wrong) return told(`${wrong.type}=${wrong.status}`, toneOf(wrong), wrong);
  return known.length ? told(`${known[0].type}`, "good") : told("", "");
}

/**
 * @param {any} pod
 * @returns {State}
 */
function podState(pod) {
  const { phase = "Pending", reason, message = "" } = pod.status ?? {};
  const containers = containersOf(pod);
  if (phase === "Succeeded") return told("Completed", "good");
  if (phase === "Failed") {
    const ended = containers.find((one) => one.state?.terminated?.exitCode);
    return told(reason || ended?.state.terminated.reason || phase, "bad", {
      message: message || (ended ? endOf(ended.name, ended.state.terminated) : ""),
    });
  }
  const scheduled = condition(pod, "PodScheduled");
  if (scheduled?.status === "False") {
    const message = withoutPreemption(scheduled.message);
    return told(scheduled.reason || "Waiting", "bad", { ...scheduled, message });
  }
  for (const one of containers) {
    const found = containerTrouble(one);
    if (found) return found;
  }
  const ready = condition(pod, "Ready");
  if (phase === "Running" && ready?.status === "True") return told(phase, "good");
  const since = ready?.lastTransitionTime ?? pod.metadata.creationTimestamp;
  const isSlow = presentTime() - Date.parse(since) > PATIENCE;
  const word = phase === "Running" ? "Not ready" : phase;
  return told(word, isSlow ? "warn" : "", { ...ready, lastTransitionTime: since });
}

/**
 * The statuses of all containers, those that come first in front.
 * @param {any} pod
 * @returns {any[]}
 */
export function containersOf(pod) {
  const status = pod.status ?? {};
  return [
    ...(status.initContainerStatuses ?? []),
    ...(status.containerStatuses ?? []),
    ...(status.ephemeralContainerStatuses ?? []),
  ];
}

/**
 * @param {any} container
 * @returns {State | undefined}
 */
function containerTrouble({ name, state = {}, lastState = {}, restartCount = 0 }) {
  const { waiting, terminated } = state;
  const last = lastState.terminated;
  if (waiting?.reason && !STARTING.includes(waiting.reason)) {
    const message = [briefly(waiting.message), last && endOf(name, last)]
      .filter(Boolean)
      .join("; ");
    return told(waiting.reason, "bad", { message, lastTransitionTime: last?.finishedAt });
  }
  if (terminated?.exitCode)
    return told(terminated.reason || "Error", "bad", {
      message: endOf(name, terminated),
      lastTransitionTime: terminated.finishedAt,
    });
  if (last && presentTime() - Date.parse(last.finishedAt) < LATELY)
    return told("Restarting", "warn", {
      message: `${restartCount} restarts; ${endOf(name, last)}`,
      lastTransitionTime: last.finishedAt,
    });
  return undefined;
}

/**
 * Why a scheduler finds no node, without what it says of the pods that could make room.
 * @param {string | undefined} message
 */
export function withoutPreemption(message) {
  return message?.replace(PREEMPTION, "");
}

/**
 * What a node agent says of a container, without the name of its pod.
 * @param {string | undefined} message
 */
export function briefly(message) {
  return message?.replace(AGENTS_NAME, " container $1");
}

/**
 * @param {string} name of a container
 * @param {any} terminated
 */
export function endOf(name, terminated) {
  const why = terminated.reason ? ` (${terminated.reason})` : "";
  const said = terminated.message ? `: ${terminated.message}` : "";
  return `${name} ended with exit code ${terminated.exitCode}${why}${said}`;
}

/** @param {any} object */
function replicaState(object) {
  return workloadState(object, object.spec?.replicas ?? 1, object.status?.readyReplicas);
}

/**
 * @param {any} object
 * @param {number} wanted
 * @param {number} ready
 * @returns {State}
 */
function workloadState(object, wanted = 0, ready = 0) {
  const word = `${ready} of ${wanted} ready`;
  const wrong = conditionsOf(object).filter((one) => toneOf(one) === "bad");
  const grave = wrong.find((one) => one.type !== "Available");
  if (grave) return told(word, "bad", grave);
  return told(word, ready < wanted ? "warn" : "good", wrong[0]);
}

/**
 * Whether a job has come to its end.
 * @param {any} job
 */
export function isFinished(job) {
  return ["Complete", "Failed"].some((type) => condition(job, type)?.status === "True");
}

/**
 * @param {any} job
 * @returns {State}
 */
function jobState(job) {
  const failed = condition(job, "Failed");
  if (failed?.status === "True") return told("Failed", "bad", failed);
  if (condition(job, "Complete")?.status === "True") return told("Complete", "good");
  return told(job.spec?.suspend ? "Suspended" : `${job.status?.active ?? 0} active`, "");
}

/**
 * @param {any} node
 * @returns {State}
 */
function nodeState(node) {
  const ready = condition(node, "Ready");
  if (ready?.status !== "True") return told("Not ready", "bad", ready);
  const wrong = conditionsOf(node).find((one) => toneOf(one) === "bad");
  if (wrong) return told(wrong.type, "bad", wrong);
  return node.spec?.unschedulable
    ? told("Cordoned", "warn", { message: "takes no new pods" })
    : told("Ready", "good");
}

/**
 * @param {any} claim
 * @returns {State}
 */
function claimState(claim) {
  const state = phaseState(claim);
  if (claim.status?.phase !== "Pending" || state.why) return state;
  const name = claim.spec?.storageClassName;
  return { ...state, why: name ? `no volume of class ${name} yet` : "no volume yet" };
}

/**
 * How many replicas an autoscaler has made, where nothing keeps it from that.
 * @param {any} scaler
 * @returns {State}
 */
function scalerState(scaler) {
  const state = conditionState(scaler);
  if (state.tone === "bad" || state.tone === "warn") return state;
  const { minReplicas = 1, maxReplicas } = scaler.spec;
  const { currentReplicas = 0 } = scaler.status ?? {};
  return { ...state, word: `${currentReplicas} of ${minReplicas} to ${maxReplicas}` };
}

/**
 * @param {any} object
 * @returns {State}
 */
function phaseState(object) {
  const { phase = "", reason, message } = object.status ?? {};
  const lastTransitionTime = phase === "Pending" ? object.metadata.creationTimestamp : undefined;
  return told(phase, own(PHASES, phase) ?? "", { reason, message, lastTransitionTime });
}

/**
 * @param {string} word
 * @param {Tone} tone
 * @param {{reason?: string, message?: string, lastTransitionTime?: string}} [cause]
 * @returns {State}
 */
function told(word, tone, cause = {}) {
  return { word, tone, why: cause.message || cause.reason || "", since: cause.lastTransitionTime };
}
