/** Deleting objects, with what goes with them. */

import { getJson } from "../../core/api.js";
import { dependentsOf } from "../../core/dependents.js";
import { fill, h } from "../../core/dom.js";
import { objectPath } from "../../core/paths.js";
import { Rights } from "../../core/rights.js";
import { guarded } from "../../parts/messages.js";
import { allOf, commands, each, referenceOf, titleOf } from "./parts.js";

/** @import {Place} from "../../app.js" */
/** @import {Action, Target} from "./parts.js" */

const SHOWN = 30; // objects that go with it

/** @type {Action} */
export const deletion = {
  title: "Delete…",
  needs: [["delete"]],
  fits: ({ metadata }) => !metadata.deletionTimestamp,
  deed: (targets, place) => {
    const preview = h("div", { class: "preview", role: "status" }, "Looking at what goes with it.");
    const ready = guarded(preview, showDependents(preview, targets, place));
    return {
      title: `Delete ${targets.length > 1 ? allOf(targets) : inFull(targets[0])}?`,
      says: [
        targets.length > 1 &&
          h(
            "ul",
            { class: "links mono preview" },
            targets.map((one) => h("li", {}, nameOf(one))),
          ),
        holders(targets),
        preview,
      ],
      command: () => commands(place, targets, (one) => ["delete", referenceOf(one)]),
      yes: "Delete",
      isGrave: true,
      ready,
      run: async (signal) => {
        /** @type {string[]} */
        const told = [];
        await each(targets, async (one) => told.push(await remove(one, signal)));
        return targets.length > 1 ? `${allOf(targets)}: deleted.` : told[0];
      },
    };
  },
};

/** @param {Target} target */
function inFull(target) {
  const { namespace } = target.named;
  return titleOf(target) + (namespace ? ` in ${namespace}` : "");
}

/** @param {Target} target */
function nameOf({ named }) {
  return [named.namespace, named.name].filter(Boolean).join("/");
}

/** @param {Target[]} targets */
function holders(targets) {
  const finalizers = new Set(targets.flatMap((one) => one.object?.metadata.finalizers ?? []));
  if (!finalizers.size) return null;
  const text = `! It stays until these let go: ${[...finalizers].join(", ")}`;
  return h("p", { class: "warn wrap" }, text);
}

/**
 * @param {Element} host
 * @param {Target[]} targets
 * @param {Place} place
 */
async function showDependents(host, targets, { catalogue, signal }) {
  const [{ kind, named, object }] = targets;
  if (targets.length > 1 || !object) {
    fill(host, h("p", {}, "What they own is deleted after them."));
    return;
  }
  const rights = await Rights.load(catalogue, named.namespace ?? "", signal);
  const target = { kind, named, uid: object.metadata.uid };
  const { found, hidden } = await dependentsOf(catalogue, rights, target, signal);
  const counts = Map.groupBy(found, (one) => one.kind.kind);
  const words = [...counts].map(([title, some]) => `${some.length} ${title}`).join(", ");
  fill(
    host,
    h("p", {}, found.length ? `This goes with it: ${words}.` : "Nothing else goes with it."),
    found.length > 0 &&
      h(
        "ul",
        { class: "links mono" },
        found.slice(0, SHOWN).map((one) => h("li", {}, `${one.kind.kind} ${one.metadata.name}`)),
        found.length > SHOWN && h("li", {}, `and ${found.length - SHOWN} more`),
      ),
    hidden.length > 0 && h("p", { class: "faint wrap" }, `You may not list ${hidden.join(", ")}.`),
  );
}

/**
 * @param {Target} target
 * @param {AbortSignal} signal
 * @returns {Promise<string>} what came of it
 */
async function remove(target, signal) {
  const { kind, named, object } = target;
  // Not another object that has got the name meanwhile.
  const body = object && JSON.stringify({ preconditions: { uid: object.metadata.uid } });
  const answer = await getJson(objectPath(kind, named), { method: "DELETE", body, signal });
  const title = inFull(target);
  const { deletionTimestamp, finalizers = [] } = answer.metadata ?? {};
  const isEnding = Boolean(deletionTimestamp) || answer.status?.phase === "Terminating";
  if (finalizers.length) return `${title} stays until these let go: ${finalizers.join(", ")}`;
  return isEnding ? `${title} is ending.` : `${title} is deleted.`;
}
