/** Where things are: in the API and in the console. */

/** @import {Kind} from "./kinds.js" */
/** @typedef {{namespace?: string, name: string}} Named */

const CORE = "core";
const NOWHERE = "-";

/**
 * The path of all objects of a kind, or of those in a namespace.
 * @param {Kind} kind
 * @param {string} [namespace]
 */
export function collectionPath(kind, namespace) {
  const root = kind.group ? `/apis/${kind.group}/${kind.version}` : `/api/${kind.version}`;
  const inside = kind.namespaced && namespace ? `/namespaces/${segment(namespace)}` : "";
  return `${root}${inside}/${kind.plural}`;
}

/**
 * @param {Kind} kind
 * @param {Named} object
 */
export function objectPath(kind, object) {
  return `${collectionPath(kind, object.namespace)}/${segment(object.name)}`;
}

/**
 * The past of what is at a path of the API.
 * @param {string} path
 */
export function historyPath(path) {
  return `/history${path}`;
}

/**
 * The console's address of a list.
 * @param {Kind} kind
 */
export function kindRoute(kind) {
  return `#/kinds/${kind.group || CORE}/${kind.plural}`;
}

/**
 * The console's address where an object of a kind is made.
 * @param {Kind} kind
 */
export function createRoute(kind) {
  return `#/create/${kind.group || CORE}/${kind.plural}`;
}

/**
 * The console's address of an object, or of one of its pages.
 * @param {Kind} kind
 * @param {Named} object
 * @param {string} [page]
 */
export function objectRoute(kind, object, page) {
  const inside = encodeURIComponent(object.namespace || NOWHERE);
  const route = `#/objects/${kind.group || CORE}/${kind.plural}/${inside}/${encodeURIComponent(object.name)}`;
  return page ? `${route}/${page}` : route;
}

/**
 * The console's address where it is explained why somebody may not do something, with everything
 * filled in.
 * @param {{user?: string, groups?: string[], verb: string, path?: string, group?: string, resource?: string, subresource?: string, namespace?: string, name?: string}} request
 */
export function whyRoute({ user = "", groups = [], verb, path, group, resource, ...request }) {
  const { subresource: part = "", namespace = "", name = "" } = request;
  const kind = resource ? [resource, group].filter(Boolean).join(".") : (path ?? "");
  const fields = { verb, kind, part, namespace, name, user, groups: groups.join(",") };
  return `#/access/why?${new URLSearchParams({ ...fields, ask: "yes" })}`;
}

/**
 * A name in a path of the API. Browsers go up where they see `..`, however it is written; so that
 * a name which nothing can have stays one, the server gets it escaped twice.
 * @param {string} name
 */
function segment(name) {
  const escaped = encodeURIComponent(name);
  return /^\.\.?$/.test(name) ? escaped.replaceAll(".", "%252E") : escaped;
}

/** @param {string} segment of a route */
export function groupOf(segment) {
  return segment === CORE ? "" : segment;
}

/** @param {string} segment of a route */
export function namespaceOf(segment) {
  return segment === NOWHERE ? "" : segment;
}
