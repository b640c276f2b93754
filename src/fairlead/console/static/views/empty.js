/** What an empty list says: what could be here, and how to make it. */

import { command } from "../core/commands.js";
import { h } from "../core/dom.js";
import { own } from "../core/own.js";
import { createRoute } from "../core/paths.js";
import { keyOf } from "../core/states.js";
import { commandLine, copyButton } from "../parts/doing.js";
import { problem } from "../parts/messages.js";

/** @import {Place} from "../app.js" */
/** @import {Kind} from "../core/kinds.js" */

/** What a kind is for, and the words of a command that makes one. @type {Record<string, [string, string?]>} */
const TOLD = {
  "pods.": [
    "A pod runs containers. Mostly a Deployment, a Job or another workload makes it.",
    "run web --image=nginx",
  ],
  "deployments.apps": [
    "A Deployment keeps a number of pods running and replaces them a few at a time.",
    "create deployment web --image=nginx --replicas=2",
  ],
  "services.": [
    "A Service gives pods one address and one name.",
    "expose deployment web --port=80",
  ],
  "configmaps.": [
    "A ConfigMap holds configuration that pods read or mount.",
    "create configmap settings --from-literal=level=debug",
  ],
  "secrets.": [
    "A Secret holds what few may read, such as passwords and keys.",
    "create secret generic db --from-literal=password=...",
  ],
  "jobs.batch": ["A Job runs pods until they have succeeded.", "create job once --image=busybox"],
  "cronjobs.batch": [
    "A CronJob makes a Job at set times.",
    "create cronjob nightly --image=busybox --schedule='0 3 * * *'",
  ],
  "nodes.": ["A Node is a machine that runs pods. `fairlead serve --simulate-nodes 3` has some."],
  "events.": ["Events tell what was done with objects. They are kept for an hour."],
  "persistentvolumeclaims.": ["A PersistentVolumeClaim asks for storage that pods mount."],
  "statefulsets.apps": ["A StatefulSet runs pods with names and storage of their own."],
  "daemonsets.apps": ["A DaemonSet runs a pod on every node."],
  "ingresses.networking": ["An Ingress routes requests from outside to Services."],
  "horizontalpodautoscalers.autoscaling": [
    "An autoscaler sets the number of replicas by what is measured.",
    "autoscale deployment web --max=5 --cpu-percent=80",
  ],
};

/**
 * What is said in place of a list that one may not see.
 * @param {Place} place
 * @param {Kind} kind
 * @param {string} says the server
 */
export function forbiddenList({ namespace }, { namespaced }, says) {
  const elsewhere = "You may have the right in a single namespace: choose one.";
  return h(
    "div",
    { class: "empty" },
    problem(says),
    namespaced && !namespace && h("p", {}, elsewhere, " ", h("kbd", {}, "n")),
  );
}

/**
 * @param {Place} place
 * @param {Kind} kind
 * @param {boolean} isFiltered whether there are some that a filter keeps back
 * @param {() => void} unfilter
 */
export function emptyList(place, kind, isFiltered, unfilter) {
  if (isFiltered) {
    return h(
      "div",
      { class: "empty" },
      h("p", {}, "Nothing here fits the filter."),
      h("button", { onclick: unfilter }, "Show all"),
    );
  }
  const { catalogue, namespace } = place;
  const where = kind.namespaced && namespace ? ` in ${namespace}` : "";
  const [says = "", words = ""] = own(TOLD, keyOf(catalogue, kind)) ?? [];
  const inside = where ? ["--namespace", namespace] : [];
  const line = words && `${command(catalogue)} ${words} ${inside.join(" ")}`.trim();
  return h(
    "div",
    { class: "empty" },
    h("p", {}, `There is no ${kind.kind}${where}. `, says),
    line &&
      h(
        "div",
        { class: "bar" },
        commandLine(line),
        copyButton(() => line),
      ),
    kind.verbs.includes("create") &&
      h(
        "p",
        {},
        h("a", { href: createRoute(kind) }, `Write a ${kind.kind}`),
        ", or paste or drop YAML on this page.",
      ),
  );
}
