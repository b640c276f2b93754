/** Letting go of what holds a deletion up. */

import { getJson } from "../../core/api.js";
import { command, quoted } from "../../core/commands.js";
import { fill, h } from "../../core/dom.js";
import { objectPath } from "../../core/paths.js";
import { labelled } from "../../parts/bits.js";
import { commands, edit, referenceOf, titleOf } from "./parts.js";

/** @import {Place} from "../../app.js" */
/** @import {Action, Target} from "./parts.js" */
/** @import {Deed} from "../../parts/doing.js" */

const OF_SERVER = "kubernetes"; // the finalizer that the server itself puts on namespaces
const MEANING =
  "Whoever put it there has not said that it has cleaned up. What it guards (volumes, " +
  "addresses, objects elsewhere) may stay behind, and nobody will look after it any more.";
const MEANING_OF_SERVER =
  "The server removes it when nothing is left in the namespace. Without it the namespace goes, and " +
  "what is still in it stays in the store, out of reach until there is a namespace of this name again.";

/** @type {Action} */
export const finalizer = {
  title: "Remove a finalizer…",
  needs: [["patch"]],
  isSingle: true,
  fits: ({ metadata }) => Boolean(metadata.deletionTimestamp && metadata.finalizers?.length),
  deed: ([target], place) => {
    const { finalizers } = target.object.metadata;
    const change = (/** @type {string} */ chosen) => {
      const path = `/metadata/finalizers/${finalizers.indexOf(chosen)}`;
      return [
        { op: "test", path, value: chosen },
        { op: "remove", path },
      ];
    };
    return removal(target, finalizers, {
      command: (chosen) =>
        commands(place, [target], (one) => [
          ...["patch", referenceOf(one), "--type=json", "-p", JSON.stringify(change(chosen))],
        ]),
      run: (chosen, signal) => edit(target, change(chosen), signal),
    });
  },
};

/** What a namespace waits for until it is empty. @type {Action} */
export const contentFinalizer = {
  title: "Remove a finalizer of its content…",
  keys: ["namespaces."],
  needs: [["update", "finalize"]],
  isSingle: true,
  fits: ({ metadata, spec }) => Boolean(metadata.deletionTimestamp && spec?.finalizers?.length),
  deed: ([target], place) =>
    removal(target, target.object.spec.finalizers, {
      command: (chosen) => finalizing(target, place, chosen),
      run: async (chosen, signal) => {
        const path = objectPath(target.kind, target.named);
        const object = await getJson(path, { signal });
        object.spec.finalizers = object.spec.finalizers.filter(
          (/** @type {string} */ one) => one !== chosen,
        );
        const body = JSON.stringify(object);
        await getJson(`${path}/finalize`, { method: "PUT", body, signal });
      },
    }),
};

/**
 * Removing one of the finalizers of an object, in the way of the field that they are in.
 * @param {Target} target
 * @param {string[]} finalizers
 * @param {{command: (chosen: string) => string, run: (chosen: string, signal: AbortSignal) => Promise<unknown>}} way
 * @returns {Deed}
 */
function removal(target, finalizers, way) {
  const options = finalizers.map((one) => h("option", {}, one));
  const tell = () => fill(meaning, chosen.value === OF_SERVER ? MEANING_OF_SERVER : MEANING);
  const chosen = h("select", { onchange: tell }, options);
  const meaning = h("p");
  tell();
  const { metadata, spec } = target.object;
  const isLast = [...(metadata.finalizers ?? []), ...(spec?.finalizers ?? [])].length === 1;
  const warning = h("p", { class: "warn" }, "! It is the last one: the object is gone at once.");
  return {
    title: `Remove a finalizer of ${titleOf(target)}?`,
    says: [meaning, isLast && warning],
    fields: [labelled("Finalizer", chosen)],
    command: () => way.command(chosen.value),
    yes: "Remove it",
    isGrave: true,
    run: async (signal) => {
      await way.run(chosen.value, signal);
      return `${titleOf(target)} no longer waits for ${chosen.value}.`;
    },
  };
}

/**
 * The command line for a part of namespaces that no command of its own changes.
 * @param {Target} target
 * @param {Place} place
 * @param {string} chosen
 */
function finalizing({ kind, named }, { catalogue }, chosen) {
  const path = `${objectPath(kind, named)}/finalize`;
  const send =
    catalogue.about.dialect === "cluster"
      ? ["raw", "-X", "PUT", path, "-d", "-"]
      : ["replace", "--raw", path, "-f", "-"];
  return [
    command(catalogue, "get", "namespace", named.name, "-o", "json"),
    `jq ${quoted(`.spec.finalizers -= [${JSON.stringify(chosen)}]`)}`,
    command(catalogue, ...send),
  ].join(" | ");
}
