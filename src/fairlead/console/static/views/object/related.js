/** What is around an object, as a picture. */

import { isAborted, reasonOf } from "../../core/api.js";
import { fill, h } from "../../core/dom.js";
import { World } from "../../core/relations.js";
import { Rights } from "../../core/rights.js";
import { surroundings } from "../../core/surroundings.js";
import { problem } from "../../parts/messages.js";
import { picture } from "../../parts/picture.js";
import { redraw } from "../../parts/steady.js";

/** @import {Place} from "../../app.js" */
/** @import {Surroundings} from "../../core/surroundings.js" */
/** @import {Subject} from "../../core/subject.js" */

const PERIOD = 10_000; // milliseconds between two looks when nothing is heard
const SOONEST = 2_000; // milliseconds between two looks
const SHARE = 10; // a look that took a second is not repeated within ten
const ROUNDS = 3; // what is found leads to more

/**
 * @param {Place} place
 * @param {Subject} subject
 */
export async function show(place, subject) {
  const { host, catalogue, signal } = place;
  const drawing = h("div", { class: "pictures" });
  const notes = h("div", { class: "faint" });
  fill(host, drawing, notes, h("p", { class: "faint" }, "looking…"));
  const rights = await Rights.load(catalogue, subject.named.namespace ?? "", signal);
  let wake = () => {};
  let isStale = false;
  subject.addEventListener(
    "changed",
    () => {
      isStale = true;
      wake();
    },
    { signal },
  );
  let isFirst = true;
  void follow();

  async function follow() {
    while (!signal.aborted) {
      const began = Date.now();
      isStale = false;
      if (!document.hidden || isFirst) await look();
      const took = Date.now() - began;
      await rest(Math.max(SOONEST, SHARE * took));
      if (!isStale) {
        await new Promise((resolve) => {
          wake = () => resolve(undefined);
          setTimeout(resolve, PERIOD);
        });
      }
    }
  }

  async function look() {
    if (subject.isGone && !isFirst) return;
    try {
      const { shown, unseen } = await seen(place, subject, rights);
      if (signal.aborted) return;
      if (isFirst) fill(host, drawing, notes);
      redraw(drawing, brief(shown), () => [
        picture(shown, `${subject.kind.kind} ${subject.named.name}`),
        shown.spots.length < 2 && h("p", { class: "faint" }, "nothing else belongs to it"),
      ]);
      if (isFirst) drawing.querySelector(".middle")?.scrollIntoView({ inline: "center" });
      isFirst = false;
      redraw(notes, unseen, () => unseen.map((one) => h("p", { class: "wrap" }, one)));
    } catch (error) {
      if (!isAborted(error) && !signal.aborted) redraw(notes, reasonOf(error), problem);
    }
  }
}

/**
 * @param {Place} place
 * @param {Subject} subject
 * @param {Rights} rights
 */
async function seen({ catalogue, signal }, subject, rights) {
  const world = new World(catalogue, signal);
  const centre = await world.load(subject, rights);
  for (let round = 0; ; round++) {
    const shown = surroundings(world.things, world.edges, centre.id);
    const things = shown.spots.flatMap(({ thing }) => (thing ? [thing] : []));
    const hasMore = await world.resolve(things, centre);
    if (!hasMore || round === ROUNDS)
      return { shown, unseen: world.notes.map((note) => `not looked at: ${note}`) };
  }
}

/**
 * All that a picture shows, and nothing else of the objects.
 * @param {Surroundings} shown
 */
function brief({ spots, edges }) {
  return [
    edges,
    spots.map(({ id, column, thing, more }) => [id, column, thing?.state, more?.count]),
  ];
}

/** @param {number} milliseconds */
function rest(milliseconds) {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}
