/** What a test may do to its server: snapshots, the clock, faults, controllers, and what was asked. */

import { fill, h } from "../core/dom.js";
import { problem } from "../parts/messages.js";
import { clockPanel, controllersPanel, requestsPanel, snapshotsPanel } from "./testing/panels.js";
import { faultsPanel } from "./testing/faults.js";
import { Panel } from "./testing/panel.js";

/** @import {Place} from "../app.js" */

/** @param {Place} place */
export async function show(place) {
  place.title("Testing");
  if (!place.catalogue.about.testing) {
    return fill(place.host, problem("this server was not started with --testing"));
  }
  /** @type {Panel[]} */
  const panels = [];
  const all = () => panels.forEach((one) => void one.look());
  // The record of requests is long: it is read when that is asked for.
  const short = () => panels.slice(0, -1).forEach((one) => void one.look());
  panels.push(
    new Panel(place, "Snapshots", snapshotsPanel, short),
    new Panel(place, "Clock", clockPanel, short),
    new Panel(place, "Faults", faultsPanel, short),
    new Panel(place, "Controllers", controllersPanel, short),
    new Panel(place, "Requests", requestsPanel, all),
  );
  fill(
    place.host,
    h("div", { class: "bar" }, h("h1", {}, "Testing"), h("button", { onclick: all }, "Look again")),
    h(
      "div",
      { class: "panels" },
      panels.map((one) => one.element),
    ),
  );
  await Promise.all(panels.map((one) => one.look()));
}
