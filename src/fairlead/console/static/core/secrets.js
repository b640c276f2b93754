/** Values that are not shown until somebody asks for them. */

const APPLIED = "/last-applied-configuration"; // an annotation that repeats the whole object

/** @param {any} object */
export function isSecret(object) {
  return object.apiVersion === "v1" && object.kind === "Secret";
}

/**
 * A secret with its values hidden; any other object as it is. With another version of it one sees
 * which values differ.
 * @param {any} object
 * @param {any} [other]
 * @param {string} [word] for those that differ
 * @returns {any}
 */
export function masked(object, other, word = "") {
  if (!isSecret(object)) return object;
  const { annotations } = object.metadata;
  const values = hidden(object.data, other && (other.data ?? {}), word);
  const others = other && (other.metadata.annotations ?? {});
  const notes = hidden(annotations, others, word, (name) => name.endsWith(APPLIED));
  return {
    ...object,
    ...(object.data && { data: values }),
    ...(annotations && { metadata: { ...object.metadata, annotations: notes } }),
  };
}

/**
 * @param {Record<string, string>} [values]
 * @param {Record<string, string>} [others] the same ones where nothing else is said
 * @param {string} [word]
 * @param {(name: string) => boolean} [isHidden]
 */
function hidden(values = {}, others = values, word = "", isHidden = () => true) {
  const pairs = Object.entries(values);
  return Object.fromEntries(
    pairs.map(([name, value]) => {
      if (!isHidden(name)) return [name, value];
      const difference = others[name] === value ? "" : `, ${word}`;
      return [name, `hidden (${value.length} characters${difference})`];
    }),
  );
}
