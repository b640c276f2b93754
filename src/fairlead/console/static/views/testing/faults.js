/** Requests that go wrong on purpose. */

import { h } from "../../core/dom.js";
import { faint, field, form, labelled, plainTable, wordsOf } from "../../parts/bits.js";

/** @import {Content, Panel} from "./panel.js" */

/**
 * What can go wrong: how it is called, a usual number or word for it, and what it makes of it.
 * @type {Record<string, [string, string, (value: string) => object]>}
 */
const EFFECTS = {
  error: ["answer with the error", "409", (value) => ({ error: { code: Number(value) } })],
  delay: ["wait first for", "2s", (value) => ({ delay: value })],
  cut: ["cut it off (before, after, middle)", "before", (value) => ({ cut: value })],
  drop: ["lose events of watches", "", () => ({ events: { drop: true } })],
  repeat: ["repeat events, times", "1", (value) => ({ events: { repeat: Number(value) } })],
  stale: ["read the past, revisions ago", "5", (value) => ({ stale: Number(value) })],
};
const MATCHES = ["Verbs", "Resources", "Namespaces", "Users"];
const TITLES = ["Name", "Requests", "What happens", "Matched", "Applied", ""];

/**
 * @param {Panel} panel
 * @returns {Content}
 */
export function faultsPanel(panel) {
  const matches = MATCHES.map((label) => ({ label, input: field("any") }));
  const value = field(EFFECTS.error[1]);
  const count = field("always");
  const effect = h(
    "select",
    {
      "aria-label": "What happens",
      onchange: () => (value.placeholder = EFFECTS[effect.value][1]),
    },
    Object.entries(EFFECTS).map(([name, [says]]) => h("option", { value: name }, says)),
  );
  const add = () => {
    const [, usual, made] = EFFECTS[effect.value];
    const times = count.value.trim();
    const match = matches.map(({ label, input }) => [label.toLowerCase(), wordsOf(input.value)]);
    const spec = {
      match: Object.fromEntries(match),
      ...made(value.value.trim() || usual),
      ...(times && { count: Number(times) }),
    };
    const body = { metadata: { generateName: "fault-" }, spec };
    void panel.act("POST", "faults", body, (one) => `${one.metadata.name} is on.`);
  };
  const row = (/** @type {any} */ { metadata: { name }, spec, status = {} }) => {
    const { match = {}, ...effects } = spec;
    const remove = panel.button(
      "Remove",
      name,
      "DELETE",
      `faults/${name}`,
      () => `${name} is off.`,
    );
    return [
      ...[name, inShort(match), inShort(effects)],
      ...[status.matched ?? 0, status.applied ?? 0, remove],
    ];
  };
  return {
    resource: "faults",
    form: form(
      "Add a fault",
      add,
      matches.map(({ label, input }) => labelled(label, input)),
      labelled("What happens", effect),
      labelled("With", value),
      labelled("Times", count),
    ),
    draw: (items) => [
      items.length ? plainTable("Faults", TITLES, items.map(row)) : faint("There is none."),
    ],
  };
}

/** @param {Record<string, unknown>} values */
function inShort(values) {
  const parts = Object.entries(values)
    .filter(([, value]) => !Array.isArray(value) || value.length)
    .map(([name, value]) => `${name} ${Array.isArray(value) ? value : JSON.stringify(value)}`);
  return h("code", { class: "wrap" }, parts.join(" ") || "all");
}
