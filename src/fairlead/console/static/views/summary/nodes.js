/** Nodes: what they have and what is asked of them, their pods and taints. */

import { h } from "../../core/dom.js";
import { numberOf, quantityText, requestsOf, summed } from "../../core/quantities.js";
import { conditionReasons } from "../../core/reasons.js";
import { factTable, meter, podSection } from "./parts.js";

/** @import {At, Section} from "./parts.js" */
/** @import {Reason} from "../../core/reasons.js" */
/** @typedef {{name: string, asked: number, whole: number}} Room */

const ENDED = ["Succeeded", "Failed"]; // phases of pods that ask for nothing any more

/** @param {At} at @returns {Reason[]} */
export function reasons({ subject }) {
  const { object } = subject;
  const found = conditionReasons(object);
  if (object.spec.unschedulable)
    found.push({ tone: "warn", text: "It is cordoned: it takes no new pods." });
  return found;
}

/** @param {At} at @returns {Section[]} */
export function sections(at) {
  const { subject } = at;
  return [
    {
      title: "Room",
      look: () => roomOf(subject.object, podsOn(at)),
      draw: (rooms) =>
        rooms.map((/** @type {Room} */ { name, asked, whole }) => {
          const [a, b] = [asked, whole].map((one) => quantityText(name, one));
          const share = whole ? ` (${Math.round((asked / whole) * 100)} %)` : "";
          const says = `${a} of ${b} asked for${share}`;
          const title = h("span", {}, h("strong", {}, name), ` ${says}`);
          return h("div", { class: "measure" }, title, meter(name, asked, whole, says, true));
        }),
    },
    podSection(at, () => podsOn(at)),
    {
      title: "Machine",
      look: () => machine(subject.object),
      draw: (facts) => factTable(facts),
    },
  ];
}

/** @param {At} at */
function podsOn({ subject, near }) {
  return near.all("pods.", { fieldSelector: `spec.nodeName=${subject.named.name}` }, "");
}

/**
 * @param {any} node
 * @param {any[]} pods
 * @returns {Room[]}
 */
function roomOf({ status = {} }, pods) {
  const living = pods.filter((one) => !ENDED.includes(one.status?.phase));
  const asked = summed(living.map(requestsOf)).set("pods", living.length);
  const whole = /** @type {[string, string][]} */ (
    Object.entries(status.allocatable ?? status.capacity ?? {})
  );
  return whole
    .map(([name, text]) => ({ name, asked: asked.get(name) ?? 0, whole: numberOf(text) }))
    .filter((one) => one.whole > 0);
}

/** @param {any} node */
function machine({ spec, status = {} }) {
  const { nodeInfo = {}, addresses = [] } = status;
  return [
    ["Taints", (spec.taints ?? []).map(taintText).join("\n")],
    ["Takes new pods", takenText(spec)],
    [
      "Addresses",
      addresses.map((/** @type {any} */ one) => `${one.type} ${one.address}`).join(", "),
    ],
    ["Kubelet", nodeInfo.kubeletVersion],
    ["System", [nodeInfo.osImage, nodeInfo.architecture].filter(Boolean).join(", ")],
    ["Runtime", nodeInfo.containerRuntimeVersion],
  ];
}

/**
 * Which new pods it takes.
 * @param {any} spec
 */
function takenText({ unschedulable, taints = [] }) {
  if (unschedulable) return "no, it is cordoned";
  const isChoosy = taints.some((/** @type {any} */ one) => one.effect !== "PreferNoSchedule");
  return isChoosy ? "those that tolerate its taints" : "yes";
}

/** @param {any} taint */
function taintText({ key, value, effect }) {
  return `${key}${value ? `=${value}` : ""}: ${effect}`;
}
