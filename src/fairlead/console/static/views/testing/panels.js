/** Snapshots, the clock, controllers, and the record of requests. */

import { h } from "../../core/dom.js";
import { age, clock } from "../../core/time.js";
import { bar, faint, field, form, labelled, plainTable } from "../../parts/bits.js";

/** @import {Content, Panel} from "./panel.js" */

const SHOWN = 100; // requests

/**
 * @param {Panel} panel
 * @returns {Content}
 */
export function snapshotsPanel(panel) {
  const name = field("made up");
  const take = () => {
    const given = name.value.trim();
    const metadata = given ? { name: given } : { generateName: "snapshot-" };
    void panel.act("POST", "snapshots", { metadata }, (one) => `Took ${one.metadata.name}.`);
    name.value = "";
  };
  const row = (/** @type {any} */ { metadata: { name, creationTimestamp }, status }) => {
    const path = `snapshots/${name}`;
    const back = (/** @type {any} */ one) =>
      `Went back to ${name}: ${one.status.changed ?? 0} objects changed.`;
    const buttons = bar(
      panel.button("Restore", name, "POST", `${path}/restore`, back),
      panel.button("Remove", name, "DELETE", path, () => `Removed ${name}.`),
    );
    return [name, status.objects, status.resourceVersion, age(creationTimestamp), buttons];
  };
  const titles = ["Name", "Objects", "Revision", "Age", ""];
  return {
    resource: "snapshots",
    form: form("Take a snapshot", take, labelled("Name", name)),
    draw: (items) => [
      items.length ? plainTable("Snapshots", titles, items.map(row)) : faint("There is none."),
    ],
  };
}

/**
 * @param {Panel} panel
 * @returns {Content}
 */
export function clockPanel(panel) {
  const by = field("1h30m");
  const move = (/** @type {string} */ text) => {
    const spec = /^\d{4}-/.test(text) ? { to: text } : { by: text };
    const done = (/** @type {any} */ one) => `It is ${clock(one.status.time)} for the server.`;
    void panel.act("POST", "clocks/clock/move", { spec }, done);
  };
  const steps = ["1m", "1h", "24h"].map((one) =>
    h("button", { type: "button", onclick: () => move(one) }, `+${one}`),
  );
  return {
    resource: "clocks",
    form: form(
      "Move forward",
      () => move(by.value.trim()),
      labelled("By a duration, or to a moment", by),
      steps,
    ),
    draw: ([{ status }]) => [h("strong", {}, status.time), faint(ahead(status.aheadSeconds ?? 0))],
  };
}

/** @param {number} seconds */
function ahead(seconds) {
  if (seconds < 1) return " as the machine's clock";
  const start = new Date(Date.now() - seconds * 1000).toISOString();
  return ` ${age(start)} ahead of the machine's clock`;
}

/**
 * @param {Panel} panel
 * @returns {Content}
 */
export function controllersPanel(panel) {
  const titles = ["Name", "Waiting", "Working", "Again soon", ""];
  const row = (/** @type {any} */ { metadata: { name }, status }) => {
    const { paused, waiting = 0, working = 0, retries = 0 } = status;
    const word = paused ? "Resume" : "Pause";
    const path = `controllers/${name}/${word.toLowerCase()}`;
    const button = panel.button(word, name, "POST", path, () => `${word}d ${name}.`);
    const shown = paused ? h("span", { class: "warn" }, `${name} (paused)`) : name;
    return [shown, waiting, working, retries, button];
  };
  return {
    resource: "controllers",
    draw: (items) => [plainTable("Controllers", titles, items.map(row))],
  };
}

/**
 * @param {Panel} panel
 * @returns {Content}
 */
export function requestsPanel(panel) {
  const titles = ["Time", "Who", "Verb", "Path", "Code", "Seconds"];
  const words = field("", { type: "search" });
  const clear = () => void panel.act("DELETE", "requests", {}, () => "The record is empty.");
  const row = (/** @type {any} */ { spec, status = {} }) => {
    const path = h("code", { class: "wrap" }, spec.path + (spec.query ? `?${spec.query}` : ""));
    return [clock(spec.time), spec.user, spec.verb, path, status.code, status.seconds?.toFixed(3)];
  };
  return {
    resource: "requests",
    form: form(
      "Look again",
      () => void panel.look(),
      labelled("Filter", words),
      h("button", { type: "button", onclick: clear }, "Clear"),
    ),
    draw: (items) => {
      const text = words.value.toLowerCase();
      const found = items.filter(({ spec }) => JSON.stringify(spec).toLowerCase().includes(text));
      return [
        faint(`${found.length} of ${items.length}, the newest first`),
        plainTable("Requests", titles, found.slice(-SHOWN).reverse().map(row)),
      ];
    },
  };
}
