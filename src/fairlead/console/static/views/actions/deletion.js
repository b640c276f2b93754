/** Deleting objects, with what goes with them, and letting go of what holds a deletion up. */

import { getJson } from "../../core/api.js";
import { dependentsOf } from "../../core/dependents.js";
import { fill, h } from "../../core/dom.js";
import { objectPath } from "../../core/paths.js";
import { Rights } from "../../core/rights.js";
import { labelled } from "../../parts/bits.js";
import { guarded } from "../../parts/messages.js";
import { allOf, commands, each, edit, referenceOf, titleOf } from "./parts.js";

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
    void guarded(preview, showDependents(preview, targets, place));
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

/** @type {Action} */
export const finalizer = {
  title: "Remove a finalizer…",
  needs: [["patch"]],
  isSingle: true,
  fits: ({ metadata }) => Boolean(metadata.deletionTimestamp && metadata.finalizers?.length),
  deed: ([target], place) => {
    const { metadata } = target.object;
    const options = metadata.finalizers.map((/** @type {string} */ one) => h("option", {}, one));
    const chosen = h("select", {}, options);
    const change = () => {
      const at = metadata.finalizers.indexOf(chosen.value);
      const path = `/metadata/finalizers/${at}`;
      return [
        { op: "test", path, value: chosen.value },
        { op: "remove", path },
      ];
    };
    const last = metadata.finalizers.length === 1;
    return {
      title: `Remove a finalizer of ${titleOf(target)}?`,
      says: [
        h(
          "p",
          {},
          "Whoever put it there has not said that it has cleaned up. What it guards (volumes, " +
            "addresses, objects elsewhere) may stay behind, and nobody will look after it any more.",
        ),
        last && h("p", { class: "warn" }, "! It is the last one: the object is gone at once."),
      ],
      fields: [labelled("Finalizer", chosen)],
      command: () =>
        commands(place, [target], (one) => [
          ...["patch", referenceOf(one), "--type=json", "-p", JSON.stringify(change())],
        ]),
      yes: "Remove it",
      isGrave: true,
      run: async (signal) => {
        await edit(target, change(), signal);
        return `${titleOf(target)} no longer waits for ${chosen.value}.`;
      },
    };
  },
};
