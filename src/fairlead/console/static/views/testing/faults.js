/** Requests that go wrong on purpose. */

import { h } from "../../core/dom.js";
import { plainTable } from "../../parts/plain_table.js";
import { action, form, input } from "./panel.js";

/** @import {Content, Panel} from "./panel.js" */

/** What can go wrong: how it is called, what the number or word is about, and what it makes. */
/** @type {Record<string, {says: string, usual: string, spec: (value: string) => unknown}>} */
const EFFECTS = {
  error: {
    says: "answer with the error",
    usual: "409",
    spec: (value) => ({ error: { code: Number(value) } }),
  },
  delay: { says: "wait first for", usual: "2s", spec: (value) => ({ delay: value }) },
  cut: {
    says: "cut the connection (before, after, middle)",
    usual: "before",
    spec: (value) => ({ cut: value }),
  },
  drop: { says: "lose events of watches", usual: "", spec: () => ({ events: { drop: true } }) },
  repeat: {
    says: "repeat events of watches, times",
    usual: "1",
    spec: (value) => ({ events: { repeat: Number(value) } }),
  },
  stale: {
    says: "read the past, revisions ago",
    usual: "5",
    spec: (value) => ({ stale: Number(value) }),
  },
};
const MATCHES = /** @type {const} */ ([
  ["verbs", "Verbs"],
  ["resources", "Resources"],
  ["namespaces", "Namespaces"],
  ["users", "Users"],
]);

/**
 * @param {Panel} panel
 * @returns {Content}
 */
export function faultsPanel(panel) {
  const matches = MATCHES.map(([name, label]) => ({ name, ...input(label, "any") }));
  const value = input("With", EFFECTS.error.usual);
  const count = input("Times", "always");
  const effect = h(
    "select",
    {
      "aria-label": "What happens",
      onchange: () => void (value.made.placeholder = EFFECTS[effect.value].usual),
    },
    Object.entries(EFFECTS).map(([name, { says }]) => h("option", { value: name }, says)),
  );
  const add = () => {
    const { spec, usual } = EFFECTS[effect.value];
    const times = count.made.value.trim();
    const body = {
      metadata: { generateName: "fault-" },
      spec: {
        match: Object.fromEntries(matches.map(({ name, made }) => [name, wordsOf(made.value)])),
        .../** @type {object} */ (spec(value.made.value.trim() || usual)),
        ...(times && { count: Number(times) }),
      },
    };
    void panel.act("POST", "faults", body, (one) => `${one.metadata.name} is on.`);
  };
  return {
    resource: "faults",
    form: form(
      "Add a fault",
      add,
      ...matches.map(({ label }) => label),
      h("label", { class: "stacked" }, "What happens", effect),
      value.label,
      count.label,
    ),
    draw: (items) => [
      items.length ? drawn(panel, items) : h("p", { class: "faint" }, "There is none."),
    ],
  };
}

/**
 * @param {Panel} panel
 * @param {any[]} items
 */
function drawn(panel, items) {
  const remove = (/** @type {string} */ name) =>
    void panel.act("DELETE", `faults/${name}`, null, () => `Removed ${name}.`);
  return plainTable(
    "Faults",
    ["Name", "Requests", "What happens", "Matched", "Applied", ""],
    items.map(({ metadata: { name }, spec, status = {} }) => {
      const { match = {}, ...effects } = spec;
      return [
        name,
        h("code", { class: "wrap" }, inShort(match) || "all"),
        h("code", { class: "wrap" }, inShort(effects)),
        status.matched ?? 0,
        status.applied ?? 0,
        action("Remove", name, () => remove(name)),
      ];
    }),
  );
}

/** @param {Record<string, unknown>} values */
function inShort(values) {
  return Object.entries(values)
    .filter(([, value]) => !Array.isArray(value) || value.length)
    .map(
      ([name, value]) =>
        `${name} ${Array.isArray(value) ? value.join(",") : JSON.stringify(value)}`,
    )
    .join(" ");
}

/** @param {string} text */
function wordsOf(text) {
  return text.split(/[\s,]+/).filter(Boolean);
}
