/** The command line that does the same as the console. */

/** @import {Catalogue, Kind} from "./kinds.js" */
/** @import {Named} from "./paths.js" */

/**
 * A command of the program that goes with the dialect, for the server that is shown.
 * @param {Catalogue} catalogue
 * @param {...string} words
 */
export function command(catalogue, ...words) {
  const { dialect, context } = catalogue.about;
  const program = dialect === "cluster" ? "fairlead" : "kubectl";
  const place = context ? ["--context", context] : [];
  return [program, ...place, ...words].map(quoted).join(" ");
}

/**
 * How a command names the kind of an object, and the object.
 * @param {Kind} kind
 * @param {string} name
 */
export function reference({ plural, group, kind }, name) {
  const builtin = !group || group.split(".").length < 2;
  return `${builtin ? kind.toLowerCase() : `${plural}.${group}`}/${name}`;
}

/**
 * The flag for the namespace of an object.
 * @param {Named} named
 */
export function inside({ namespace }) {
  return namespace ? ["--namespace", namespace] : [];
}

/** @param {string} word for a shell */
export function quoted(word) {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
