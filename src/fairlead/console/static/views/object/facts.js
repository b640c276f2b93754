/** The metadata of an object, for people. */

import { h } from "../../core/dom.js";
import { objectRoute } from "../../core/paths.js";
import { clock } from "../../core/time.js";
import { ago } from "../../parts/steady.js";

/** @import {Children} from "../../core/dom.js" */
/** @import {Catalogue} from "../../core/kinds.js" */
/** @import {State} from "../../core/states.js" */

/**
 * @param {Catalogue} catalogue
 * @param {any} metadata
 * @param {State} state
 */
export function factList(catalogue, metadata, state) {
  const { namespace, creationTimestamp, deletionTimestamp, finalizers, generation } = metadata;
  const spaces = catalogue.find("", "namespaces");
  /** @type {[string, Children][]} */
  const facts = [
    ["State", state.word && h("span", { class: state.tone }, state.word)],
    [
      "Namespace",
      namespace && spaces
        ? h("a", { href: objectRoute(spaces, { name: namespace }) }, namespace)
        : namespace,
    ],
    ["Created", [clock(creationTimestamp), " (", ago(creationTimestamp), " ago)"]],
    ["Deletion asked for", deletionTimestamp && [ago(deletionTimestamp), " ago"]],
    ["Held by", finalizers?.length && chips(finalizers)],
    ["Owned by", metadata.ownerReferences?.length && owners(catalogue, metadata)],
    ["Labels", pairs(metadata.labels)],
    ["Annotations", annotations(metadata.annotations)],
    ["UID", metadata.uid && h("span", { class: "mono wrap" }, metadata.uid)],
    ["Generation", generation],
  ];
  return h(
    "dl",
    { class: "facts" },
    facts.flatMap(([name, value]) => (value ? [h("dt", {}, name), h("dd", {}, value)] : [])),
  );
}

/**
 * @param {Catalogue} catalogue
 * @param {any} metadata
 */
function owners(catalogue, metadata) {
  return h(
    "ul",
    { class: "links" },
    metadata.ownerReferences.map((/** @type {any} */ owner) => {
      const kind = catalogue.of(owner);
      const title = `${owner.kind} ${owner.name}`;
      const named = { namespace: kind?.namespaced ? metadata.namespace : "", name: owner.name };
      return h(
        "li",
        {},
        kind ? h("a", { href: objectRoute(kind, named) }, title) : title,
        owner.controller && h("span", { class: "faint" }, " controls it"),
      );
    }),
  );
}

/** @param {Record<string, string> | undefined} map */
function pairs(map) {
  const entries = Object.entries(map ?? {});
  return entries.length && chips(entries.map(([name, value]) => `${name}=${value}`));
}

/** @param {string[]} texts */
function chips(texts) {
  return h(
    "ul",
    { class: "links chips" },
    texts.map((one) => h("li", { class: "badge wrap" }, one)),
  );
}

/** @param {Record<string, string> | undefined} map */
function annotations(map) {
  const entries = Object.entries(map ?? {});
  return (
    entries.length &&
    h(
      "details",
      { "data-mark": "annotations" },
      h("summary", {}, `${entries.length}`),
      h(
        "dl",
        {},
        entries.flatMap(([name, value]) => [
          h("dt", { class: "wrap" }, name),
          h("dd", {}, h("pre", { class: "wrap" }, value)),
        ]),
      ),
    )
  );
}
