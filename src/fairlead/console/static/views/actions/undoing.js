/** Going back to an older revision of a workload. */

import { getJson, JSON_PATCH } from "../../core/api.js";
import { command, inside, reference } from "../../core/commands.js";
import { fill, h } from "../../core/dom.js";
import { list } from "../../core/listing.js";
import { isOwned } from "../../core/near.js";
import { collectionPath, objectPath } from "../../core/paths.js";
import { keptIn, revisionNumber, revisionsAmong } from "../../core/revisions.js";
import { keyOf } from "../../core/states.js";
import { yamlLines } from "../../core/yaml_lines.js";
import { labelled } from "../../parts/bits.js";
import { showDifference } from "../../parts/difference.js";
import { titleOf } from "./parts.js";

/** @import {Place} from "../../app.js" */
/** @import {Revision} from "../../core/revisions.js" */
/** @import {Deed} from "../../parts/doing.js" */
/** @import {Action, Target} from "./parts.js" */

const MAX_REVISIONS = 2_000; // of all workloads of a namespace

export const undo = undoing(["deployments.apps"], (one) => revisionNumber(one) > 1);
export const undoOthers = undoing(
  ["statefulsets.apps", "daemonsets.apps"],
  ({ metadata }) => metadata.generation > 1,
);

/**
 * @param {string[]} keys of kinds whose revisions are in objects of one kind
 * @param {(object: any) => boolean} fits
 * @returns {Action}
 */
function undoing(keys, fits) {
  return {
    title: "Undo…",
    keys,
    needs: [["patch"], ["list", "", keptIn(keys[0])]],
    isSingle: true,
    fits,
    deed: async ([target], place) => {
      const revisions = await revisionsOf(target, place);
      if (revisions.length < 2) throw new Error("There is no older revision to go back to.");
      return goingBackTo(place, target, revisions, revisions[1]);
    },
  };
}

/**
 * @param {Target} target
 * @param {Place} place
 */
async function revisionsOf({ kind, named, object }, { catalogue, signal }) {
  const key = keptIn(keyOf(catalogue, kind));
  const part = catalogue.kinds.find((one) => keyOf(catalogue, one) === key);
  if (!part) return [];
  const path = collectionPath(part, named.namespace);
  const { items } = await list(path, { maximum: MAX_REVISIONS, signal });
  return revisionsAmong(items.filter((one) => isOwned(one, object.metadata.uid)));
}

/**
 * Going back to one of the older revisions, with what would change.
 * @param {Place} place
 * @param {Target} target
 * @param {Revision[]} revisions the newest first
 * @param {Revision} first what is chosen to begin with
 * @returns {Deed}
 */
export function goingBackTo({ catalogue }, { kind, named }, revisions, first) {
  const [newest, ...older] = revisions;
  const title = titleOf({ kind, named });
  const difference = h("div");
  const tell = () => {
    const [now, then] = [newest, chosen()].map(({ template }) => templateText(template));
    fill(difference, showDifference(now, then, "What would change"));
  };
  const options = older.map((one) => h("option", { value: one.number }, nameOf(one)));
  const choice = h("select", { onchange: tell }, options);
  const chosen = () => older.find((one) => String(one.number) === choice.value) ?? first;
  choice.value = String(first.number);
  tell();
  return {
    title: `Take ${title} back to an older revision?`,
    says: difference,
    fields: [labelled("Revision", choice)],
    command: () =>
      command(
        catalogue,
        ...["rollout", "undo", reference(kind, named.name)],
        ...[`--to-revision=${chosen().number}`, ...inside(named)],
      ),
    yes: "Go back to this",
    run: async (signal) => {
      const { template, number } = chosen();
      const change = [{ op: "replace", path: "/spec/template", value: template }];
      const body = JSON.stringify(change);
      await getJson(objectPath(kind, named), { ...JSON_PATCH, body, signal });
      return `${title} goes back to revision ${number}.`;
    },
  };
}

/** @param {Revision} revision */
function nameOf({ number, template }) {
  const images = (template.spec?.containers ?? []).map((/** @type {any} */ one) => one.image);
  return `${number}: ${images.join(", ")}`;
}

/** The lines of a template. @param {any} template */
export function templateText(template) {
  return yamlLines(template).map((line) => line.text);
}
