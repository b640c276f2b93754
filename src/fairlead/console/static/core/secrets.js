/** Values that are not shown until somebody asks for them. */

const APPLIED = "/last-applied-configuration"; // an annotation that repeats the whole object

/** @param {any} object */
export function isSecret(object) {
  return object.apiVersion === "v1" && object.kind === "Secret";
}

/**
 * A secret with its values hidden; any other object as it is.
 * @param {any} object
 * @returns {any}
 */
export function masked(object) {
  if (!isSecret(object)) return object;
  const { annotations } = object.metadata;
  return {
    ...object,
    ...(object.data && { data: hidden(object.data, () => true) }),
    ...(annotations && {
      metadata: {
        ...object.metadata,
        annotations: hidden(annotations, (name) => name.endsWith(APPLIED)),
      },
    }),
  };
}

/**
 * @param {Record<string, string>} values
 * @param {(name: string) => boolean} isHidden
 */
function hidden(values, isHidden) {
  const pairs = Object.entries(values);
  return Object.fromEntries(
    pairs.map(([name, value]) => [
      name,
      isHidden(name) ? `hidden (${value.length} characters)` : value,
    ]),
  );
}
