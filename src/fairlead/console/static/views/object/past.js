import { fill, h } from "../../core/dom.js";

/** @import {Place} from "../../app.js" */
/** @import {Subject} from "../../core/subject.js" */

/**
 * @param {Place} place
 * @param {Subject} subject
 */
export function show(place, subject) {
  fill(place.host, h("pre", {}, JSON.stringify(subject.object, null, 2)));
}
