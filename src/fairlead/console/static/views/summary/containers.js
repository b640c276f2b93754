/** The containers of a pod: how each is, and what it asks for, reads and mounts. */

import { h } from "../../core/dom.js";
import { briefly, endOf } from "../../core/states.js";
import { nearLink } from "../../parts/links.js";
import { ago } from "../../parts/steady.js";
import { factTable } from "./parts.js";

/** @import {Children} from "../../core/dom.js" */
/** @import {Near} from "../../core/near.js" */

/** By the field of a volume that says what it is: the kind that it names, and where. */
const VOLUMES = /** @type {const} */ ([
  ["configMap", "configmaps.", "name"],
  ["secret", "secrets.", "secretName"],
  ["persistentVolumeClaim", "persistentvolumeclaims.", "claimName"],
]);
/** The same of a variable of the environment. */
const SOURCES = /** @type {const} */ ([
  ["configMapKeyRef", "configmaps."],
  ["secretKeyRef", "secrets."],
]);
const ALL_OF = /** @type {const} */ ([
  ["configMapRef", "configmaps."],
  ["secretRef", "secrets."],
]);
const EVERYWHERE = /^\/var\/run\/secrets\/[^/]+\/serviceaccount$/; // no news: every pod has it

/**
 * @param {Near} near
 * @param {{spec: any, statuses: any[]}} pod
 */
export function containerList(near, { spec, statuses }) {
  const known = new Map(statuses.map((one) => [one.name, one]));
  const all = [
    ...(spec.initContainers ?? []).map((/** @type {any} */ one) => [one, initWord(one)]),
    ...spec.containers.map((/** @type {any} */ one) => [one, ""]),
    ...(spec.ephemeralContainers ?? []).map((/** @type {any} */ one) => [one, "ephemeral"]),
  ];
  return h(
    "ul",
    { class: "links containers" },
    all.map(([one, sort]) => {
      const found = known.get(one.name) ?? {};
      return h(
        "li",
        {},
        h("strong", {}, one.name),
        sort && h("span", { class: "faint" }, ` ${sort}`),
        " ",
        stateLine(found),
        ", ",
        readiness(found),
        lastEnd(found),
        details(near, one, spec.volumes ?? []),
      );
    }),
  );
}

/** @param {any} container */
function initWord({ restartPolicy }) {
  return restartPolicy === "Always" ? "sidecar" : "init";
}

/**
 * @param {any} container
 * @returns {Children}
 */
function stateLine({ state = {} }) {
  const { waiting, running, terminated } = state;
  if (running) return [h("span", { class: "good" }, "running"), " for ", ago(running.startedAt)];
  if (terminated) {
    const tone = terminated.exitCode ? "bad" : "good";
    const word = `terminated: ${terminated.reason ?? ""} (exit code ${terminated.exitCode})`;
    return [h("span", { class: tone }, word), " ", ago(terminated.finishedAt), " ago"];
  }
  return [
    h("span", { class: "warn" }, `waiting: ${waiting?.reason ?? "not begun"}`),
    waiting?.message && h("span", { class: "wrap" }, ` – ${briefly(waiting.message)}`),
  ];
}

/** @param {any} container */
function readiness({ ready, restartCount = 0 }) {
  const restarts = `${restartCount} ${restartCount === 1 ? "restart" : "restarts"}`;
  return `${ready ? "ready" : "not ready"}, ${restarts}`;
}

/**
 * @param {any} container
 * @returns {Children}
 */
function lastEnd({ name, lastState }) {
  const last = lastState?.terminated;
  return last && [`; before: ${endOf(name, last)}, `, ago(last.finishedAt), " ago"];
}

/**
 * @param {Near} near
 * @param {any} container
 * @param {any[]} volumes
 */
function details(near, { name, image, command, args, ports, resources, ...others }, volumes) {
  const { env = [], envFrom = [], volumeMounts = [] } = others;
  return factTable([
    ["Image", h("span", { class: "mono wrap" }, image)],
    ["Runs", [...(command ?? []), ...(args ?? [])].join(" ")],
    ["Ports", (ports ?? []).map(portText).join(", ")],
    ["Asks for", amounts(resources?.requests)],
    ["At most", amounts(resources?.limits)],
    ["Environment", environment(near, name, env, envFrom)],
    ["Mounts", mounts(near, volumeMounts, volumes)],
  ]);
}

/** @param {any} port */
function portText({ name, containerPort, protocol = "TCP" }) {
  return `${name ? `${name} ` : ""}${containerPort}${protocol === "TCP" ? "" : `/${protocol}`}`;
}

/** @param {Record<string, string>} [map] */
function amounts(map = {}) {
  return Object.entries(map)
    .map(([name, text]) => `${name} ${text}`)
    .join(", ");
}

/**
 * @param {Near} near
 * @param {string} container
 * @param {any[]} env
 * @param {any[]} envFrom
 */
function environment(near, container, env, envFrom) {
  if (!env.length && !envFrom.length) return null;
  return h(
    "details",
    { "data-mark": `environment ${container}`, open: env.length + envFrom.length < 8 },
    h("summary", {}, `${env.length + envFrom.length} entries`),
    h(
      "ul",
      { class: "links mono wrap" },
      envFrom.map((one) => h("li", {}, `${one.prefix ?? ""}* = all of `, allOf(near, one))),
      env.map((one) => h("li", {}, `${one.name} = `, valueOf(near, one))),
    ),
  );
}

/**
 * @param {Near} near
 * @param {any} source
 */
function allOf(near, source) {
  const [field, key] = ALL_OF.find(([one]) => source[one]) ?? ["", ""];
  return key && nearLink(near, key, source[field].name);
}

/**
 * @param {Near} near
 * @param {any} variable
 * @returns {Children}
 */
function valueOf(near, { value = "", valueFrom }) {
  if (!valueFrom) return value;
  const [field, key] = SOURCES.find(([one]) => valueFrom[one]) ?? ["", ""];
  const from = valueFrom[field];
  if (key) return [from.key, " of ", nearLink(near, key, from.name)];
  return valueFrom.fieldRef?.fieldPath ?? valueFrom.resourceFieldRef?.resource ?? "";
}

/**
 * @param {Near} near
 * @param {any[]} volumeMounts
 * @param {any[]} volumes
 */
function mounts(near, volumeMounts, volumes) {
  const told = volumeMounts.filter((one) => !EVERYWHERE.test(one.mountPath));
  if (!told.length) return null;
  const line = (/** @type {any} */ { mountPath, subPath, readOnly, name }) =>
    h(
      "li",
      {},
      `${mountPath} ← `,
      volumeSource(
        near,
        volumes.find((one) => one.name === name),
      ),
      subPath && `, ${subPath}`,
      readOnly && h("span", { class: "faint" }, " read-only"),
    );
  return h("ul", { class: "links mono wrap" }, told.map(line));
}

/**
 * @param {Near} near
 * @param {any} volume
 * @returns {Children}
 */
function volumeSource(near, volume = {}) {
  for (const [field, key, name] of VOLUMES) {
    const found = volume[field]?.[name];
    if (found) return [`${near.kind(key)?.kind ?? ""} `, nearLink(near, key, found)];
  }
  const sort = Object.keys(volume).find((one) => one !== "name") ?? "nothing";
  return `${sort} ${volume.name ?? ""}`;
}
