/** The revisions of a workload: what was different, and the way back. */

import { getJson, JSON_PATCH } from "../../core/api.js";
import { command, inside, reference } from "../../core/commands.js";
import { h } from "../../core/dom.js";
import { yamlLines } from "../../core/yaml_lines.js";
import { showDifference } from "../../parts/difference.js";
import { offer } from "../../parts/doing.js";
import { ago } from "../../parts/steady.js";
import { valueNamed } from "./parts.js";

/** @import {At, Section} from "./parts.js" */
/** @typedef {{number: number, name: string, created: string, template: any, pods: number | null, why: string}} Revision */

const SHOWN = 10;
const HASH = "pod-template-hash"; // the label that replica sets add
const CAUSE = /\/change-cause$/;

/** @param {At} at @returns {Section} */
export function revisionSection(at) {
  return {
    title: "Revisions",
    look: () => {
      const found = revisionsOf(at);
      return found.length ? found : null;
    },
    draw: (found) => revisionTable(at, found),
  };
}

/**
 * The newest first.
 * @param {At} at
 * @returns {Revision[]}
 */
function revisionsOf({ subject, key, near }) {
  const { object } = subject;
  const found =
    key === "deployments.apps"
      ? near.owned("replicasets.apps", object).map(ofReplicaSet)
      : ["statefulsets.apps", "daemonsets.apps"].includes(key)
        ? near.owned("controllerrevisions.apps", object).map(ofRevision)
        : [];
  return found.filter((one) => one.template).sort((a, b) => b.number - a.number);
}

/** @param {any} part @returns {Revision} */
function ofReplicaSet({ metadata, spec, status }) {
  const { [HASH]: _, ...labels } = spec.template.metadata?.labels ?? {};
  return {
    number: Number(valueNamed(metadata.annotations, /^deployment\..*\/revision$/) ?? 0),
    name: metadata.name,
    created: metadata.creationTimestamp,
    template: { ...spec.template, metadata: { ...spec.template.metadata, labels } },
    pods: status?.replicas ?? 0,
    why: valueNamed(metadata.annotations, CAUSE) ?? "",
  };
}

/** @param {any} part @returns {Revision} */
function ofRevision({ metadata, revision, data }) {
  const { $patch: _, ...template } = data?.spec?.template ?? {};
  return {
    number: revision,
    name: metadata.name,
    created: metadata.creationTimestamp,
    template: data?.spec?.template && template,
    pods: null,
    why: valueNamed(metadata.annotations, CAUSE) ?? "",
  };
}

/**
 * @param {At} at
 * @param {Revision[]} revisions
 */
function revisionTable(at, revisions) {
  return h(
    "ul",
    { class: "links revisions" },
    revisions.slice(0, SHOWN).map((one, index) => {
      const images = (one.template.spec?.containers ?? []).map(
        (/** @type {any} */ container) => container.image,
      );
      const isNewest = index === 0;
      return h(
        "li",
        {},
        h("strong", {}, `Revision ${one.number}`),
        isNewest && h("span", { class: "badge" }, "newest"),
        h("span", { class: "mono wrap" }, images.join(", ")),
        one.pods !== null && h("span", { class: "faint" }, `${one.pods} pods`),
        h("span", { class: "faint" }, ago(one.created), " ago"),
        one.why && h("span", { class: "faint wrap" }, one.why),
        !isNewest && goingBack(at, one, revisions[0]),
        revisions[index + 1] && changes(one, revisions[index + 1]),
      );
    }),
    revisions.length > SHOWN &&
      h("li", { class: "faint" }, `and ${revisions.length - SHOWN} older ones`),
  );
}

/**
 * What a revision changed.
 * @param {Revision} revision
 * @param {Revision} before
 */
function changes(revision, before) {
  const label = `What changed with revision ${revision.number}`;
  return h(
    "details",
    { "data-mark": label },
    h("summary", {}, label),
    showDifference(textOf(before.template), textOf(revision.template), label),
  );
}

/** @param {any} template */
function textOf(template) {
  return yamlLines(template).map((line) => line.text);
}

/**
 * @param {At} at
 * @param {Revision} revision
 * @param {Revision} newest
 */
function goingBack(at, revision, newest) {
  const { subject, place, near } = at;
  const { kind, named, path } = subject;
  if (near.revision || !near.rights.may("patch", kind)) return null;
  const label = "What would change";
  const go = () =>
    offer(
      {
        title: `Take ${kind.kind} ${named.name} back to revision ${revision.number}?`,
        says: showDifference(textOf(newest.template), textOf(revision.template), label),
        command: () =>
          command(
            place.catalogue,
            ...["rollout", "undo", reference(kind, named.name)],
            ...[`--to-revision=${revision.number}`, ...inside(named)],
          ),
        yes: "Go back to this",
        run: async (signal) => {
          const change = [{ op: "replace", path: "/spec/template", value: revision.template }];
          await getJson(path, { ...JSON_PATCH, body: JSON.stringify(change), signal });
          return `${kind.kind} ${named.name} goes back to revision ${revision.number}.`;
        },
      },
      place.signal,
    );
  return h(
    "button",
    { "aria-label": `Go back to this: revision ${revision.number}`, onclick: go },
    "Go back to this",
  );
}
