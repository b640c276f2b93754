/** Which other objects an object names or selects, by its kind. */

import { customReferences, isCustomKey } from "./custom_references.js";

/** @import {Selector} from "./selectors.js" */
/** @typedef {{label: string, kind: string, group: string, name: string, namespace?: string}} Reference */
/** @typedef {[label: string, kind: string, path: string]} Naming */

const RBAC = "rbac.authorization";
const ADMISSION = "admissionregistration";
/** @type {Naming[]} */
const CLASSES = [
  ["is of class", "storage/StorageClass", "spec.storageClassName"],
  ["has attributes of", "storage/VolumeAttributesClass", "spec.volumeAttributesClassName"],
];
/** @type {Naming[]} */
const CALLS = [["calls", "Service", "webhooks.clientConfig.service"]];
/** @type {Naming[]} */
const GRANTS = [
  ["grants", `${RBAC}/Role`, "roleRef"],
  ["grants to", "User", "subjects"],
];
const GATEWAY = "gateway.networking";
// The group of custom kinds is the same in both dialects, so their keys are not.
const GATEWAYS = [GATEWAY, `${GATEWAY}.k8s.io`];
const ROUTES = ["httproutes", "grpcroutes", "tlsroutes", "tcproutes", "udproutes"];
/** @type {Naming[]} */
const FORWARDS = [
  ["is attached to", `${GATEWAY}.k8s.io/Gateway`, "spec.parentRefs"],
  ["routes to", "Service", "spec.rules.backendRefs"],
  ["mirrors to", "Service", "spec.rules.filters.requestMirror.backendRef"],
];
/** @type {Naming[]} */
const LISTENS = [["serves with", "Secret", "spec.listeners.tls.certificateRefs"]];
/**
 * Of what kind (with its group, without the dialect's domain) and where the name is, or an object
 * that has the name and may say more. Lists on the way are gone through.
 * @type {Record<string, Naming[]>}
 */
const NAMES = {
  "pods.": [
    ["mounts", "ConfigMap", "spec.volumes.configMap.name"],
    ["mounts", "ConfigMap", "spec.volumes.projected.sources.configMap.name"],
    ["mounts", "Secret", "spec.volumes.secret.secretName"],
    ["mounts", "Secret", "spec.volumes.projected.sources.secret.name"],
    ["mounts", "PersistentVolumeClaim", "spec.volumes.persistentVolumeClaim.claimName"],
    ...["spec.containers", "spec.initContainers"].flatMap(ofEnvironment),
    ["pulls with", "Secret", "spec.imagePullSecrets.name"],
    ["uses", "resource/ResourceClaim", "spec.resourceClaims.resourceClaimName"],
    ["uses", "resource/ResourceClaim", "status.resourceClaimStatuses.resourceClaimName"],
    ["runs as", "ServiceAccount", "spec.serviceAccountName"],
    ["runs on", "Node", "spec.nodeName"],
  ],
  "serviceaccounts.": [
    ["holds", "Secret", "secrets.name"],
    ["pulls with", "Secret", "imagePullSecrets.name"],
  ],
  "persistentvolumeclaims.": [["is bound to", "PersistentVolume", "spec.volumeName"], ...CLASSES],
  "persistentvolumes.": CLASSES,
  "ingresses.networking": [
    ["routes to", "Service", "spec.defaultBackend.service.name"],
    ["routes to", "Service", "spec.rules.http.paths.backend.service.name"],
    ["serves with", "Secret", "spec.tls.secretName"],
    ["is of class", "networking/IngressClass", "spec.ingressClassName"],
  ],
  "statefulsets.apps": [["is named by", "Service", "spec.serviceName"]],
  "horizontalpodautoscalers.autoscaling": [["scales", "", "spec.scaleTargetRef"]],
  [`rolebindings.${RBAC}`]: GRANTS,
  [`clusterrolebindings.${RBAC}`]: GRANTS,
  [`validatingwebhookconfigurations.${ADMISSION}`]: CALLS,
  [`mutatingwebhookconfigurations.${ADMISSION}`]: CALLS,
  [`validatingadmissionpolicybindings.${ADMISSION}`]: [
    ["binds", `${ADMISSION}/ValidatingAdmissionPolicy`, "spec.policyName"],
  ],
  [`mutatingadmissionpolicybindings.${ADMISSION}`]: [
    ["binds", `${ADMISSION}/MutatingAdmissionPolicy`, "spec.policyName"],
  ],
  "ipaddresses.networking": [["belongs to", "Service", "spec.parentRef"]],
  "resourceclaims.resource": [
    ["requests", "resource/DeviceClass", "spec.devices.requests.exactly.deviceClassName"],
  ],
  "apiservices.apiregistration": [["is served by", "Service", "spec.service"]],
  ...tableOf(
    GATEWAYS.flatMap((group) => ROUTES.map((one) => `${one}.${group}`)),
    FORWARDS,
  ),
  ...tableOf(
    GATEWAYS.map((group) => `gateways.${group}`),
    LISTENS,
  ),
};
/** What objects name, which is asked again and again while they do not change. @type {WeakMap<object, Reference[]>} */
const found = new WeakMap();
const EVERYWHERE = /-root-ca\.crt$/; // what every pod mounts is no news

/** What selects pods, and by what. @type {Record<string, [label: string, path: string]>} */
const SELECTORS = {
  "services.": ["selects", "selector"],
  "poddisruptionbudgets.policy": ["protects", "selector"],
  "networkpolicies.networking": ["guards", "podSelector"],
};

/** Kinds whose objects name others, or select pods. */
export const NAMING = new Set([...Object.keys(NAMES), ...Object.keys(SELECTORS)]);

/**
 * Whether objects of a kind may name others, so that they are read whole.
 * @param {string} key of the kind
 */
export function mayName(key) {
  return NAMING.has(key) || isCustomKey(key);
}

/**
 * @param {string} key of the kind
 * @param {any} object
 * @returns {Reference[]}
 */
export function referencesOf(key, object) {
  const known = found.get(object);
  if (known) return known;
  const all = isCustomKey(key) && !NAMES[key] ? customReferences(object) : [];
  for (const [label, kind, path] of NAMES[key] ?? [])
    for (const value of valuesAt(object, path.split("."))) all.push(reference(label, kind, value));
  const references = all.filter((one) => one.name && !EVERYWHERE.test(one.name));
  found.set(object, references);
  return references;
}

/**
 * How pods are selected, if they are.
 * @param {string} key of the kind
 * @param {any} object
 * @returns {{label: string, selector: Selector} | undefined}
 */
export function selectionOf(key, object) {
  const [label, field] = SELECTORS[key] ?? [];
  const found = label && object.spec[field];
  // That of services is a plain map, and selects nothing when it is not there.
  const selector = key === "services." ? { matchLabels: found } : found;
  return found && { label, selector };
}

/**
 * @param {string} label
 * @param {string} kind
 * @param {any} value a name, or an object with it
 * @returns {Reference}
 */
function reference(label, kind, value) {
  const named = typeof value === "string" ? { name: value } : value;
  const [title, group = ""] = kind.split("/").reverse();
  const { name, namespace, apiVersion = `${group}/` } = named;
  const full = named.group ?? (apiVersion.includes("/") ? apiVersion.split("/")[0] : "");
  return { label, kind: named.kind ?? title, group: full, name, namespace };
}

/**
 * Most objects have nothing at most of these paths, and that is found at the first step.
 * @param {any} object
 * @param {string[]} path
 * @param {number} [at] the step to begin with
 * @param {any[]} [found] by now
 * @returns {any[]}
 */
function valuesAt(object, path, at = 0, found = []) {
  const value = object[path[at]] ?? [];
  for (const one of Array.isArray(value) ? value : [value]) {
    if (at + 1 === path.length) found.push(one);
    else valuesAt(one, path, at + 1, found);
  }
  return found;
}

/**
 * @param {string[]} keys
 * @param {Naming[]} names
 */
function tableOf(keys, names) {
  return Object.fromEntries(keys.map((key) => [key, names]));
}

/**
 * @param {string} containers
 * @returns {Naming[]}
 */
function ofEnvironment(containers) {
  return [
    ["reads", "ConfigMap", `${containers}.envFrom.configMapRef.name`],
    ["reads", "ConfigMap", `${containers}.env.valueFrom.configMapKeyRef.name`],
    ["reads", "Secret", `${containers}.envFrom.secretRef.name`],
    ["reads", "Secret", `${containers}.env.valueFrom.secretKeyRef.name`],
  ];
}
