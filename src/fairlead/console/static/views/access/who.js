/** Who can do something, and by which binding, role and rule. */

import { fill, h } from "../../core/dom.js";
import { allows } from "../../core/rules.js";
import { faint, plainTable } from "../../parts/bits.js";
import { guarded, problem } from "../../parts/messages.js";
import { chain } from "./chain.js";
import { asking, inWords, readPolicy } from "./question.js";

/** @import {Place} from "../../app.js" */
/** @import {Grant, Question} from "../../core/rules.js" */

const MAX_ROWS = 500; // rows
const NOTE =
  "Members of the group system:masters may do everything, without any role. Other ways of being allowed (nodes, webhooks, policy files) are not asked here.";

/** @param {Place} place */
export function show(place) {
  const result = h("div", { class: "column", role: "region", "aria-label": "Who can" });
  /** @type {Question | null} */
  let last = null;
  const answer = (/** @type {Question} */ asked) => {
    last = asked;
    return guarded(
      result,
      draw(place, result, asked, () => last === asked),
    );
  };
  fill(place.host, asking(place, answer, true), result);
}

/**
 * @param {Place} place
 * @param {Element} result
 * @param {Question} asked
 * @param {() => boolean} isLast whether nothing else was asked since
 */
async function draw(place, result, asked, isLast) {
  fill(result, faint("Looking at roles and bindings."));
  const { policy, hidden } = await readPolicy(place, asked.namespace || null);
  if (!isLast()) return;
  const wholeSteps = place.catalogue.about.dialect === "cluster";
  const rows = policy
    .grants()
    .filter((grant) => allows(grant.rule, asked, wholeSteps))
    .sort((a, b) => ofSystem(a) - ofSystem(b)) // others are looked for more often
    .flatMap((grant) => rowsOf(place, grant));
  fill(
    result,
    h("h2", {}, `Who can ${inWords(place, asked)}`),
    hidden.length > 0 && problem(`Not all is known: you may not list ${hidden.join(", ")}.`),
    rows.length
      ? plainTable("Who can", ["Who", "Binding", "Role", "Rule"], rows.slice(0, MAX_ROWS))
      : h("p", {}, "Nobody, as far as roles say."),
    rows.length > MAX_ROWS && faint(`and ${rows.length - MAX_ROWS} more`),
    faint(NOTE),
    !asked.namespace && !asked.path && faint("Rights in single namespaces are left out: name one."),
  );
}

/** Whether a right is one that every server has. @param {Grant} grant */
function ofSystem({ binding }) {
  return Number(/^(system:|cluster-admin$)/.test(binding.metadata.name));
}

/**
 * @param {Place} place
 * @param {Grant} grant
 */
function rowsOf(place, grant) {
  const inside = grant.binding.metadata.namespace;
  return grant.subjects.map(({ kind, name, namespace = inside }) => {
    const full = kind === "ServiceAccount" ? `${namespace}/${name}` : name;
    return [`${kind} ${full}`, ...chain(place, grant)];
  });
}
