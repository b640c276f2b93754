/** Claims and volumes: what they are bound to, who mounts them, why they wait. */

import { h } from "../../core/dom.js";
import { nearLink } from "../../parts/links.js";
import { factTable } from "./parts.js";

/** @import {At, Section} from "./parts.js" */
/** @import {Reason} from "../../core/reasons.js" */

const CLASSES = "storageclasses.storage";

/** @param {At} at @returns {Reason[]} */
export function reasons({ subject, key, near }) {
  const { spec, status = {} } = subject.object;
  if (status.phase === "Lost")
    return [{ tone: "bad", text: `The volume ${spec.volumeName} is gone.` }];
  if (status.phase === "Failed") return [{ tone: "bad", text: status.message ?? "It failed." }];
  if (key !== "persistentvolumeclaims." || status.phase !== "Pending") return [];
  const kind = near.kind(CLASSES);
  if (!kind || !near.rights.mayList(kind)) return [];
  const name = spec.storageClassName;
  const classes = near.all(CLASSES, {}, "");
  const found = classes.find((one) => one.metadata.name === name);
  if (!near.isComplete) return [];
  if (!name) {
    const text = "It names no StorageClass, and no free volume fits it.";
    return [{ tone: "warn", text, hint: "Name a class, or make a volume that fits." }];
  }
  if (!found) {
    const hint = classes.length
      ? `There are: ${classes.map((one) => one.metadata.name).join(", ")}.`
      : "There are no classes at all.";
    return [{ tone: "bad", text: `There is no StorageClass ${name}.`, hint }];
  }
  const about = { key: CLASSES, name };
  if (found.volumeBindingMode === "WaitForFirstConsumer")
    return [{ tone: "warn", text: "its volumes are made once a pod uses the claim", about }];
  return [{ tone: "warn", text: `${found.provisioner} has not made a volume for it yet`, about }];
}

/** @param {At} at @returns {Section[]} */
export function sections(at) {
  const { subject, near, key } = at;
  const isClaim = key === "persistentvolumeclaims.";
  return [
    {
      title: isClaim ? "Claim" : "Volume",
      look: () => (isClaim ? claim(subject.object) : volume(subject.object)),
      draw: ({ bound, storage, ...facts }) =>
        factTable([
          ...Object.entries(facts),
          ["Class", storage && nearLink(near, CLASSES, storage)],
          ["Bound to", bound && boundTo(at, bound)],
        ]),
    },
    {
      title: "Pods that mount it",
      look: () => (isClaim ? mountedBy(at) : null),
      draw: (names) =>
        names.length
          ? h(
              "ul",
              { class: "links" },
              names.map((/** @type {string} */ one) => h("li", {}, nearLink(near, "pods.", one))),
            )
          : h("p", { class: "faint" }, "No pod does."),
    },
  ];
}

/** @param {any} object */
function claim({ spec, status = {} }) {
  return {
    "Asks for": spec.resources?.requests?.storage,
    Has: status.capacity?.storage,
    "Can be mounted": (status.accessModes ?? spec.accessModes ?? []).join(", "),
    As: spec.volumeMode,
    storage: spec.storageClassName,
    bound: spec.volumeName,
  };
}

/** @param {any} object */
function volume({ spec }) {
  const { namespace, name } = spec.claimRef ?? {};
  return {
    Size: spec.capacity?.storage,
    "Can be mounted": (spec.accessModes ?? []).join(", "),
    "When it is given back": spec.persistentVolumeReclaimPolicy,
    From: Object.keys(spec).find((one) => /^(csi|nfs|hostPath|local|iscsi|fc)$/.test(one)),
    storage: spec.storageClassName,
    bound: name && `${namespace}/${name}`,
  };
}

/**
 * @param {At} at
 * @param {string} bound
 */
function boundTo({ key, near }, bound) {
  if (key === "persistentvolumeclaims.") return nearLink(near, "persistentvolumes.", bound);
  const [namespace, name] = bound.split("/");
  return nearLink(near, "persistentvolumeclaims.", name, bound, namespace);
}

/** @param {At} at */
function mountedBy({ subject, near }) {
  const isMounted = (/** @type {any} */ pod) =>
    (pod.spec.volumes ?? []).some(
      (/** @type {any} */ one) => one.persistentVolumeClaim?.claimName === subject.named.name,
    );
  return near
    .all("pods.")
    .filter(isMounted)
    .map((one) => one.metadata.name);
}
