/** Everything that is served, and the list of one kind. */

import { fill, h } from "../core/dom.js";
import { groupOf, kindRoute } from "../core/paths.js";
import { problem } from "../parts/messages.js";
import { showTable } from "./table.js";

/** @import {Place} from "../app.js" */

/** @param {Place} place */
export async function show(place) {
  const [, group, plural] = place.route.parts;
  if (!plural) return showKinds(place);
  const kind = await place.catalogue.seek(groupOf(group), plural, place.signal);
  if (!kind) return fill(place.host, problem(`the server has no ${plural} in ${group}`));
  showTable(place, kind);
}

/** @param {Place} place */
function showKinds(place) {
  place.title("Kinds");
  const groups = Map.groupBy(place.catalogue.listed, (kind) => kind.group);
  fill(
    place.host,
    h("h1", {}, "Kinds"),
    h(
      "div",
      { class: "cards" },
      [...groups].map(([group, kinds]) =>
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
