/** Which module summarizes which kind. A module is loaded when an object of its family is shown. */

import { own } from "../../core/own.js";

/** @import {Summary} from "./parts.js" */

/** @typedef {() => Promise<Summary>} Load */

/** @type {Record<string, Load>} */
const FAMILIES = {
  workloads: () => import("./workloads.js"),
  pods: () => import("./pods.js"),
  data: () => import("./data.js"),
  nodes: () => import("./nodes.js"),
  services: () => import("./services.js"),
  claims: () => import("./claims.js"),
  jobs: () => import("./jobs.js"),
  autoscalers: () => import("./autoscalers.js"),
  namespaces: () => import("./namespaces.js"),
  custom: () => import("./custom.js"),
};
/** @type {Record<string, string>} */
const KINDS = {
  "deployments.apps": "workloads",
  "replicasets.apps": "workloads",
  "statefulsets.apps": "workloads",
  "daemonsets.apps": "workloads",
  "replicationcontrollers.": "workloads",
  "pods.": "pods",
  "configmaps.": "data",
  "secrets.": "data",
  "nodes.": "nodes",
  "namespaces.": "namespaces",
  "services.": "services",
  "ingresses.networking": "services",
  "persistentvolumeclaims.": "claims",
  "persistentvolumes.": "claims",
  "jobs.batch": "jobs",
  "cronjobs.batch": "jobs",
  "horizontalpodautoscalers.autoscaling": "autoscalers",
};

/**
 * @param {string} key of a kind
 * @returns {Promise<Summary>}
 */
export function summaryOf(key) {
  return FAMILIES[own(KINDS, key) ?? "custom"]();
}
