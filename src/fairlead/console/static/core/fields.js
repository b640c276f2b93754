/** The fields of an object and those who own them, as its managedFields tell. */

/** @import {Path} from "./yaml_lines.js" */
/** @typedef {{[step: string]: FieldSet}} FieldSet in the form of fieldsV1, with its steps written one way */
/**
 * An entry of managedFields. `id` tells it from others, `way` is how it writes.
 * @typedef {{id: string, name: string, way: string, time: string, fields: FieldSet}} Manager
 */
/**
 * `name` is the path as messages write it, `step` its last one as in fieldsV1.
 * @typedef {{path: Path, name: string, value: any, owners: Manager[], isLeaf: boolean}} Field
 */

/**
 * @param {any} object
 * @returns {Manager[]} oldest first
 */
export function managersOf(object) {
  /** @type {any[]} */
  const entries = object?.metadata?.managedFields ?? [];
  return entries
    .map((one) => {
      const way = [one.operation, one.subresource].filter(Boolean).join(" ");
      const name = one.manager ?? "";
      return {
        id: JSON.stringify([name, way, one.apiVersion]),
        name,
        way,
        time: one.time ?? "",
        fields: canonical(one.fieldsV1 ?? {}),
      };
    })
    .sort((a, b) => (a.time < b.time ? -1 : a.time > b.time ? 1 : 0));
}

/**
 * All fields, each before those in it; managedFields itself is left out. Where the fields of two
 * versions are compared, managers of the other one help to know the items of lists.
 * @param {any} object
 * @param {Manager[]} [others]
 * @returns {Field[]}
 */
export function fieldsOf(object, others = []) {
  const managers = managersOf(object);
  const shape = [...managers, ...others].reduce((all, one) => union(all, one.fields), nothing());
  /** @type {Field[]} */
  const found = [];
  walk(
    found,
    { path: [], name: "", value: object, owners: [], isLeaf: false },
    {
      nodes: managers.map((one) => [one, one.fields]),
      shape,
      outer: [],
    },
  );
  return found;
}

/**
 * Who owns the field of a path.
 * @param {Field[]} fields
 * @returns {(path: Path) => Manager[]}
 */
export function ownersByPath(fields) {
  const known = new Map(fields.map((one) => [JSON.stringify(one.path), one.owners]));
  return (path) => known.get(JSON.stringify(path)) ?? [];
}

/** @returns {FieldSet} */
function nothing() {
  return Object.create(null);
}

/**
 * @param {Field[]} found
 * @param {Field} field
 * @param {{nodes: [Manager, FieldSet][], shape: FieldSet, outer: Manager[]}} known what is owned here
 */
function walk(found, field, { nodes, shape, outer }) {
  for (const { step, key, value } of stepsOf(field.value, shape)) {
    const name = field.name + worded(step);
    if (name === ".metadata.managedFields") continue;
    const below = nodes.flatMap(([one, node]) =>
      step in node ? [/** @type {[Manager, FieldSet]} */ ([one, node[step]])] : [],
    );
    const part = shape[step] ?? nothing();
    const own = below.filter(([, node]) => "." in node || isEmpty(node)).map(([one]) => one);
    const owners = own.length ? own : outer;
    const isLeaf = value === null || typeof value !== "object" || isEmpty(value);
    const made = { path: [...field.path, key], name, value, owners, isLeaf };
    found.push(made);
    // What is owned as a whole has no steps below; then all of it belongs to its owner.
    const isWhole = Object.keys(part).every((one) => one === ".");
    if (!isLeaf) walk(found, made, { nodes: below, shape: part, outer: isWhole ? owners : [] });
  }
}

/**
 * @param {any} value
 * @param {FieldSet} shape tells how the items of a list are known
 * @returns {{step: string, key: string | number, value: any}[]}
 */
function stepsOf(value, shape) {
  if (!Array.isArray(value)) {
    return Object.keys(value)
      .sort()
      .map((key) => ({ step: `f:${key}`, key, value: value[key] }));
  }
  const steps = Object.keys(shape);
  const keys = [
    ...new Set(
      steps
        .filter((one) => one.startsWith("k:"))
        .map((one) => JSON.stringify(Object.keys(JSON.parse(one.slice(2))))),
    ),
  ].map((one) => /** @type {string[]} */ (JSON.parse(one)));
  const byValue = steps.some((one) => one.startsWith("v:"));
  return value.map((item, index) => ({
    step: itemStep(item, keys, byValue, shape) ?? `i:${index}`,
    key: index,
    value: item,
  }));
}

/**
 * @param {any} item
 * @param {string[][]} keys
 * @param {boolean} byValue
 * @param {FieldSet} shape
 * @returns {string | undefined}
 */
function itemStep(item, keys, byValue, shape) {
  if (item === null || typeof item !== "object") {
    return byValue ? `v:${JSON.stringify(item)}` : undefined;
  }
  const possible = keys
    .filter((names) => names.every((name) => Object.hasOwn(item, name)))
    .map((names) => keyStep(names.map((name) => [name, item[name]])));
  return possible.find((one) => one in shape) ?? possible[0];
}

/** @param {[string, unknown][]} pairs */
function keyStep(pairs) {
  return `k:${JSON.stringify(Object.fromEntries(pairs.sort(([a], [b]) => (a < b ? -1 : 1))))}`;
}

/**
 * The same set with every step written the same way. What cannot be read is left out.
 * @param {any} fields
 * @returns {FieldSet}
 */
function canonical(fields) {
  const made = nothing();
  for (const [step, below] of Object.entries(fields ?? {})) {
    const known = canonicalStep(step);
    if (known) made[known] = canonical(below);
  }
  return made;
}

/** @param {string} step */
function canonicalStep(step) {
  try {
    if (step.startsWith("v:")) return `v:${JSON.stringify(JSON.parse(step.slice(2)))}`;
    return step.startsWith("k:") ? keyStep(Object.entries(JSON.parse(step.slice(2)))) : step;
  } catch {
    return "";
  }
}

/**
 * @param {FieldSet} one
 * @param {FieldSet} other
 * @returns {FieldSet}
 */
function union(one, other) {
  const made = Object.assign(nothing(), one);
  for (const [step, below] of Object.entries(other)) {
    made[step] = step in made ? union(made[step], below) : below;
  }
  return made;
}

/** @param {object} value */
function isEmpty(value) {
  return Object.keys(value).length === 0;
}

/**
 * A step as messages write it.
 * @param {string} step
 */
function worded(step) {
  const rest = step.slice(2);
  if (step[0] === "f") return `.${rest}`;
  if (step[0] === "v") return `[=${rest}]`;
  if (step[0] === "i") return `[${rest}]`;
  const pairs = Object.entries(JSON.parse(rest));
  return `[${pairs.map(([name, value]) => `${name}=${JSON.stringify(value)}`).join(",")}]`;
}
