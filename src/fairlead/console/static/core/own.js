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
