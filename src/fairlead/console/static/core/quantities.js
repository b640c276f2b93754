/** Quantities of resources, and what pods ask for. */

/** @type {Record<string, number>} */
const FACTORS = {
  ...{ n: 1e-9, u: 1e-6, m: 1e-3, "": 1, k: 1e3, M: 1e6, G: 1e9, T: 1e12, P: 1e15, E: 1e18 },
  ...{ Ki: 2 ** 10, Mi: 2 ** 20, Gi: 2 ** 30, Ti: 2 ** 40, Pi: 2 ** 50, Ei: 2 ** 60 },
};
const BINARY = ["", "Ki", "Mi", "Gi", "Ti", "Pi"];

/**
 * A quantity as a number; not a number where it cannot be read.
 * @param {unknown} text
 */
export function numberOf(text) {
  const [, digits, unit] = /^([-+\d.eE]+?)([numkMGTPE]|[KMGTPE]i)?$/.exec(String(text)) ?? [];
  return digits === undefined ? NaN : Number(digits) * FACTORS[unit ?? ""];
}

/**
 * A number of a resource for people: bytes in binary units, others with few digits.
 * @param {string} resource
 * @param {number} value
 */
export function quantityText(resource, value) {
  if (!/memory|storage|hugepages/.test(resource)) return String(Number(value.toFixed(3)));
  let step = 0;
  let rest = value;
  while (rest >= 1024 && step < BINARY.length - 1) {
    rest /= 1024;
    step++;
  }
  return `${Number(rest.toFixed(rest < 10 ? 1 : 0))}${BINARY[step]}`;
}

/**
 * What a pod asks a node for, by resource. Containers that come first and end run one at a time,
 * those that stay run beside all others.
 * @param {any} pod
 * @returns {Map<string, number>}
 */
export function requestsOf({ spec }) {
  const inits = spec.initContainers ?? [];
  const isStaying = (/** @type {any} */ one) => one.restartPolicy === "Always";
  const total = summed([...spec.containers, ...inits.filter(isStaying)].map(requested));
  for (const one of inits.filter((/** @type {any} */ init) => !isStaying(init)))
    for (const [name, value] of requested(one))
      total.set(name, Math.max(total.get(name) ?? 0, value));
  for (const [name, text] of Object.entries(spec.resources?.requests ?? {}))
    total.set(name, numberOf(text));
  return summed([total, numbers(spec.overhead)]);
}

/** @param {any} container */
function requested({ resources = {} }) {
  return numbers({ ...resources.limits, ...resources.requests });
}

/**
 * @param {Record<string, string>} [map]
 * @returns {Map<string, number>}
 */
function numbers(map = {}) {
  return new Map(Object.entries(map).map(([name, text]) => [name, numberOf(text)]));
}

/**
 * @param {Map<string, number>[]} maps
 * @returns {Map<string, number>}
 */
export function summed(maps) {
  const total = new Map();
  for (const map of maps)
    for (const [name, value] of map) total.set(name, (total.get(name) ?? 0) + value);
  return total;
}
