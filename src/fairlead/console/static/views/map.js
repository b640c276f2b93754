/** A namespace, or all of them, as a map: what owns, selects, uses and routes to what. */

import { h } from "../core/dom.js";
import { faint } from "../parts/bits.js";
import { MapView } from "./map/view.js";

/** @import {Place} from "../app.js" */

/** @param {Place} place */
export async function show(place) {
  place.title("Map");
  const { namespace } = place;
  const where = namespace ? `of ${namespace}` : "of all namespaces";
  await new MapView(place, { namespace, label: `Map ${where}` }).run([
    h("h1", {}, "Map"),
    faint(where),
  ]);
}
