/** Who can do something, and by which binding, role and rule. */

import { isAborted, reasonOf } from "../../core/api.js";
import { fill, h } from "../../core/dom.js";
import { allows } from "../../core/rules.js";
import { problem } from "../../parts/messages.js";
import { plainTable } from "../../parts/plain_table.js";
import { chain, subjectText } from "./chain.js";
import { Asking, inWords, readPolicy } from "./question.js";

/** @import {Place} from "../../app.js" */
/** @import {Grant, Question} from "../../core/rules.js" */
/** @import {Readable} from "./question.js" */

const MOST = 500; // rows

/** @param {Place} place */
export function show(place) {
  const result = h("div", { class: "column", role: "region", "aria-label": "Who can" });
  const asking = new Asking(place, async (asked) => {
    fill(result, h("p", { class: "faint" }, "Looking at roles and bindings."));
    try {
      draw(place, result, asked, await readPolicy(place, asked.namespace));
    } catch (error) {
      if (!isAborted(error)) fill(result, problem(reasonOf(error)));
    }
  });
  fill(place.host, asking.element, result);
}

/**
 * @param {Place} place
 * @param {Element} result
 * @param {Question} asked
 * @param {Readable} readable
 */
function draw(place, result, asked, { policy, hidden }) {
  const wholeSteps = place.catalogue.about.dialect === "cluster";
  const rows = policy
    .grants()
    .filter((grant) => allows(grant.rule, asked, wholeSteps))
    .flatMap((grant) => rowsOf(place, grant));
  fill(
    result,
    h("h2", {}, `Who can ${inWords(asked)}`),
    hidden.length > 0 && problem(`Not all is known: you may not list ${hidden.join(", ")}.`),
    rows.length
      ? plainTable("Who can", ["Who", "Binding", "Role", "Rule"], rows.slice(0, MOST))
      : h("p", {}, "Nobody, as far as roles say."),
    rows.length > MOST && h("p", { class: "faint" }, `and ${rows.length - MOST} more`),
    h(
      "p",
      { class: "faint" },
      "Members of the group system:masters may do everything, without any role. Other ways of being allowed (nodes, webhooks, policy files) are not asked here.",
      !asked.namespace && !asked.path ? " Rights in single namespaces are left out: name one." : "",
    ),
  );
}

/**
 * @param {Place} place
 * @param {Grant} grant
 */
function rowsOf(place, grant) {
  return grant.subjects.map((subject) => [
    subjectText(subject, grant.binding.metadata.namespace),
    ...chain(place, grant),
  ]);
}
