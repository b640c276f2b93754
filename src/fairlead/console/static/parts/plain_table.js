/** A table as it is: for few rows. */

import { h } from "../core/dom.js";

/** @import {Child} from "../core/dom.js" */

/**
 * @param {string} label
 * @param {string[]} titles
 * @param {Child[][]} rows
 */
export function plainTable(label, titles, rows) {
  const made = h(
    "table",
    { class: "plain", "aria-label": label },
    h(
      "thead",
      {},
      h(
        "tr",
        {},
        titles.map((one) => h("th", { scope: "col" }, one)),
      ),
    ),
    h(
      "tbody",
      {},
      rows.map((row) =>
        h(
          "tr",
          {},
          row.map((cell) => h("td", {}, cell)),
        ),
      ),
    ),
  );
  return h("div", { class: "scrolled", role: "region", "aria-label": label, tabindex: 0 }, made);
}
