/** The containers of a pod: how each is, and the last it wrote. */

import { getText } from "../../core/api.js";
import { fill, h } from "../../core/dom.js";
import { containersOf, endOf } from "../../core/states.js";
import { guarded } from "../../parts/messages.js";
import { ago } from "../../parts/steady.js";

/** @import {Children} from "../../core/dom.js" */
/** @import {Subject} from "../../core/subject.js" */

const LINES = 50;
const MAX_BYTES = 200_000; // of a log

/**
 * @param {Subject} subject a pod
 * @param {Map<string, HTMLElement>} kept logs that stay where they are when the rest is drawn anew
 * @param {AbortSignal} signal
 */
export function containerTable(subject, kept, signal) {
  const { spec, status } = subject.object;
  const known = new Map(containersOf({ status }).map((one) => [one.name, one]));
  const all = [
    ...(spec.initContainers ?? []).map((/** @type {any} */ one) => [one, "init"]),
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
        h("div", { class: "faint wrap mono" }, one.image),
        h("div", {}, readiness(found), lastEnd(found)),
        logs(subject, one.name, found.restartCount > 0, kept, signal),
      );
    }),
  );
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
    waiting?.message && h("span", { class: "wrap" }, ` – ${waiting.message}`),
  ];
}

/**
 * @param {any} container
 * @returns {Children}
 */
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
 * @param {Subject} subject
 * @param {string} container
 * @param {boolean} hasPrevious
 * @param {Map<string, HTMLElement>} kept
 * @param {AbortSignal} signal
 */
function logs(subject, container, hasPrevious, kept, signal) {
  const shown = kept.get(container) ?? h("div");
  kept.set(container, shown);
  /** @param {boolean} previous */
  const read = async (previous) => {
    const bounds = { tailLines: LINES, limitBytes: MAX_BYTES };
    const query = { container, ...bounds, previous: previous || undefined };
    const text = await getText(`${subject.path}/log`, { query, signal, accept: "*/*" });
    const label = `Log of ${container}`;
    fill(
      shown,
      h(
        "pre",
        { class: "log", tabindex: 0, role: "region", "aria-label": label },
        text || "(empty)",
      ),
    );
  };
  /**
   * @param {string} title
   * @param {boolean} previous
   */
  const button = (title, previous) =>
    h(
      "button",
      { "data-mark": `${container} ${title}`, onclick: () => void guarded(shown, read(previous)) },
      title,
      h("span", { class: "unseen" }, ` of ${container}`),
    );
  return h(
    "div",
    { class: "logs" },
    button(`Last ${LINES} log lines`, false),
    hasPrevious && button("Log before the restart", true),
    shown,
  );
}
