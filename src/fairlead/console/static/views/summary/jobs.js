/** Jobs and cron jobs: their runs on an axis of time. */

import { h, svg } from "../../core/dom.js";
import { objectRoute } from "../../core/paths.js";
import { conditionReasons, worstPods } from "../../core/reasons.js";
import { stateOf } from "../../core/states.js";
import { age, clock, presentTime } from "../../core/time.js";
import { ago } from "../../parts/steady.js";
import { factTable, meter, podSection } from "./parts.js";

/** @import {At, Section} from "./parts.js" */
/** @import {Reason} from "../../core/reasons.js" */
/** @typedef {{name: string, namespace: string, key: string, from: string, to: string, word: string, tone: string}} Run */

const WIDTH = 600; // of the axis, in its own units
const HEIGHT = 14;
const LEAST = 3; // of a run that was short
const SHOWN = 20;

/** @param {At} at @returns {Reason[]} */
export function reasons(at) {
  const { subject, key } = at;
  if (key === "cronjobs.batch") {
    const [last] = runsOf(at);
    if (last?.tone !== "bad") return [];
    const about = { key: "jobs.batch", name: last.name, namespace: last.namespace };
    return [{ tone: "bad", text: `the last run: ${last.word}`, about }];
  }
  if (stateOf(key, subject.object).word === "Complete") return [];
  return [...conditionReasons(subject.object), ...worstPods(podsOf(at)).filter(isTelling)];
}

/** @param {Reason} reason */
function isTelling({ tone }) {
  return tone === "bad" || tone === "warn";
}

/** @param {At} at @returns {Section[]} */
export function sections(at) {
  const { subject, key } = at;
  const isJob = key === "jobs.batch";
  return [
    {
      title: isJob ? "Job" : "Schedule",
      look: () => (isJob ? job(subject.object) : schedule(subject.object)),
      draw: ({ facts, done, whole }) => [
        whole && meter("completions", done, whole, `${done} of ${whole} completions`),
        factTable(facts),
      ],
    },
    {
      title: "Runs",
      look: () => runsOf(at),
      draw: (runs) => axis(at, runs.slice(0, SHOWN)),
    },
    podSection(at, () => (isJob ? podsOf(at) : null)),
  ];
}

/** @param {At} at */
function podsOf({ subject, near }) {
  return near.owned("pods.", subject.object);
}

/** @param {any} object */
function job({ spec, status = {} }) {
  const whole = spec.completions ?? spec.parallelism ?? 1;
  return {
    done: status.succeeded ?? 0,
    whole,
    facts: [
      ["Done", `${status.succeeded ?? 0} of ${whole}, ${status.active ?? 0} active`],
      ["Failed", status.failed && `${status.failed}, at most ${spec.backoffLimit ?? 6} retries`],
      ["At once", spec.parallelism],
      ["Suspended", spec.suspend && "yes: no pods are started until it is resumed"],
      ["Took", status.completionTime && age(status.startTime, Date.parse(status.completionTime))],
      ["At most", spec.activeDeadlineSeconds && `${spec.activeDeadlineSeconds}s`],
      ["Images", imagesOf(spec.template)],
    ],
  };
}

/** @param {any} object */
function schedule({ spec, status = {} }) {
  return {
    facts: [
      ["Schedule", [spec.schedule, spec.timeZone].filter(Boolean).join(" ")],
      ["Suspended", spec.suspend && "yes: no jobs are started until it is resumed"],
      ["Started last", status.lastScheduleTime && clock(status.lastScheduleTime)],
      ["Succeeded last", status.lastSuccessfulTime && clock(status.lastSuccessfulTime)],
      ["While one runs", spec.concurrencyPolicy],
      ["Images", imagesOf(spec.jobTemplate.spec.template)],
    ],
  };
}

/** @param {any} template */
function imagesOf({ spec }) {
  return spec.containers.map((/** @type {any} */ one) => `${one.name}: ${one.image}`).join("\n");
}

/**
 * The newest first: jobs of a cron job, pods of a job.
 * @param {At} at
 * @returns {Run[]}
 */
function runsOf(at) {
  const { subject, key, near } = at;
  const part = key === "jobs.batch" ? "pods." : "jobs.batch";
  return near
    .owned(part, subject.object)
    .map((one) => {
      const { name, namespace, creationTimestamp } = one.metadata;
      const { word, tone } = stateOf(part, one);
      const [from, to] = part === "pods." ? podTimes(one) : [one.status?.startTime, endOf(one)];
      return {
        name,
        namespace,
        key: part,
        from: from ?? creationTimestamp,
        to: to ?? "",
        word,
        tone,
      };
    })
    .sort((a, b) => Date.parse(b.from) - Date.parse(a.from));
}

/** @param {any} job */
function endOf({ status = {} }) {
  const ended = (status.conditions ?? []).find((/** @type {any} */ one) =>
    ["Complete", "Failed"].includes(one.type),
  );
  return status.completionTime ?? ended?.lastTransitionTime;
}

/** @param {any} pod @returns {[string | undefined, string | undefined]} */
function podTimes({ status = {} }) {
  const ends = (status.containerStatuses ?? []).map(
    (/** @type {any} */ one) => one.state?.terminated?.finishedAt ?? "",
  );
  const isOver = ends.length > 0 && ends.every(Boolean);
  return [status.startTime, isOver ? ends.sort().at(-1) : undefined];
}

/**
 * @param {At} at
 * @param {Run[]} runs
 */
function axis({ near }, runs) {
  if (!runs.length) return h("p", { class: "faint" }, "There were no runs yet.");
  const now = presentTime();
  const start = Math.min(...runs.map((one) => Date.parse(one.from)));
  const across = (/** @type {number} */ moment) =>
    ((moment - start) / Math.max(1000, now - start)) * (WIDTH - LEAST);
  return h(
    "table",
    { class: "plain runs", "aria-label": "Runs" },
    h(
      "tbody",
      {},
      runs.map((one) => {
        const kind = near.kind(one.key);
        const end = one.to ? Date.parse(one.to) : now;
        const x = across(Date.parse(one.from));
        const took = age(one.from, end);
        const width = Math.max(LEAST, across(end) - x);
        return h(
          "tr",
          { class: `on-${one.tone || "none"}` },
          h("td", {}, kind && h("a", { href: objectRoute(kind, one) }, one.name)),
          h("td", { class: one.tone }, one.word),
          h(
            "td",
            {},
            svg(
              "svg",
              {
                viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
                preserveAspectRatio: "none",
                "aria-hidden": "true",
              },
              svg("rect", { x, y: 3, width, height: HEIGHT - 6 }),
            ),
          ),
          h("td", {}, one.to ? `took ${took}` : `for ${took}`),
          h("td", {}, ago(one.from), " ago"),
        );
      }),
    ),
  );
}
