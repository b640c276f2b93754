/** Tables by name, where names come from others. */

/**
 * What a table has of its own under a name: `constructor` and the like are names as any other.
 * @template T
 * @param {Record<string, T>} table
 * @param {string} name
 * @returns {T | undefined}
 */
export function own(table, name) {
  return Object.hasOwn(table, name) ? table[name] : undefined;
}

/**
 * The value of an annotation or a label by its name, whatever its domain is.
 * @param {Record<string, string> | undefined} map
 * @param {RegExp} name
 */
export function valueNamed(map = {}, name) {
  const found = Object.keys(map).find((one) => name.test(one));
  return found === undefined ? undefined : own(map, found);
}
