/** The cards of the overview: tables of what is wrong, lists of what there is. */

import { fill, h } from "../../core/dom.js";
import { actorOf } from "../../core/past.js";
import { kindRoute, whyRoute } from "../../core/paths.js";
import { withoutPreemption } from "../../core/states.js";
import { actor, badge } from "../../parts/change.js";
import { objectLink } from "../../parts/links.js";
import { eventRow, rows } from "../../parts/rows.js";
import { ago, redraw } from "../../parts/steady.js";

/** @import {Children} from "../../core/dom.js" */
/** @import {Catalogue, Kind} from "../../core/kinds.js" */
/** @import {Change} from "../../core/past.js" */
/** @import {Finding} from "./survey.js" */

const MAX_ROWS = 6; // rows of a table, so that the next one can be seen
const MAX_CHANGES = 12; // lines of recent changes
const ENOUGH = 100; // to draw a card by

/**
 * A card that is there when it has something to show.
 * @template T
 */
export class Card {
  count = 0;
  #body = h("div");
  #count = h("span", { class: "faint" });

  /**
   * @param {string} title
   * @param {(items: T[]) => Children} draw
   */
  constructor(title, draw) {
    this.title = title;
    this.draw = draw;
    this.element = h("section", { class: "card", "aria-label": title, hidden: true, tabindex: -1 });
    fill(this.element, h("h2", {}, title, " ", this.#count), this.#body);
  }

  /**
   * @param {T[]} items of which not all may be shown
   * @param {number} [count] told with the title
   */
  show(items, count) {
    this.count = count ?? items.length;
    this.element.hidden = !items.length;
    this.#count.textContent = count ? String(count) : "";
    redraw(this.#body, items.slice(0, ENOUGH), this.draw);
  }

  /** Bring it into view. */
  reveal() {
    this.element.scrollIntoView({ block: "start" });
    this.element.focus({ preventScroll: true });
  }
}

/** @param {Finding[]} findings the worst first; those of one owner in one state are one row */
export function findingTable(findings) {
  const groups = [...Map.groupBy(findings, likeness).values()];
  const left = groups.slice(MAX_ROWS).flat();
  const kinds = new Set(left.map((one) => one.kind));
  return [
    rows(
      groups
        .slice(0, MAX_ROWS)
        .map(([{ kind, named, state }, ...alike]) => [
          h("span", { class: state.tone }, state.tone === "bad" ? "✗ " : "! ", state.word),
          [
            objectLink(kind, named),
            alike.length > 0 && h("small", { class: "faint" }, ` and ${alike.length} more like it`),
          ],
          state.why,
          ago(state.since),
        ]),
    ),
    left.length > 0 &&
      h(
        "p",
        {},
        `and ${left.length} more: `,
        ...[...kinds].map((kind) => h("a", { href: kindRoute(kind) }, `${kind.plural} `)),
      ),
  ];
}

/** By what findings are told in one row. @param {Finding} finding */
function likeness({ kind, named, state, owner }) {
  return owner ? `${owner} ${state.word}` : `${kind.plural} ${named.namespace}/${named.name}`;
}

/**
 * @param {Catalogue} catalogue
 * @param {any[]} events
 */
export function warningTable(catalogue, events) {
  return rows(
    events.map((event) => {
      const about = event.involvedObject ?? {};
      const message = withoutPreemption(event.message);
      const kind = catalogue.of(about);
      return eventRow(
        { ...event, message },
        kind ? objectLink(kind, about) : `${about.kind} ${about.name}`,
      );
    }),
  );
}

/** @param {any[]} requests */
export function deniedTable(requests) {
  return rows(
    requests.map((one) => [
      h("span", { class: "warn" }, `! ${one.user}`),
      `${one.verb} ${deniedThing(one)}`,
      [
        h(
          "a",
          { class: "inline", href: whyRoute(one), "aria-label": `Why not? ${one.user}` },
          "Why not?",
        ),
        one.reason && ` ${one.reason}`,
        one.count > 1 && ` (${one.count} times)`,
      ],
      ago(one.time),
    ]),
  );
}

/** @param {any} request */
function deniedThing({ path, group, resource, subresource, namespace, name }) {
  if (!resource) return path ?? "";
  const what = [resource, group].filter(Boolean).join(".");
  return [
    what,
    subresource && `/${subresource}`,
    name && ` ${name}`,
    namespace && ` in ${namespace}`,
  ]
    .filter(Boolean)
    .join("");
}

/**
 * @param {string} about the server
 * @param {string[]} failing
 */
export function healthList(about, failing) {
  const isReady = !failing.length;
  return [
    h(
      "p",
      { class: isReady ? "good" : "bad" },
      isReady ? "✓ the server is ready" : "✗ the server is not ready",
    ),
    ...failing.map((one) => h("p", { class: "bad wrap" }, one)),
    h("p", { class: "faint wrap" }, about),
  ];
}

/**
 * @param {Catalogue} catalogue
 * @param {Change[]} changes newest first; those of one object by one actor are one line
 */
export function changeList(catalogue, changes) {
  const again = (/** @type {Change} */ one) =>
    [one.type, one.group, one.resource, one.namespace, one.name, actorOf(one)].join(" ");
  return h(
    "ul",
    { class: "links changes" },
    [...Map.groupBy(changes, again).values()].slice(0, MAX_CHANGES).map(([one, ...before]) => {
      const kind = catalogue.find(one.group ?? "", one.resource ?? "");
      return h(
        "li",
        { class: "wrap" },
        badge(one),
        " ",
        kind ? objectLink(kind, one) : `${one.kind} ${one.name}`,
        h(
          "small",
          { class: "faint" },
          "by ",
          actor(actorOf(one)),
          before.length > 0 && `, ${before.length + 1} times`,
          one.time && [", ", ago(one.time), " ago"],
        ),
      );
    }),
  );
}

/** @param {{kind: Kind, count: number}[]} counts */
export function countList(counts) {
  const line = (/** @type {{kind: Kind, count: number}} */ { kind, count }) =>
    h(
      "li",
      {},
      h("a", { href: kindRoute(kind), title: kind.kind }, kind.kind),
      h("span", { class: "mono" }, count),
    );
  return h("ul", { class: "links counts" }, counts.map(line));
}

/** @param {string[]} notes */
export function noteList(notes) {
  return notes.map((one) => h("p", { class: "faint wrap" }, one));
}
