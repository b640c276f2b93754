/** What an apply would do, to look at. */

import { h } from "../../core/dom.js";
import { showDifference } from "../../parts/difference.js";

/** @import {Children} from "../../core/dom.js" */
/** @import {Path} from "../../core/yaml_lines.js" */
/** @import {Conflict, Plan} from "./planning.js" */

/**
 * @param {Plan} plan
 * @param {Children} doing the button that does it, and what goes with it
 * @param {(path: Path) => void} goTo a field of the object
 * @param {string} [what] tells it from other plans on the page
 */
export function showPlan(plan, doing, goTo, what = "") {
  const count = plan.conflicts.length;
  return h(
    "div",
    { class: "outcome" },
    count > 0 && showConflicts(plan.conflicts, goTo),
    h(
      "div",
      { class: "bar" },
      h("h2", {}, count ? "If you take these fields over" : "No conflicts. This would change"),
      doing,
    ),
    showDifference(plan.before, plan.after, `What would change${what}`),
    plan.removed.length > 0 && [
      h("h3", {}, "Removed, as nobody says them any more"),
      h(
        "ul",
        { class: "links mono" },
        plan.removed.map((one) => h("li", {}, one)),
      ),
    ],
    plan.handovers.length > 0 && [
      h("h3", {}, "Fields that change hands"),
      tableOf(
        ["Field", "Now", "Then"],
        plan.handovers.map((one) => [one.field, one.before, one.after]),
      ),
    ],
  );
}

/**
 * @param {Conflict[]} conflicts
 * @param {(path: Path) => void} goTo
 */
function showConflicts(conflicts, goTo) {
  const rows = conflicts.map((one) => [
    h("button", { class: "plain", onclick: () => goTo(one.path) }, one.field),
    one.with,
    one.now,
    one.mine,
  ]);
  return h(
    "div",
    { class: "problem", role: "alert" },
    h("strong", {}, conflicts.length === 1 ? "1 conflict" : `${conflicts.length} conflicts`),
    tableOf(["Field", "Belongs to", "Theirs", "Yours"], rows),
  );
}

/**
 * @param {string[]} titles
 * @param {(Node | string)[][]} rows
 */
function tableOf(titles, rows) {
  return h(
    "table",
    { class: "plain" },
    h(
      "thead",
      {},
      h(
        "tr",
        {},
        titles.map((one) => h("th", { scope: "col" }, one)),
      ),
    ),
    h(
      "tbody",
      {},
      rows.map((row) =>
        h(
          "tr",
          {},
          row.map((one) => h("td", {}, one)),
        ),
      ),
    ),
  );
}
