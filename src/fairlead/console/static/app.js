/** The console: signs the user in, then shows the view that the address names inside a frame of
 * navigation and keys. */

import { isAborted, reasonOf } from "./core/api.js";
import { byId, fill, h } from "./core/dom.js";
import { Catalogue } from "./core/kinds.js";
import { bind, listen } from "./core/keys.js";
import { own } from "./core/own.js";
import { current, go } from "./core/router.js";
import {
  isLink,
  keepSession,
  session,
  signOut,
  takeLink,
  token,
  userName,
} from "./core/session.js";
import { contextChoice } from "./parts/contexts.js";
import { chosenNamespace, chooseNamespace } from "./parts/namespaces.js";
import { help } from "./parts/help.js";
import { nothing, problem, say } from "./parts/messages.js";
import { chooseKind, search } from "./parts/searching.js";
import { switchTheme, useTheme } from "./parts/theme.js";
import { takeDropped } from "./views/dropping.js";
import { showSignIn } from "./views/sign_in.js";

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

/** Views are loaded when they are shown first. @type {Record<string, () => Promise<View>>} */
const VIEWS = {
  overview: () => import("./views/overview.js"),
  map: () => import("./views/map.js"),
  kinds: () => import("./views/kinds.js"),
  objects: () => import("./views/object/page.js"),
  travel: () => import("./views/travel.js"),
  feed: () => import("./views/feed.js"),
  access: () => import("./views/access.js"),
  server: () => import("./views/server.js"),
  testing: () => import("./views/testing.js"),
  create: () => import("./views/create.js"),
  apply: () => import("./views/apply.js"),
};
const LINKS = /** @type {const} */ ([
  ["overview", "Overview", "o"],
  ["map", "Map", "v"],
  ["kinds", "Kinds", "l"],
  ["feed", "Live feed", "f"],
  ["travel", "Time travel", "t"],
  ["access", "Access", "a"],
  ["server", "Server", "h"],
  ["apply", "Apply", "y"],
  ["testing", "Testing", "p"],
]);
const OF_FAIRLEAD = ["feed", "travel", "server"]; // views of what only Fairlead servers tell

const catalogue = new Catalogue();
let showing = new AbortController();
let framed = new AbortController(); // for the keys of the views that there are

async function start() {
  useTheme();
  const refused = await takeLink().catch(reasonOf);
  session.addEventListener("changed", () => void enter(""));
  window.addEventListener("hashchange", () => void moved());
  keepSession();
  takeDropped(() => Boolean(token()));
  bindKeys();
  listen();
  await enter(refused);
}

/** Another address: that of a view, or a link to sign in that was pasted into this tab. */
async function moved() {
  if (!isLink()) return show();
  await enter(await takeLink().catch(reasonOf));
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
  const loading = catalogue.load();
  void own(VIEWS, current().parts[0] ?? "overview")?.(); // it is loaded while the server is asked
  try {
    await loading;
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
  const other = h("div", { class: "bar" }, again, contextChoice(catalogue.about));
  return h("main", { class: "sign-in" }, h("h1", {}, "Fairlead"), problem(why), other);
}

/** The views that there are. */
function links() {
  const { testing, foreign } = catalogue.about;
  const left = foreign ? OF_FAIRLEAD : [];
  return LINKS.filter(([name]) => (name !== "testing" || testing) && !left.includes(name));
}

function frame() {
  framed.abort();
  framed = new AbortController();
  for (const [name, title, key] of links()) {
    const run = whenIn(() => go(`#/${name}`));
    bind({ key, says: title.toLowerCase(), run }, framed.signal);
  }
  if (!catalogue.about.foreign) {
    const run = whenIn(() => go("#/travel?ask=yes"));
    bind({ key: "@", says: "go to a moment of the past", run }, framed.signal);
  }
  fill(
    byId("app"),
    h("a", { class: "skip", href: "#main", onclick: skip }, "Skip to content"),
    h(
      "header",
      {},
      h("a", { class: "brand", href: "#/overview" }, "Fairlead"),
      contextChoice(catalogue.about),
      h("button", { id: "namespace", title: "Choose a namespace (n)", onclick: openNamespaces }),
      h(
        "button",
        { class: "search", title: "Search (/)", onclick: () => search(catalogue) },
        "Search",
        h("kbd", {}, "/"),
      ),
      h("span", { class: "gap" }),
      h("span", { class: "faint", id: "user" }, userName()),
      h("button", { class: "keys", title: "Keys (?)", onclick: help }, "Keys"),
      h("button", { title: "Light or dark (d)", onclick: switchTheme }, "Theme"),
      h("button", { onclick: () => void signOut() }, "Sign out"),
    ),
    h(
      "nav",
      { "aria-label": "Views" },
      links().map(([name, title, key]) =>
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
    if (!isCurrent) continue;
    link.setAttribute("aria-current", "page");
    // Where it is one line of many. Scrolling lays the page out, which need not hold up the view.
    requestAnimationFrame(() => link.scrollIntoView({ block: "nearest", inline: "nearest" }));
  }
  /** @param {string} text */
  const title = (text) => void (document.title = `${text} · Fairlead`);
  const load = own(VIEWS, name);
  const isNew = !host.firstChild;
  fill(host, skeleton(LINKS.find(([link]) => link === name)?.[1] ?? "Loading"));
  if (!isNew) host.scrollTop = 0; // it lays the page out
  if (!load) {
    fill(host, nothing(`there is no view ${name}`));
    return;
  }
  const { signal } = showing;
  const place = { host, route, catalogue, namespace: chosenNamespace(), signal, title };
  load()
    .then((view) => {
      if (!signal.aborted) return view.show(place);
    })
    .catch((error) => {
      if (signal.aborted || isAborted(error)) return;
      fill(host, nothing(reasonOf(error), h("button", { onclick: show }, "Try again")));
    });
}

/**
 * What is seen until there is something to see.
 * @param {string} title
 */
function skeleton(title) {
  const lines = [40, 90, 75, 60].map((width) => h("div", { style: { width: `${width}%` } }));
  return [h("h1", { class: "faint" }, title), h("div", { class: "skeleton" }, lines)];
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
