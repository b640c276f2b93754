/** Label selectors as objects write them. */

/** @typedef {Record<string, string>} Labels */
/** @typedef {{key: string, operator: string, values?: string[]}} Requirement */
/** @typedef {{matchLabels?: Labels, matchExpressions?: Requirement[]}} Selector */

/**
 * Whether labels are selected; a selector that asks for nothing selects all.
 * @param {Selector | undefined} selector
 * @param {Labels} [labels]
 */
export function selects(selector, labels = {}) {
  if (!selector) return false;
  return (
    hasAll(selector.matchLabels ?? {}, labels) &&
    (selector.matchExpressions ?? []).every((one) => meets(one, labels))
  );
}

/**
 * @param {Labels} wanted
 * @param {Labels} labels
 */
function hasAll(wanted, labels) {
  return Object.entries(wanted).every(([name, value]) => labels[name] === value);
}

/**
 * @param {Requirement} requirement
 * @param {Labels} labels
 */
function meets({ key, operator, values = [] }, labels) {
  const isThere = Object.hasOwn(labels, key);
  if (operator === "Exists") return isThere;
  if (operator === "DoesNotExist") return !isThere;
  const isAmong = isThere && values.includes(labels[key]);
  return operator === "In" ? isAmong : !isAmong;
}
