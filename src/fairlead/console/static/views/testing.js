import { fill, h } from "../core/dom.js";

/** @import {Place} from "../app.js" */

/** @param {Place} place */
export function show(place) {
  place.title("testing");
  fill(place.host, h("h1", {}, "testing"));
}
