/** Snapshots, the clock, controllers, and the record of requests. */

import { h } from "../../core/dom.js";
import { age, clock } from "../../core/time.js";
import { plainTable } from "../../parts/plain_table.js";
import { action, form, input } from "./panel.js";

/** @import {Content, Panel} from "./panel.js" */

const SHOWN = 100; // requests

/**
 * @param {Panel} panel
 * @returns {Content}
 */
export function snapshotsPanel(panel) {
  const name = input("Name", "made up");
  const take = () => {
    const given = name.made.value.trim();
    const metadata = given ? { name: given } : { generateName: "snapshot-" };
    void panel.act("POST", "snapshots", { metadata }, (one) => `Took ${one.metadata.name}.`);
    name.made.value = "";
  };
  const restore = (/** @type {string} */ one) =>
    void panel.act(
      "POST",
      `snapshots/${one}/restore`,
      {},
      ({ status }) => `Went back to ${one}: ${status.changed ?? 0} objects changed.`,
    );
  const remove = (/** @type {string} */ one) =>
    void panel.act("DELETE", `snapshots/${one}`, null, () => `Removed ${one}.`);
  return {
    resource: "snapshots",
    form: form("Take a snapshot", take, name.label),
    draw: (items) => [
      items.length === 0 && h("p", { class: "faint" }, "There is none."),
      items.length > 0 &&
        plainTable(
          "Snapshots",
          ["Name", "Objects", "Revision", "Age", ""],
          items.map(({ metadata, status }) => [
            metadata.name,
            status.objects,
            status.resourceVersion,
            age(metadata.creationTimestamp),
            h(
              "span",
              { class: "bar" },
              action("Restore", metadata.name, () => restore(metadata.name)),
              action("Remove", metadata.name, () => remove(metadata.name)),
            ),
          ]),
        ),
    ],
  };
}

/**
 * @param {Panel} panel
 * @returns {Content}
 */
export function clockPanel(panel) {
  const by = input("By a duration, or to a moment", "1h30m");
  const move = (/** @type {string} */ text) => {
    const spec = /^\d{4}-/.test(text) ? { to: text } : { by: text };
    const done = (/** @type {any} */ { status }) => `It is ${clock(status.time)} for the server.`;
    void panel.act("POST", "clocks/clock/move", { spec }, done);
  };
  return {
    resource: "clocks",
    form: form(
      "Move forward",
      () => move(by.made.value.trim()),
      by.label,
      ...["1m", "1h", "24h"].map((one) =>
        h("button", { type: "button", onclick: () => move(one) }, `+${one}`),
      ),
    ),
    draw: ([found]) => [
      h(
        "p",
        {},
        h("strong", {}, found.status.time),
        h("span", { class: "faint" }, ` ${ahead(found.status.aheadSeconds ?? 0)}`),
      ),
    ],
  };
}

/** @param {number} seconds */
function ahead(seconds) {
  if (seconds < 1) return "as the machine's clock";
  const start = new Date(Date.now() - seconds * 1000).toISOString();
  return `${age(start)} ahead of the machine's clock`;
}

/**
 * @param {Panel} panel
 * @returns {Content}
 */
export function controllersPanel(panel) {
  const turn = (/** @type {string} */ word, /** @type {string} */ name) =>
    void panel.act("POST", `controllers/${name}/${word}`, {}, () => `${name}: ${word}d.`);
  return {
    resource: "controllers",
    draw: (items) => [
      plainTable(
        "Controllers",
        ["Name", "Waiting", "Working", "Again soon", ""],
        items.map(({ metadata: { name }, status }) => [
          status.paused ? h("span", { class: "warn" }, `${name} (paused)`) : name,
          status.waiting ?? 0,
          status.working ?? 0,
          status.retries ?? 0,
          status.paused
            ? action("Resume", name, () => turn("resume", name))
            : action("Pause", name, () => turn("pause", name)),
        ]),
      ),
    ],
  };
}

/**
 * @param {Panel} panel
 * @returns {Content}
 */
export function requestsPanel(panel) {
  const words = input("Filter");
  words.made.type = "search";
  const clear = () => void panel.act("DELETE", "requests", null, () => "The record is empty.");
  return {
    resource: "requests",
    form: form(
      "Look again",
      () => void panel.look(),
      words.label,
      h("button", { type: "button", onclick: clear }, "Clear"),
    ),
    draw: (items) => {
      const text = words.made.value.toLowerCase();
      const found = items.filter(({ spec }) => JSON.stringify(spec).toLowerCase().includes(text));
      return [
        h("p", { class: "faint" }, `${found.length} of ${items.length}, the newest first`),
        plainTable(
          "Requests",
          ["Time", "Who", "Verb", "Path", "Code", "Seconds"],
          found
            .slice(-SHOWN)
            .reverse()
            .map(({ spec, status = {} }) => [
              clock(spec.time),
              spec.user,
              spec.verb,
              h("code", { class: "wrap" }, spec.path + (spec.query ? `?${spec.query}` : "")),
              status.code,
              status.seconds?.toFixed(3),
            ]),
        ),
      ];
    },
  };
}
