/** Which other objects an object names or selects, by its kind. */

/** @import {Selector} from "./selectors.js" */
/**
 * `group` is without the domain of the dialect; `isElsewhere` where it is in no namespace or in one
 * of its own.
 * @typedef {object} Reference
 * @property {string} label what the one does to the other
 * @property {string} kind
 * @property {string} name
 * @property {string} [group]
 * @property {string} [namespace] where it is not the namespace of the object itself
 */
/** @typedef {{label: string, selector: Selector}} Selecting */

/** @type {Record<string, (object: any) => Reference[]>} */
const REFERENCES = {
  "pods.": ofPod,
  "serviceaccounts.": ({ secrets, imagePullSecrets }) => [
    ...names("holds", "Secret", secrets),
    ...names("pulls with", "Secret", imagePullSecrets),
  ],
  "persistentvolumeclaims.": ({ spec }) => [
    ...one("is bound to", "PersistentVolume", spec.volumeName),
    ...one("is of class", "StorageClass", spec.storageClassName, "storage"),
  ],
  "persistentvolumes.": ({ spec }) =>
    one("is of class", "StorageClass", spec.storageClassName, "storage"),
  "ingresses.networking": ofIngress,
  "statefulsets.apps": ({ spec }) => one("is named by", "Service", spec.serviceName),
  "horizontalpodautoscalers.autoscaling": ({ spec }) => {
    const { apiVersion = "", kind, name } = spec.scaleTargetRef;
    return one("scales", kind, name, apiVersion.includes("/") ? apiVersion.split("/")[0] : "");
  },
  "rolebindings.rbac.authorization": ofBinding,
  "clusterrolebindings.rbac.authorization": ofBinding,
  "validatingwebhookconfigurations.admissionregistration": ofWebhooks,
  "mutatingwebhookconfigurations.admissionregistration": ofWebhooks,
  "apiservices.apiregistration": ({ spec }) => service("is served by", spec.service),
};

/** @type {Record<string, (object: any) => Selecting[]>} */
const SELECTIONS = {
  "services.": ({ spec }) =>
    spec.selector ? selecting("selects", { matchLabels: spec.selector }) : [],
  "poddisruptionbudgets.policy": ({ spec }) => selecting("protects", spec.selector),
  "networkpolicies.networking": ({ spec }) => selecting("guards", spec.podSelector ?? {}),
};

/** Kinds whose objects name others, or select pods. */
export const NAMING = new Set([...Object.keys(REFERENCES), ...Object.keys(SELECTIONS)]);

/**
 * @param {string} key of the kind
 * @param {any} object
 */
export function referencesOf(key, object) {
  return REFERENCES[key]?.(object) ?? [];
}

/**
 * @param {string} key of the kind
 * @param {any} object
 */
export function selectionsOf(key, object) {
  return SELECTIONS[key]?.(object) ?? [];
}

/** @param {any} pod */
function ofPod({ spec }) {
  const containers = [...(spec.initContainers ?? []), ...spec.containers];
  return [
    ...(spec.volumes ?? []).flatMap(ofVolume),
    ...containers.flatMap(ofEnvironment),
    ...names("pulls with", "Secret", spec.imagePullSecrets),
    ...one("runs as", "ServiceAccount", spec.serviceAccountName),
    ...one("runs on", "Node", spec.nodeName),
  ];
}

/** @param {any} volume */
function ofVolume(volume) {
  const sources = volume.projected?.sources ?? [];
  // Every pod has the volume of its own token: that is no news.
  const isToken = sources.some((/** @type {any} */ source) => source.serviceAccountToken);
  return [
    ...one("mounts", "ConfigMap", volume.configMap?.name),
    ...one("mounts", "Secret", volume.secret?.secretName),
    ...one("mounts", "PersistentVolumeClaim", volume.persistentVolumeClaim?.claimName),
    ...(isToken ? [] : sources).flatMap((/** @type {any} */ source) => [
      ...one("mounts", "ConfigMap", source.configMap?.name),
      ...one("mounts", "Secret", source.secret?.name),
    ]),
  ];
}

/** @param {any} container */
function ofEnvironment(container) {
  const from = [
    ...(container.envFrom ?? []).map((/** @type {any} */ source) => [
      source.configMapRef,
      source.secretRef,
    ]),
    ...(container.env ?? []).map((/** @type {any} */ { valueFrom }) => [
      valueFrom?.configMapKeyRef,
      valueFrom?.secretKeyRef,
    ]),
  ];
  return from.flatMap(([map, secret]) => [
    ...one("reads", "ConfigMap", map?.name),
    ...one("reads", "Secret", secret?.name),
  ]);
}

/** @param {any} ingress */
function ofIngress({ spec }) {
  const rules = (spec.rules ?? []).flatMap((/** @type {any} */ rule) => rule.http?.paths ?? []);
  const backends = [spec.defaultBackend, ...rules.map((/** @type {any} */ one) => one.backend)];
  return [
    ...backends.flatMap((backend) => one("routes to", "Service", backend?.service?.name)),
    ...(spec.tls ?? []).flatMap((/** @type {any} */ tls) =>
      one("serves with", "Secret", tls.secretName),
    ),
    ...one("is of class", "IngressClass", spec.ingressClassName, "networking"),
  ];
}

/** @param {any} binding */
function ofBinding({ roleRef, subjects = [] }) {
  return [
    ...one("grants", roleRef.kind, roleRef.name, "rbac.authorization"),
    ...subjects.map((/** @type {any} */ { kind, name, namespace }) => ({
      label: "grants to",
      kind,
      name,
      namespace,
    })),
  ];
}

/** @param {any} configuration */
function ofWebhooks({ webhooks = [] }) {
  return webhooks.flatMap((/** @type {any} */ hook) =>
    service("calls", hook.clientConfig?.service),
  );
}

/**
 * @param {string} label
 * @param {{name: string, namespace: string} | undefined} named
 */
function service(label, named) {
  return named ? [{ label, kind: "Service", ...named }] : [];
}

/**
 * @param {string} label
 * @param {Selector | undefined} selector
 */
function selecting(label, selector) {
  return selector ? [{ label, selector }] : [];
}

/**
 * @param {string} label
 * @param {string} kind
 * @param {{name: string}[]} [listed]
 */
function names(label, kind, listed = []) {
  return listed.flatMap(({ name }) => one(label, kind, name));
}

/**
 * @param {string} label
 * @param {string} kind
 * @param {string | undefined} name
 * @param {string} [group]
 * @returns {Reference[]}
 */
function one(label, kind, name, group) {
  return name ? [{ label, kind, name, group }] : [];
}
