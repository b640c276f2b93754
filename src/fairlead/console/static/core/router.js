/** Addresses inside the console: what is behind `#`, which the browser keeps to itself. */

/**
 * @typedef {object} Route
 * @property {string[]} parts of the path
 * @property {URLSearchParams} query
 */

/** @returns {Route} */
export function current() {
  const [path, query] = location.hash.replace(/^#\/?/, "").split("?", 2);
  return {
    parts: path.split("/").filter(Boolean).map(decoded),
    query: new URLSearchParams(query ?? ""),
  };
}

/** @param {string} route such as `#/overview` */
export function go(route) {
  location.hash = route;
}

/**
 * Keep a choice in the address, without a step in the history of the tab.
 * @param {string} name
 * @param {string} value
 */
export function keep(name, value) {
  const { query } = current();
  if (value) query.set(name, value);
  else query.delete(name);
  const text = query.toString();
  history.replaceState(null, "", location.hash.split("?")[0] + (text && `?${text}`));
}

/** @param {string} part */
function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
