/** Workloads: their pods, how far a rollout is, what they run, and their revisions. */

import { h } from "../../core/dom.js";
import { isOwned } from "../../core/near.js";
import { conditionReasons, worstPods } from "../../core/reasons.js";
import { stateOf } from "../../core/states.js";
import { factTable, meter, podSection } from "./parts.js";
import { revisionSection } from "./revisions.js";

/** @import {At, Section} from "./parts.js" */
/** @import {Reason} from "../../core/reasons.js" */

const PARTS = "replicasets.apps";

/**
 * The pods of a workload; those of a Deployment are owned by its replica sets.
 * @param {At} at
 * @returns {any[]}
 */
function podsOf({ subject, key, near }) {
  const { object } = subject;
  const pods = near.all("pods.", { labelSelector: selectorText(object.spec.selector) });
  const owners = key === "deployments.apps" ? near.owned(PARTS, object) : [object];
  const uids = owners.map((one) => one.metadata.uid);
  return pods.filter((pod) => uids.some((uid) => isOwned(pod, uid)));
}

/** @param {At} at @returns {Reason[]} */
export function reasons(at) {
  const { subject, key, near } = at;
  const { object } = subject;
  const [wanted, ready] = counts(key, object);
  const state = stateOf(key, object);
  if (state.tone === "good" && ready >= wanted) return [];
  /** @type {Reason[]} */
  const found = worstPods(podsOf(at));
  for (const part of key === "deployments.apps" ? near.owned(PARTS, object) : [])
    found.push(...conditionReasons(part));
  found.push(...conditionReasons(object));
  if (!found.length && ready < wanted && near.isComplete)
    found.push({ tone: "warn", text: `${ready} of ${wanted} pods are ready` });
  return found;
}

/** @param {At} at @returns {Section[]} */
export function sections(at) {
  const { subject, key } = at;
  return [
    podSection(at, () => podsOf(at)),
    {
      title: "Rollout",
      look: () => rollout(key, subject.object),
      draw: ({ facts, bars }) => [
        bars.map((/** @type {[string, number, number]} */ [name, value, whole]) =>
          progress(name, value, whole),
        ),
        factTable(facts),
      ],
    },
    revisionSection(at),
  ];
}

/**
 * How many pods are wanted and how many are ready.
 * @param {string} key
 * @param {any} object
 */
function counts(key, { spec = {}, status = {} }) {
  return key === "daemonsets.apps"
    ? [status.desiredNumberScheduled ?? 0, status.numberReady ?? 0]
    : [spec.replicas ?? 1, status.readyReplicas ?? 0];
}

/**
 * @param {string} key
 * @param {any} object
 */
function rollout(key, object) {
  const { spec, status = {}, metadata } = object;
  const [wanted, ready] = counts(key, object);
  const updated = status.updatedReplicas ?? status.updatedNumberScheduled;
  const available = status.availableReplicas ?? status.numberAvailable ?? 0;
  /** @type {[string, number, number][]} */
  const bars = [["ready", ready, wanted]];
  if (updated !== undefined || key === "deployments.apps")
    bars.unshift(["updated", updated ?? 0, wanted]);
  const containers = [...(spec.template?.spec?.initContainers ?? [])].concat(
    spec.template?.spec?.containers ?? [],
  );
  const isBehind = metadata.generation > (status.observedGeneration ?? metadata.generation);
  return {
    bars,
    facts: [
      ["Wanted", `${wanted}, of which ${ready} ready and ${available} available`],
      ["Rollout", isBehind ? "the last change was not taken up yet" : inWords(key, object)],
      ["Strategy", strategyText(spec)],
      ["Images", containers.map((one) => `${one.name}: ${one.image}`).join("\n")],
      ["Selects", selectorText(spec.selector)],
    ],
  };
}

/**
 * @param {string} key
 * @param {any} object
 */
function inWords(key, { spec, status = {} }) {
  if (spec.paused) return "paused: changes of the template wait until it is resumed";
  const [wanted] = counts(key, { spec, status });
  const updated = status.updatedReplicas ?? status.updatedNumberScheduled ?? 0;
  if (!["deployments.apps", "statefulsets.apps", "daemonsets.apps"].includes(key)) return "";
  if (updated < wanted) return `${updated} of ${wanted} pods are of the newest revision`;
  const old = key === "deployments.apps" ? (status.replicas ?? 0) - updated : 0;
  if (old > 0) return `${old} old ${old === 1 ? "pod is" : "pods are"} still to end`;
  const available = status.availableReplicas ?? status.numberAvailable ?? 0;
  if (available < wanted) return `${wanted - available} of ${wanted} pods are not available yet`;
  return "done";
}

/** @param {any} spec */
function strategyText({ strategy, updateStrategy }) {
  const { type, rollingUpdate = {} } = strategy ?? updateStrategy ?? {};
  if (!type) return "";
  const { maxUnavailable, maxSurge, partition } = rollingUpdate;
  return [
    type,
    maxUnavailable !== undefined && `at most ${maxUnavailable} unavailable`,
    maxSurge !== undefined && maxSurge !== 0 && `up to ${maxSurge} more`,
    partition > 0 && `only from number ${partition} on`,
  ]
    .filter(Boolean)
    .join(", ");
}

/**
 * @param {string} name
 * @param {number} value
 * @param {number} whole
 */
function progress(name, value, whole) {
  const says = `${value} of ${whole} ${name}`;
  return h("div", { class: "measure" }, h("span", {}, says), meter(name, value, whole, says));
}

/**
 * A selector as the API takes it.
 * @param {any} selector
 */
function selectorText(selector = {}) {
  const { matchLabels = selector.matchExpressions ? {} : selector, matchExpressions = [] } =
    selector;
  return [
    ...Object.entries(matchLabels).map(([name, value]) => `${name}=${value}`),
    ...matchExpressions.map((/** @type {any} */ { key, operator, values = [] }) => {
      if (operator === "Exists") return key;
      if (operator === "DoesNotExist") return `!${key}`;
      return `${key} ${operator === "In" ? "in" : "notin"} (${values.join(",")})`;
    }),
  ].join(",");
}
