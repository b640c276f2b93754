/** The revisions of workloads, which the server keeps in objects of other kinds. */

import { own, valueNamed } from "./own.js";

/** @typedef {{number: number, name: string, created: string, template: any, pods: number | null, why: string}} Revision */

/** Where the revisions of a kind are kept. @type {Record<string, string>} */
const KEPT_IN = {
  "deployments.apps": "replicasets.apps",
  "statefulsets.apps": "controllerrevisions.apps",
  "daemonsets.apps": "controllerrevisions.apps",
};
const HASH = "pod-template-hash"; // the label that replica sets add
const CAUSE = /\/change-cause$/;
const NUMBER = /^deployment\..*\/revision$/;

/**
 * The key of the kind that keeps the revisions of a kind, if it has any.
 * @param {string} key
 */
export function keptIn(key) {
  return own(KEPT_IN, key);
}

/**
 * The revisions that these objects of an owner keep, the newest first.
 * @param {any[]} parts
 * @returns {Revision[]}
 */
export function revisionsAmong(parts) {
  return parts
    .map((one) => (one.spec ? ofReplicaSet(one) : ofRevision(one)))
    .filter((one) => one.template)
    .sort((a, b) => b.number - a.number);
}

/**
 * The number of the revision that a Deployment is at.
 * @param {any} deployment
 */
export function revisionNumber({ metadata }) {
  return Number(valueNamed(metadata.annotations, NUMBER) ?? 0);
}

/** @param {any} part @returns {Revision} */
function ofReplicaSet({ metadata, spec, status }) {
  const { [HASH]: _, ...labels } = spec.template.metadata?.labels ?? {};
  return {
    number: revisionNumber({ metadata }),
    name: metadata.name,
    created: metadata.creationTimestamp,
    template: { ...spec.template, metadata: { ...spec.template.metadata, labels } },
    pods: status?.replicas ?? 0,
    why: valueNamed(metadata.annotations, CAUSE) ?? "",
  };
}

/** @param {any} part @returns {Revision} */
function ofRevision({ metadata, revision, data }) {
  const { $patch: _, ...template } = data?.spec?.template ?? {};
  return {
    number: revision,
    name: metadata.name,
    created: metadata.creationTimestamp,
    template: data?.spec?.template && template,
    pods: null,
    why: valueNamed(metadata.annotations, CAUSE) ?? "",
  };
}
