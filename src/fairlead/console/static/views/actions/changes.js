/** Actions that change a field: the number of replicas, whether something is paused, and others. */

import { getJson } from "../../core/api.js";
import { h } from "../../core/dom.js";
import { objectPath } from "../../core/paths.js";
import { isFinished } from "../../core/states.js";
import { labelled } from "../../parts/bits.js";
import { allOf, commands, each, merge, referenceOf } from "./parts.js";

/** @import {Action, Right, Target} from "./parts.js" */

const ROLLED = ["deployments.apps", "statefulsets.apps", "daemonsets.apps"];
const DEPLOYMENTS = ["deployments.apps"];
const SUSPENDED = ["cronjobs.batch", "jobs.batch"];
const NODES = ["nodes."];
const CHANGES = /** @type {Right[]} */ ([["patch"]]);

/** @type {Action} */
export const scale = {
  title: "Scale…",
  part: "scale",
  needs: [["patch", "scale"]],
  deed: async (targets, place) => {
    const now = await replicasOf(targets[0], place.signal);
    const count = h("input", { type: "number", min: 0, max: 100_000, value: now, required: true });
    return {
      title: `Scale ${allOf(targets)}?`,
      fields: [labelled("Replicas", count)],
      command: () =>
        commands(place, targets, (one) => ["scale", referenceOf(one), `--replicas=${count.value}`]),
      yes: "Scale",
      run: async (signal) => {
        const change = { spec: { replicas: count.valueAsNumber } };
        await each(targets, (one) => merge(one, change, signal, "scale"));
        return `${allOf(targets)}: ${count.value} replicas are wanted.`;
      },
    };
  },
};

/**
 * How many replicas of one are wanted; custom kinds have the number in a field of their own.
 * @param {Target} target
 * @param {AbortSignal} signal
 * @returns {Promise<number>}
 */
async function replicasOf({ kind, named, object }, signal) {
  const { group } = kind;
  const isKnown = !object || (object.spec?.replicas !== undefined && !group.includes("."));
  if (isKnown) return object?.spec.replicas ?? 1;
  const scaled = await getJson(`${objectPath(kind, named)}/scale`, { signal });
  return scaled.spec?.replicas ?? 0;
}

/** @type {Action} */
export const restart = {
  title: "Restart…",
  keys: ROLLED,
  needs: CHANGES,
  deed: (targets, place) => ({
    title: `Restart ${allOf(targets)}?`,
    says: h("p", {}, "All pods are replaced, as the strategy says: a few at a time."),
    command: () => commands(place, targets, (one) => ["rollout", "restart", referenceOf(one)]),
    yes: "Restart",
    run: async (signal) => {
      const { dialect, labelDomain } = place.catalogue.about;
      const program = dialect === "cluster" ? "fairlead" : "kubectl";
      const name = `${program}.${labelDomain}/restartedAt`;
      const annotations = { [name]: new Date().toISOString() };
      const change = { spec: { template: { metadata: { annotations } } } };
      await each(targets, (one) => merge(one, change, signal));
      return `${allOf(targets)}: pods are replaced.`;
    },
  }),
};

/**
 * An action that sets one field of the spec.
 * @param {string} title
 * @param {string[]} keys
 * @param {[field: string, value: boolean]} field
 * @param {{
 *   says: string,
 *   done: string,
 *   words: (target: Target) => string[],
 *   unless?: (object: any) => boolean,
 * }} told
 * @returns {Action}
 */
function setting(title, keys, [field, value], { says, done, words, unless }) {
  return {
    title,
    keys,
    needs: CHANGES,
    fits: (object) => Boolean(object.spec?.[field]) !== value && !unless?.(object),
    deed: (targets, place) => ({
      title: `${title.replace("…", "")} ${allOf(targets)}?`,
      says: h("p", {}, says),
      command: () => commands(place, targets, words),
      yes: title.replace("…", ""),
      run: async (signal) => {
        await each(targets, (one) => merge(one, { spec: { [field]: value } }, signal));
        return `${allOf(targets)} ${done}.`;
      },
    }),
  };
}

/** @param {string} field @param {boolean} value */
function patching(field, value) {
  const change = JSON.stringify({ spec: { [field]: value } });
  return (/** @type {Target} */ one) => ["patch", referenceOf(one), "--type=merge", "-p", change];
}

export const pause = setting("Pause…", DEPLOYMENTS, ["paused", true], {
  says: "Changes of its template wait until it is resumed; its pods go on.",
  done: "is paused",
  words: (one) => ["rollout", "pause", referenceOf(one)],
});

export const resume = setting("Resume…", DEPLOYMENTS, ["paused", false], {
  says: "Changes of its template that waited are rolled out.",
  done: "is resumed",
  words: (one) => ["rollout", "resume", referenceOf(one)],
});

export const suspend = setting("Suspend…", SUSPENDED, ["suspend", true], {
  says: "A cron job starts no more jobs; a job ends its pods and starts none until it is resumed.",
  done: "is suspended",
  words: patching("suspend", true),
  unless: isFinished,
});

export const unsuspend = setting("Resume…", SUSPENDED, ["suspend", false], {
  says: "It goes on from now.",
  done: "is resumed",
  words: patching("suspend", false),
  unless: isFinished,
});

export const cordon = setting("Cordon…", NODES, ["unschedulable", true], {
  says: "It takes no new pods; those on it stay.",
  done: "is cordoned",
  words: (one) => ["cordon", one.named.name],
});

export const uncordon = setting("Uncordon…", NODES, ["unschedulable", false], {
  says: "It takes new pods again.",
  done: "takes pods again",
  words: (one) => ["uncordon", one.named.name],
});
