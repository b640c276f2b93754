/** Running a cron job now. */

import { getJson } from "../../core/api.js";
import { collectionPath } from "../../core/paths.js";
import { MANAGER } from "../object/sending.js";
import { commands, titleOf } from "./parts.js";

/** @import {Action} from "./parts.js" */

const LETTERS = "bcdfghjklmnpqrstvwxz2456789";
const LONGEST = 52; // letters of the name of a job, so that its pods can have names

/** @type {Action} */
export const runNow = {
  title: "Run now…",
  keys: ["cronjobs.batch"],
  needs: [["create", "", "jobs.batch"]],
  isSingle: true,
  deed: ([target], place) => {
    const { metadata, spec } = target.object;
    const name = `${metadata.name.slice(0, LONGEST - 13)}-manual-${word(5)}`;
    return {
      title: `Run ${titleOf(target)} now?`,
      says: `A job ${name} is made from its template, whatever its schedule says.`,
      command: () =>
        commands(place, [target], () => ["create", "job", name, `--from=cronjob/${metadata.name}`]),
      yes: "Run now",
      run: async (signal) => {
        const { catalogue } = place;
        const jobs = catalogue.find(target.kind.group, "jobs");
        if (!jobs) throw new Error("the server has no jobs");
        const apiVersion = `${target.kind.group}/${target.kind.version}`;
        const label = `cronjob.${catalogue.about.labelDomain}/instantiate`;
        const template = spec.jobTemplate;
        const owner = {
          apiVersion,
          kind: target.kind.kind,
          name: metadata.name,
          uid: metadata.uid,
        };
        const job = {
          apiVersion,
          kind: jobs.kind,
          metadata: {
            name,
            labels: template.metadata?.labels,
            annotations: { ...template.metadata?.annotations, [label]: "manual" },
            ownerReferences: [{ ...owner, controller: true }],
          },
          spec: template.spec,
        };
        const path = collectionPath(jobs, target.named.namespace);
        const query = { fieldManager: MANAGER };
        await getJson(path, { method: "POST", body: JSON.stringify(job), query, signal });
        return `Job ${name} runs.`;
      },
    };
  },
};

/** @param {number} length */
function word(length) {
  const random = crypto.getRandomValues(new Uint8Array(length));
  return [...random].map((one) => LETTERS[one % LETTERS.length]).join("");
}
