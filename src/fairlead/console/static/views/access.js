/** Rights: who can do something, why one may not, and all that one may. */

import { fill, h } from "../core/dom.js";
import { own } from "../core/own.js";
import { problem } from "../parts/messages.js";
import * as mine from "./access/mine.js";
import * as who from "./access/who.js";
import * as why from "./access/why.js";

/** @import {Place, View} from "../app.js" */

/** @type {Record<string, {title: string, side: View}>} */
const SIDES = {
  who: { title: "Who can", side: who },
  why: { title: "May I, and why not", side: why },
  mine: { title: "What I may do", side: mine },
};

/** @param {Place} place */
export async function show(place) {
  const chosen = place.route.parts[1] ?? "who";
  place.title("Access");
  const body = h("div", { class: "side" });
  fill(
    place.host,
    h("h1", {}, "Access"),
    h(
      "nav",
      { class: "tabs", "aria-label": "Questions" },
      Object.entries(SIDES).map(([key, { title }]) =>
        h("a", { href: `#/access/${key}`, "aria-current": key === chosen && "page" }, title),
      ),
    ),
    body,
  );
  const side = own(SIDES, chosen)?.side;
  if (!side) return fill(body, problem("there is no such page"));
  await side.show({ ...place, host: body });
}
