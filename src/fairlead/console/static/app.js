/** The console: signs the user in, then shows the view that the address names inside a frame of
 * navigation and keys. */

import { isAborted, reasonOf } from "./core/api.js";
import { byId, fill, h } from "./core/dom.js";
import { Catalogue } from "./core/kinds.js";
import { bind, listen } from "./core/keys.js";
import { own } from "./core/own.js";
import { current, go } from "./core/router.js";
import { keepSession, session, signOut, takeLink, token, userName } from "./core/session.js";
import { chosenNamespace, chooseNamespace } from "./parts/namespaces.js";
import { help } from "./parts/help.js";
import { problem, say } from "./parts/messages.js";
import { chooseKind, search } from "./parts/searching.js";
import { switchTheme, useTheme } from "./parts/theme.js";
import * as access from "./views/access.js";
import * as create from "./views/create.js";
import * as feed from "./views/feed.js";
import * as kinds from "./views/kinds.js";
import * as object from "./views/object/page.js";
import * as overview from "./views/overview.js";
import { showSignIn } from "./views/sign_in.js";
import * as testing from "./views/testing.js";
import * as travel from "./views/travel.js";

/** @import {Route} from "./core/router.js" */
/**
 * What a view gets. It shows itself in `host` and ends all it does when `signal` is aborted.
 * @typedef {object} Place
 * @property {HTMLElement} host
 * @property {Route} route
 * @property {Catalogue} catalogue
 * @property {string} namespace the chosen one, empty for all of them
 * @property {AbortSignal} signal
 * @property {(text: string) => void} title of the page
 */
/** @typedef {{show: (place: Place) => void | Promise<void>}} View */

/** @type {Record<string, View>} */
const VIEWS = { overview, kinds, objects: object, travel, feed, access, testing, create };
const LINKS = /** @type {const} */ ([
  ["overview", "Overview", "o"],
  ["kinds", "Kinds", "l"],
  ["feed", "Live feed", "f"],
  ["travel", "Time travel", "t"],
  ["access", "Access", "a"],
  ["testing", "Testing", "p"],
]);

const catalogue = new Catalogue();
let showing = new AbortController();

async function start() {
  useTheme();
  const refused = await takeLink().catch(reasonOf);
  session.addEventListener("changed", () => void enter(""));
  window.addEventListener("hashchange", show);
  keepSession();
  bindKeys();
  listen();
  await enter(refused);
}

/**
 * Show the sign-in page, or the console to whoever is signed in.
 * @param {string} why nobody is, if that needs a word
 */
async function enter(why) {
  showing.abort();
  if (!token()) {
    showSignIn(byId("app"), why);
    return;
  }
  try {
    await catalogue.load();
  } catch (error) {
    if (token()) fill(byId("app"), stuck(reasonOf(error)));
    else showSignIn(byId("app"), reasonOf(error));
    return;
  }
  frame();
  show();
  if (why) say(why);
}

/** @param {string} why nothing can be shown */
function stuck(why) {
  const again = h("button", { onclick: () => void enter("") }, "Try again");
  return h("main", { class: "sign-in" }, h("h1", {}, "Fairlead"), problem(why), again);
}

function frame() {
  const links = LINKS.filter(([name]) => name !== "testing" || catalogue.about.testing);
  fill(
    byId("app"),
    h("a", { class: "skip", href: "#main", onclick: skip }, "Skip to content"),
    h(
      "header",
      {},
      h("a", { class: "brand", href: "#/overview" }, "Fairlead"),
      h("button", { id: "namespace", title: "Choose a namespace (n)", onclick: openNamespaces }),
      h(
        "button",
        { class: "search", title: "Search (/)", onclick: () => search(catalogue) },
        "Search",
        h("kbd", {}, "/"),
      ),
      h("span", { class: "gap" }),
      h("span", { class: "faint", id: "user" }, userName()),
      h("button", { title: "Keys (?)", onclick: help }, "Keys"),
      h("button", { title: "Light or dark (d)", onclick: switchTheme }, "Theme"),
      h("button", { onclick: () => void signOut() }, "Sign out"),
    ),
    h(
      "nav",
      { "aria-label": "Views" },
      links.map(([name, title, key]) =>
        h("a", { href: `#/${name}`, "data-view": name }, title, h("kbd", {}, key)),
      ),
    ),
    h("main", { id: "main", tabindex: -1 }),
  );
  tellNamespace();
}

/** @param {Event} event */
function skip(event) {
  event.preventDefault();
  byId("main").focus();
}

function show() {
  if (!token() || !document.getElementById("main")) return;
  showing.abort();
  showing = new AbortController();
  const route = current();
  const name = route.parts[0] ?? "overview";
  const host = byId("main");
  for (const link of document.querySelectorAll("nav a[data-view]")) {
    const isCurrent = link.getAttribute("data-view") === name;
    link.toggleAttribute("aria-current", isCurrent);
    if (isCurrent) link.setAttribute("aria-current", "page");
  }
  /** @param {string} text */
  const title = (text) => void (document.title = `${text} · Fairlead`);
  const view = own(VIEWS, name);
  fill(host);
  host.scrollTop = 0;
  if (!view) {
    fill(host, problem(`there is no view ${name}`));
    return;
  }
  const { signal } = showing;
  const place = { host, route, catalogue, namespace: chosenNamespace(), signal, title };
  Promise.resolve()
    .then(() => view.show(place))
    .catch((error) => {
      if (!signal.aborted && !isAborted(error)) fill(host, problem(reasonOf(error)));
    });
}

function openNamespaces() {
  chooseNamespace(() => {
    tellNamespace();
    show();
  });
}

function tellNamespace() {
  fill(byId("namespace"), h("span", { class: "faint" }, "Namespace "), chosenNamespace() || "all");
}

function bindKeys() {
  bind({ key: "/", says: "search kinds and objects", run: whenIn(() => search(catalogue)) });
  bind({ key: "g", says: "go to a kind", run: whenIn(() => chooseKind(catalogue)) });
  bind({ key: "n", says: "choose the namespace", run: whenIn(openNamespaces) });
  for (const [name, title, key] of LINKS) {
    bind({ key, says: title.toLowerCase(), run: whenIn(() => go(`#/${name}`)) });
  }
  bind({ key: "r", says: "look again at what is served", run: whenIn(() => void again()) });
  bind({ key: "d", says: "light or dark", run: switchTheme });
  bind({ key: "?", says: "these keys", run: help });
}

/** @param {() => void} run */
function whenIn(run) {
  return () => {
    if (token()) run();
  };
}

async function again() {
  try {
    await catalogue.load();
  } catch (error) {
    return say(reasonOf(error));
  }
  if (!document.getElementById("main")) frame();
  say("Looked again at what is served.");
  show();
}

void start();
