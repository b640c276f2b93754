/** What a test may do to its server: snapshots, the clock, faults, controllers, and what was asked. */

import { fill, h } from "../core/dom.js";
import { bar } from "../parts/bits.js";
import { nothing } from "../parts/messages.js";
import { faultsPanel } from "./testing/faults.js";
import { Panel } from "./testing/panel.js";
import { clockPanel, controllersPanel, requestsPanel, snapshotsPanel } from "./testing/panels.js";

/** @import {Place} from "../app.js" */

/** @param {Place} place */
export async function show(place) {
  place.title("Testing");
  if (!place.catalogue.about.testing) {
    return fill(place.host, nothing("this server was not started with --testing"));
  }
  const all = () => Promise.all(panels.map((one) => one.look()));
  // The record of requests is long: it is read when that is asked for.
  const short = () => void Promise.all(panels.slice(0, -1).map((one) => one.look()));
  const panels = [
    new Panel(place, "Snapshots", snapshotsPanel, short),
    new Panel(place, "Clock", clockPanel, short),
    new Panel(place, "Faults", faultsPanel, short),
    new Panel(place, "Controllers", controllersPanel, short),
    new Panel(place, "Requests", requestsPanel, () => void all()),
  ];
  const again = h("button", { onclick: () => void all() }, "Look again");
  const elements = panels.map((one) => one.element);
  fill(place.host, bar(h("h1", {}, "Testing"), again), h("div", { class: "panels" }, elements));
  await all();
}
