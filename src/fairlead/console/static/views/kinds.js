/** Everything that is served, and the list of one kind. */

import { fill, h } from "../core/dom.js";
import { groupOf, kindRoute } from "../core/paths.js";
import { nothing } from "../parts/messages.js";
import { showTable } from "./table.js";

/** @import {Place} from "../app.js" */

// By the first part of the name of the group, which is the same in both dialects.
const FIRST = ["", "apps", "batch", "networking", "autoscaling", "policy"];

/** @param {Place} place */
export async function show(place) {
  const [, group, plural] = place.route.parts;
  if (!plural) return showKinds(place);
  const kind = await place.catalogue.seek(groupOf(group), plural, place.signal);
  if (!kind) return fill(place.host, nothing(`the server has no ${plural} in ${group}`));
  showTable(place, kind);
}

/**
 * Those first that are looked at most, others as the server lists them.
 * @param {string} group
 */
function rankOf(group) {
  return FIRST.indexOf(group.split(".")[0]) >>> 0;
}

/** @param {Place} place */
function showKinds(place) {
  place.title("Kinds");
  const groups = [...Map.groupBy(place.catalogue.listed, (kind) => kind.group)].sort(
    ([a], [b]) => rankOf(a) - rankOf(b),
  );
  fill(
    place.host,
    h("h1", {}, "Kinds"),
    h(
      "div",
      { class: "cards columns" },
      groups.map(([group, kinds]) =>
        h(
          "section",
          { class: "card" },
          h("h2", {}, group || "core"),
          h(
            "ul",
            { class: "links" },
            kinds.map((kind) =>
              h(
                "li",
                {},
                h("a", { href: kindRoute(kind) }, kind.kind),
                " ",
                h("small", { class: "faint" }, kind.shortNames.join(" ")),
              ),
            ),
          ),
        ),
      ),
    ),
  );
}
