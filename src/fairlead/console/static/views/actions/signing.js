/** Approving and denying requests for certificates. */

import { getJson } from "../../core/api.js";
import { h } from "../../core/dom.js";
import { objectPath } from "../../core/paths.js";
import { allOf, commands, each } from "./parts.js";

/** @import {Action, Target} from "./parts.js" */

export const approve = verdict("Approve…", "Approved", "approve", "is approved");
export const deny = verdict("Deny…", "Denied", "deny", "is denied");

/**
 * @param {string} title
 * @param {string} type of the condition
 * @param {string} verb
 * @param {string} done
 * @returns {Action}
 */
function verdict(title, type, verb, done) {
  return {
    title,
    keys: ["certificatesigningrequests.certificates"],
    needs: [["update", "approval"], ["get"]],
    fits: ({ status = {} }) => !status.conditions?.length,
    deed: (targets, place) => ({
      title: `${title.replace("…", "")} ${allOf(targets)}?`,
      says: targets.map((one) => asked(one)),
      command: () => commands(place, targets, ({ named }) => ["certificate", verb, named.name]),
      yes: title.replace("…", ""),
      run: async (signal) => {
        await each(targets, (one) => decide(one, type, signal));
        return `${allOf(targets)} ${done}.`;
      },
    }),
  };
}

/** Who asks for what. @param {Target} target */
function asked({ object, named }) {
  if (!object) return h("p", {}, named.name);
  const { username, signerName, usages = [] } = object.spec;
  const text = `${username} asks ${signerName} for a certificate to be used for ${usages.join(", ")}.`;
  return h("p", { class: "wrap" }, text);
}

/**
 * @param {Target} target
 * @param {string} type
 * @param {AbortSignal} signal
 */
async function decide({ kind, named }, type, signal) {
  const path = objectPath(kind, named);
  const object = await getJson(path, { signal });
  const condition = {
    ...{ type, status: "True", reason: "DecidedInConsole" },
    message: `${type} from the console`,
  };
  object.status = {
    ...object.status,
    conditions: [...(object.status?.conditions ?? []), condition],
  };
  await getJson(`${path}/approval`, { method: "PUT", body: JSON.stringify(object), signal });
}
