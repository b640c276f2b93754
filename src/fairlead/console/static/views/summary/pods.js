/** Pods: where one runs, its containers with all that belongs to them, and their logs. */

import { missingConfig, nodeReasons, podReason } from "../../core/reasons.js";
import { containersOf, stateOf } from "../../core/states.js";
import { nearLink } from "../../parts/links.js";
import { containerList } from "./containers.js";
import { LogPanel } from "./logs.js";
import { factTable } from "./parts.js";

/** @import {At, Section} from "./parts.js" */
/** @import {Reason} from "../../core/reasons.js" */

/** @param {At} at @returns {Reason[]} */
export function reasons({ subject, near }) {
  const { object } = subject;
  const state = stateOf("pods.", object);
  if (state.tone !== "bad" && state.tone !== "warn") return nodeReasons(object, near);
  const { about: _, ...reason } = podReason(object, state);
  return [reason, ...missingConfig(object, near), ...nodeReasons(object, near)];
}

/** @param {At} at @returns {Section[]} */
export function sections(at) {
  const { subject, place, near } = at;
  const panel = new LogPanel(subject, near, place.signal);
  return [
    {
      title: "Place",
      look: () => placeOf(subject.object),
      draw: ({ node, account, ...facts }) =>
        factTable([
          ["Node", node && nearLink(near, "nodes.", node)],
          ...Object.entries(facts),
          ["Runs as", account && nearLink(near, "serviceaccounts.", account)],
        ]),
    },
    {
      title: "Containers",
      look: () => ({ spec: subject.object.spec, statuses: containersOf(subject.object) }),
      draw: (shown) => containerList(near, shown),
    },
    {
      title: "Log",
      look: () => (near.revision ? null : panel.look()), // a log has no past
      draw: () => panel.element,
    },
  ];
}

/** @param {any} pod */
function placeOf({ spec, status = {} }) {
  const addresses = [...new Set([status.podIP, ...(status.podIPs ?? []).map(ipOf)])];
  return {
    node: spec.nodeName,
    account: spec.serviceAccountName,
    Addresses: addresses.filter(Boolean).join(", "),
    "Address of the node": status.hostIP,
    "Service class": status.qosClass,
    Priority: spec.priorityClassName,
    "Restarts its containers": spec.restartPolicy,
  };
}

/** @param {{ip: string}} one */
function ipOf({ ip }) {
  return ip;
}
