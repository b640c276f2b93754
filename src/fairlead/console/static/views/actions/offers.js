/** The actions that the user may take, as buttons. */

import { isAborted, reasonOf } from "../../core/api.js";
import { fill, h } from "../../core/dom.js";
import { isPermitted } from "../../core/permitted.js";
import { keyOf } from "../../core/states.js";
import { offer } from "../../parts/doing.js";
import { say } from "../../parts/messages.js";
import { actionsFor } from "./table.js";

/** @import {Place} from "../../app.js" */
/** @import {Kind} from "../../core/kinds.js" */
/** @import {Action, Target} from "./parts.js" */
/** @import {Subject} from "../../core/subject.js" */

/**
 * Those that are allowed, for one object or for all of a kind in a namespace.
 * @param {Place} place
 * @param {Kind} kind
 * @param {{namespace?: string, name?: string}} named
 * @returns {Promise<Action[]>}
 */
export async function allowedActions({ catalogue, signal }, kind, named) {
  const key = keyOf(catalogue, kind);
  const found = actionsFor(key, kind).filter(
    (one) => (named.name || !one.isSingle) && isServed(one, kind),
  );
  const allowed = await Promise.all(
    found.map(async (action) => {
      const needs = action.needs.flatMap(([verb, part, other]) => {
        const of = other ? catalogue.kinds.find((one) => keyOf(catalogue, one) === other) : kind;
        return of ? [{ verb, kind: of, part: part || undefined }] : [];
      });
      const isOther = action.needs.some(([, , other]) => other);
      return isPermitted(
        catalogue,
        needs,
        isOther ? { namespace: named.namespace } : named,
        signal,
      );
    }),
  );
  return found.filter((_, index) => allowed[index]);
}

/**
 * Whether the server has what an action does to objects of the kind itself.
 * @param {Action} action
 * @param {Kind} kind
 */
function isServed({ needs }, { verbs }) {
  return needs.every(([verb, part]) => part || verb === "create" || verbs.includes(verb));
}

/**
 * The buttons of one object, as it is now.
 * @param {Place} place
 * @param {Subject} subject
 */
export function objectActions(place, subject) {
  const host = h("div", { class: "bar actions", role: "group", "aria-label": "Actions" });
  const { kind, named } = subject;
  /** @type {Action[]} */
  let allowed = [];
  let shown = "";
  const draw = () => {
    const { object, isGone } = subject;
    const fitting = allowed.filter((one) => !isGone && (one.fits?.(object) ?? true));
    const titles = fitting.map((one) => titleFor(one, kind));
    // Buttons stay as long as they are the same ones.
    if (titles.join() === shown) return;
    shown = titles.join();
    fill(
      host,
      fitting.map((one) => {
        const target = { kind, named };
        const go = () => void begin(one, [{ ...target, object: subject.object }], place);
        return h("button", { onclick: go }, titleFor(one, kind));
      }),
    );
  };
  subject.addEventListener("changed", draw, { signal: place.signal });
  void allowedActions(place, kind, named)
    .then((found) => {
      allowed = found;
      draw();
    })
    .catch((error) => {
      if (!isAborted(error)) throw error;
    });
  return host;
}

/**
 * @param {Action} action
 * @param {Kind} kind
 */
function titleFor({ title }, kind) {
  return title === "Delete…" ? `Delete this ${kind.kind}…` : title;
}

/**
 * @param {Action} action
 * @param {Target[]} targets
 * @param {Place} place
 */
export async function begin(action, targets, place) {
  try {
    offer(await action.deed(targets, place), place.signal);
  } catch (error) {
    if (!isAborted(error)) say(reasonOf(error));
  }
}
