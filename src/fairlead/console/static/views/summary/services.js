/** Services and ingresses: who is behind them, and why nobody is. */

import { h } from "../../core/dom.js";
import { valueNamed } from "../../core/own.js";
import { worstPods } from "../../core/reasons.js";
import { selects } from "../../core/selectors.js";
import { stateOf } from "../../core/states.js";
import { plainTable } from "../../parts/bits.js";
import { nearLink } from "../../parts/links.js";
import { factTable } from "./parts.js";

/** @import {At, Section} from "./parts.js" */
/** @import {Reason} from "../../core/reasons.js" */

const SERVICE_NAME = /\/service-name$/;
const MAX_ROWS = 100;

/** @param {At} at @returns {Reason[]} */
export function reasons(at) {
  return at.key === "services." ? serviceReasons(at) : ingressReasons(at);
}

/** @param {At} at @returns {Section[]} */
export function sections(at) {
  const { subject, key, near } = at;
  if (key !== "services.") return [routeSection(at)];
  return [
    {
      title: "Service",
      look: () => about(subject.object),
      draw: (facts) => factTable(facts),
    },
    {
      title: "Who is behind it",
      look: () => (subject.object.spec.type === "ExternalName" ? null : endpointsOf(at)),
      draw: (found) =>
        found.length
          ? plainTable(
              "Endpoints",
              ["Address", "Is", "Pod", "Node", "Ports"],
              found
                .slice(0, MAX_ROWS)
                .map((/** @type {any} */ one) => [
                  one.address,
                  h(
                    "span",
                    { class: one.isReady ? "good" : "warn" },
                    one.isReady ? "ready" : "not ready",
                  ),
                  one.pod && nearLink(near, "pods.", one.pod),
                  one.node && nearLink(near, "nodes.", one.node),
                  one.ports,
                ]),
            )
          : h("p", { class: "faint" }, "Nobody."),
    },
  ];
}

/** @param {any} service */
function about({ spec, status = {} }) {
  const outside = (status.loadBalancer?.ingress ?? []).map(
    (/** @type {any} */ one) => one.ip ?? one.hostname,
  );
  return [
    ["Type", spec.type],
    ["Addresses", (spec.clusterIPs ?? [spec.clusterIP]).filter(Boolean).join(", ")],
    ["From outside", [...outside, ...(spec.externalIPs ?? [])].join(", ")],
    ["Stands for", spec.externalName],
    ["Ports", (spec.ports ?? []).map(portText).join("\n")],
    ["Selects", selectorWords(spec.selector)],
  ];
}

/** @param {any} port */
function portText({ name, port, targetPort = port, protocol = "TCP", nodePort }) {
  const node = nodePort ? `, ${nodePort} on every node` : "";
  return `${name ? `${name}: ` : ""}${port} → ${targetPort} (${protocol})${node}`;
}

/** @param {Record<string, string>} [selector] */
function selectorWords(selector = {}) {
  return Object.entries(selector)
    .map(([name, value]) => `${name}=${value}`)
    .join(", ");
}

/** @param {At} at */
function endpointsOf({ subject, near }) {
  const slices = near
    .all("endpointslices.discovery")
    .filter((one) => valueNamed(one.metadata.labels, SERVICE_NAME) === subject.named.name);
  return slices.flatMap(({ endpoints, ports }) =>
    (endpoints ?? []).map((/** @type {any} */ one) => ({
      address: (one.addresses ?? []).join(", "),
      isReady: one.conditions?.ready !== false,
      pod: one.targetRef?.kind === "Pod" ? one.targetRef.name : "",
      node: one.nodeName,
      ports: (ports ?? []).map((/** @type {any} */ port) => port.port).join(", "),
    })),
  );
}

/** @param {At} at @returns {Reason[]} */
function serviceReasons(at) {
  const { subject, near } = at;
  const { spec } = subject.object;
  if (spec.type === "ExternalName") return [];
  const isServed = endpointsOf(at).some((one) => one.isReady);
  if (isServed) return [];
  if (!spec.selector) {
    const text = "It has no selector, and nobody has made endpoints for it.";
    return near.isComplete ? [{ tone: "warn", text }] : [];
  }
  const pods = near.all("pods.");
  const selected = pods.filter((one) =>
    selects({ matchLabels: spec.selector }, one.metadata.labels),
  );
  if (!near.isComplete) return [];
  if (selected.length) {
    const unwell = worstPods(selected);
    return unwell.length ? unwell : portReasons(spec, selected);
  }
  const text = `No pod in this namespace has the labels ${selectorWords(spec.selector)}.`;
  return [{ tone: "bad", text }, ...nearMisses(spec.selector, pods)];
}

/**
 * Pods that have all but one of the labels.
 * @param {Record<string, string>} selector
 * @param {any[]} pods
 * @returns {Reason[]}
 */
function nearMisses(selector, pods) {
  const wanted = Object.entries(selector);
  for (const pod of pods) {
    const { labels = {}, name, namespace } = pod.metadata;
    const others = wanted.filter(([label, value]) => labels[label] !== value);
    if (others.length !== 1 || wanted.length < 2) continue;
    const [[label, value]] = others;
    const has = label in labels ? `has ${label}=${labels[label]}` : `has no label ${label}`;
    const text = `nearly, but it ${has} where ${label}=${value} is asked for`;
    return [{ tone: "warn", text, about: { key: "pods.", name, namespace } }];
  }
  return [];
}

/**
 * Ports by names that no container has.
 * @param {any} spec
 * @param {any[]} pods
 * @returns {Reason[]}
 */
function portReasons(spec, pods) {
  const names = pods.flatMap((pod) =>
    pod.spec.containers.flatMap((/** @type {any} */ one) =>
      (one.ports ?? []).map((/** @type {any} */ port) => port.name),
    ),
  );
  return (spec.ports ?? [])
    .map((/** @type {any} */ one) => one.targetPort)
    .filter((/** @type {any} */ one) => typeof one === "string" && !names.includes(one))
    .map((/** @type {string} */ one) => ({
      tone: "bad",
      text: `It sends to the port named ${one}, which no container of its pods has.`,
    }));
}

/** @param {At} at @returns {{host: string, path: string, service: string, port: string}[]} */
function routesOf({ subject }) {
  const { spec } = subject.object;
  const row = (
    /** @type {string} */ host,
    /** @type {string} */ path,
    /** @type {any} */ backend,
  ) => ({
    ...{ host, path, service: backend?.service?.name ?? "" },
    port: String(backend?.service?.port?.name ?? backend?.service?.port?.number ?? ""),
  });
  return [
    ...(spec.rules ?? []).flatMap((/** @type {any} */ rule) =>
      (rule.http?.paths ?? []).map((/** @type {any} */ one) =>
        row(rule.host ?? "every host", one.path ?? "/", one.backend),
      ),
    ),
    ...(spec.defaultBackend ? [row("everything else", "", spec.defaultBackend)] : []),
  ];
}

/** @param {At} at @returns {Section} */
function routeSection(at) {
  const { subject, near } = at;
  const addresses = (/** @type {any} */ { status = {} }) =>
    (status.loadBalancer?.ingress ?? []).map((/** @type {any} */ one) => one.ip ?? one.hostname);
  return {
    title: "Routes",
    look: () => ({ routes: routesOf(at), addresses: addresses(subject.object) }),
    draw: ({ routes, addresses: found }) => [
      factTable([
        ["Class", subject.object.spec.ingressClassName],
        ["Addresses", found.join(", ") || "none yet"],
      ]),
      plainTable(
        "Routes",
        ["Host", "Path", "Service", "Port"],
        routes.map((/** @type {any} */ one) => [
          one.host,
          one.path,
          one.service && nearLink(near, "services.", one.service),
          one.port,
        ]),
      ),
    ],
  };
}

/** @param {At} at @returns {Reason[]} */
function ingressReasons(at) {
  const { near } = at;
  const services = near.kind("services.");
  if (!services || !near.rights.mayList(services)) return [];
  const known = near.all("services.").map((one) => one.metadata.name);
  const names = [...new Set(routesOf(at).map((one) => one.service))];
  if (!near.isComplete) return [];
  const lost = names.filter((one) => one && !known.includes(one));
  const state = stateOf(at.key, at.subject.object);
  /** @type {Reason[]} */
  const found = state.tone === "bad" ? [{ tone: "bad", text: state.why }] : [];
  for (const one of lost)
    found.push({ tone: "bad", text: `It routes to the Service ${one}, which is not there.` });
  return found;
}
