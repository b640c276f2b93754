/** What the summaries of kinds are made of. */

import { h } from "../../core/dom.js";
import { objectRoute } from "../../core/paths.js";
import { stateOf } from "../../core/states.js";
import { bar } from "../../parts/bits.js";

/** @import {Place} from "../../app.js" */
/** @import {Children} from "../../core/dom.js" */
/** @import {Near} from "../../core/near.js" */
/** @import {Reason} from "../../core/reasons.js" */
/** @import {Subject} from "../../core/subject.js" */
/** Where a summary is shown, and what it knows. @typedef {{place: Place, subject: Subject, key: string, near: Near}} At */
/**
 * A card. `look` says what it shows, in a form that JSON can hold, so that it is drawn when that
 * changes; null for nothing.
 * @typedef {{title: string, look: () => any, draw: (shown: any) => Children}} Section
 */
/**
 * What a kind has of its own: why an object of it is not well, and cards.
 * @typedef {{reasons?: (at: At) => Reason[], sections: (at: At) => Section[]}} Summary
 */

const SIGNS = { good: "✓ ", warn: "! ", bad: "✗ ", "": "" };
const MANY = 300; // pods that are shown one by one
const NAMED = 6; // pods that are also named

/**
 * A list of facts; those without a value are left out.
 * @param {[string, Children][]} facts
 */
export function factTable(facts) {
  const isTold = (/** @type {Children} */ one) => one !== undefined && one !== "" && one !== null;
  return h(
    "dl",
    { class: "facts" },
    facts
      .filter(([, value]) => isTold(value) && value !== false)
      .map(([name, value]) => [h("dt", {}, name), h("dd", {}, value)])
      .flat(),
  );
}

/**
 * Why something is not well.
 * @param {At} at
 * @param {Reason[]} reasons
 */
export function reasonList({ near }, reasons) {
  return h(
    "ul",
    { class: "links reasons" },
    reasons.map(({ tone, text, about, hint }) => {
      const kind = about && near.kind(about.key);
      const title = kind && `${kind.kind} ${about.name}`;
      return h(
        "li",
        { class: "wrap" },
        h("span", { class: tone }, SIGNS[tone]),
        kind && about && [h("a", { href: objectRoute(kind, about) }, title), ": "],
        text,
        hint && h("span", { class: "faint" }, ` ${hint}`),
      );
    }),
  );
}

/**
 * A card with pods.
 * @param {At} at
 * @param {() => any[] | null} pods
 * @returns {Section}
 */
export function podSection(at, pods) {
  return {
    title: "Pods",
    look: () => {
      const found = pods()?.map(podBrief).sort(byState);
      return found ? { found, isComplete: at.near.isComplete } : null;
    },
    draw: ({ found }) => podStrip(at, found),
  };
}

/**
 * @param {{tone: string, word: string}} a
 * @param {{tone: string, word: string}} b
 */
function byState(a, b) {
  const order = ["bad", "warn", "", "good"];
  return order.indexOf(a.tone) - order.indexOf(b.tone) || (a.word < b.word ? -1 : 1);
}

/** What of a pod is shown in a strip. @param {any} pod */
function podBrief(pod) {
  const { name, namespace } = pod.metadata;
  const { word, tone, why } = stateOf("pods.", pod);
  return { name, namespace, word, tone, why };
}

/**
 * Pods as a strip: a link for each, in the colour of its state, and how many are in each state.
 * @param {At} at
 * @param {ReturnType<typeof podBrief>[]} pods
 */
function podStrip({ near }, pods) {
  const kind = near.kind("pods.");
  if (!pods.length) {
    return h("p", { class: "faint" }, near.isComplete ? "There are no pods." : "looking…");
  }
  const words = Map.groupBy(pods, (one) => `${one.tone} ${one.word}`);
  return [
    h(
      "ul",
      { class: "strip", "aria-label": "Pods by state" },
      [...words.values()]
        .flat()
        .slice(0, MANY)
        .map(({ name, namespace, word, tone, why }) => {
          const title = [`${name}: ${word}`, why].filter(Boolean).join(" – ");
          const href = kind && objectRoute(kind, { name, namespace });
          return h(
            "li",
            {},
            h("a", { class: `dot tone-${tone || "none"}`, href, title, "aria-label": title }),
          );
        }),
    ),
    bar(
      [...words.values()].map((some) => {
        const { tone, word } = some[0];
        return h("span", { class: tone }, `${SIGNS[tone]}${some.length} ${word}`);
      }),
      pods.length > MANY && h("span", { class: "faint" }, `the first ${MANY} are shown`),
    ),
    kind &&
      h(
        "ul",
        { class: "links named-pods" },
        pods
          .slice(0, NAMED)
          .map(({ name, namespace, word, tone }) =>
            h(
              "li",
              {},
              h("a", { class: "wrap", href: objectRoute(kind, { name, namespace }) }, name),
              h("span", { class: tone }, word),
            ),
          ),
        pods.length > NAMED && h("li", { class: "faint" }, `and ${pods.length - NAMED} more`),
      ),
  ];
}

/**
 * How much there is of something, as a bar.
 * @param {string} label
 * @param {number} value
 * @param {number} whole
 * @param {string} says
 * @param {boolean} [isRoom] of which it is bad to take all
 */
export function meter(label, value, whole, says, isRoom) {
  const share = whole > 0 ? Math.min(1, value / whole) : 0;
  const tone = !isRoom ? "" : value > whole ? "over" : share > 0.9 ? "full" : "";
  return h(
    "div",
    {
      class: `meter ${tone}`,
      role: "meter",
      "aria-label": label,
      "aria-valuemin": 0,
      "aria-valuemax": 100,
      "aria-valuenow": Math.round(share * 100),
      "aria-valuetext": says,
    },
    h("div", { style: { width: `${share * 100}%` } }),
  );
}
