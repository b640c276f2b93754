/** How the cluster is: what is wrong first, then what there is and what changed. */

import { fill, h } from "../core/dom.js";
import { Feed } from "../core/feed.js";
import { bind } from "../core/keys.js";
import { Rights } from "../core/rights.js";
import { go } from "../core/router.js";
import { keepAges } from "../parts/steady.js";
import { Board } from "./overview/board.js";
import { Notes } from "./overview/notes.js";
import { Survey } from "./overview/survey.js";
import { PastOverview } from "./overview/then.js";

/** @import {Place} from "../app.js" */

const FIRST = 60; // changes to begin with
const KEPT = 500; // changes between two frames of which each is heeded
const THEN = "#/overview?at=now"; // the past, beginning with how it is

/** @param {Place} place */
export function show(place) {
  place.title("Overview");
  return place.route.query.has("at") ? new PastOverview(place).load() : showNow(place);
}

/** @param {Place} place */
async function showNow(place) {
  const { host, catalogue, namespace, signal } = place;
  const board = new Board(place);
  fill(host, board.elements(!catalogue.about.foreign && wayBack(signal)));
  keepAges(host, signal);
  const rights = await Rights.load(catalogue, namespace, signal);
  const survey = new Survey(catalogue, namespace, rights);
  const feed = new Feed(catalogue, namespace, FIRST, KEPT);
  const notes = new Notes(catalogue, namespace, rights);
  survey.addEventListener("changed", () => board.showSurvey(survey));
  notes.addEventListener("changed", () => board.showNotes(notes));
  heed(feed, survey, board);
  board.showSurvey(survey);
  void feed.run(signal);
  void notes.run(signal);
  await survey.run(signal);
}

/** @param {AbortSignal} signal */
function wayBack(signal) {
  bind({ key: "@", says: "go to a moment of the past", run: () => go(THEN) }, signal);
  return h("a", { class: "button", href: THEN, title: "Go to a moment (@)" }, "As it was…");
}

/**
 * Show what changes, and have the survey look where it does.
 * @param {Feed} feed
 * @param {Survey} survey
 * @param {Board} board
 */
function heed(feed, survey, board) {
  let heeded = 0;
  let wasFed = false;
  feed.addEventListener("changed", () => {
    const isFed = feed.state === "live";
    const fresh = feed.count - heeded;
    heeded = feed.count;
    if (isFed && !wasFed && !feed.gaps.length) survey.catchUp(feed.since, feed.changes);
    // What happened while there was no feed was missed, and so is what it has let go.
    else if (isFed !== wasFed || fresh > KEPT) survey.touchAll();
    else if (fresh) for (const one of feed.changes.slice(-fresh)) survey.touch(one);
    wasFed = survey.isFed = isFed;
    board.showChanges(feed.changes);
  });
}
