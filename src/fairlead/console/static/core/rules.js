/** What roles allow, worked out here from roles and bindings that the user may read. */

/** @typedef {{verbs?: string[], apiGroups?: string[], resources?: string[], resourceNames?: string[], nonResourceURLs?: string[]}} Rule */
/**
 * May one do this? Of a resource, or of a path beside the API.
 * @typedef {object} Question
 * @property {string} verb
 * @property {string} group
 * @property {string} resource
 * @property {string} subresource
 * @property {string} namespace empty for all
 * @property {string} name
 * @property {string} path empty if it is about a resource
 */
/** @typedef {{kind: string, name: string, namespace?: string}} SubjectReference */
/** @typedef {{user: string, groups: string[]}} Who */
/** @typedef {{role: any, rule: Rule, binding: any, subjects: SubjectReference[], origin: string}} Grant */

const ALL = "*";
export const ACCOUNT = "system:serviceaccount:";

/**
 * @param {Rule} rule
 * @param {Question} asked
 * @param {boolean} wholeSteps whether a path's `*` stands for whole steps only, as in one dialect
 */
export function allows(rule, asked, wholeSteps = false) {
  if (!covers(rule.verbs, asked.verb)) return false;
  if (asked.path) {
    return (rule.nonResourceURLs ?? []).some((one) => isOn(one, asked.path, wholeSteps));
  }
  const { resource, subresource } = asked;
  const ways = subresource ? [`${resource}/${subresource}`, `*/${subresource}`] : [resource];
  const names = rule.resourceNames ?? [];
  return (
    covers(rule.apiGroups, asked.group) &&
    [...ways, ALL].some((way) => rule.resources?.includes(way)) &&
    (!names.length || names.includes(asked.name))
  );
}

/**
 * @param {string[] | undefined} values
 * @param {string} value
 */
function covers(values, value) {
  return !!values && (values.includes(value) || values.includes(ALL));
}

/**
 * @param {string} pattern
 * @param {string} path
 * @param {boolean} wholeSteps
 */
function isOn(pattern, path, wholeSteps) {
  if (pattern === ALL || pattern === path) return true;
  if (!pattern.endsWith(ALL) || (wholeSteps && !pattern.endsWith("/*"))) return false;
  return path.startsWith(pattern.replace(/\*+$/, ""));
}

/**
 * The one thing that keeps a rule from allowing what is asked; empty if there are more.
 * @param {Rule} rule
 * @param {Question} asked
 */
export function whatIsMissing(rule, asked) {
  if (allows(rule, asked)) return "";
  if (allows({ ...rule, verbs: [ALL] }, asked)) return `it does not have the verb ${asked.verb}`;
  if (asked.path) return "";
  if (allows({ ...rule, resourceNames: [] }, asked)) {
    return asked.name ? "it is for other names" : "it is for single names only";
  }
  if (allows({ ...rule, apiGroups: [ALL] }, asked)) {
    return `it is for other groups than "${asked.group}"`;
  }
  const part = `${asked.resource}/${asked.subresource}`;
  if (asked.subresource && rule.resources?.includes(asked.resource)) {
    if (allows({ ...rule, resources: [part] }, asked))
      return `it does not have the subresource ${asked.subresource}`;
  }
  return "";
}

/**
 * How far a rule is from allowing what is asked: how many of its parts would have to be others.
 * @param {Rule} rule
 * @param {Question} asked
 */
export function distance(rule, asked) {
  if (asked.path) {
    if (!rule.nonResourceURLs) return Infinity;
    const isThere = rule.nonResourceURLs.some((one) => isOn(one, asked.path, false));
    return Number(!covers(rule.verbs, asked.verb)) + Number(!isThere);
  }
  if (!rule.resources) return Infinity;
  const { resource, subresource, name } = asked;
  const wanted = subresource ? `${resource}/${subresource}` : resource;
  const names = rule.resourceNames ?? [];
  const isSame = rule.resources.includes(wanted) || rule.resources.includes(ALL);
  const isNear = isSame || rule.resources.some((one) => one.split("/")[0] === resource);
  return (
    Number(!covers(rule.verbs, asked.verb)) +
    Number(!covers(rule.apiGroups, asked.group)) +
    (isSame ? 0 : isNear ? 1 : 2) +
    Number(names.length > 0 && !names.includes(name))
  );
}

/** Roles and bindings; those of one namespace, or of all. */
export class Policy {
  /**
   * @param {any[]} roles
   * @param {any[]} bindings
   */
  constructor(roles, bindings) {
    this.bindings = bindings;
    this.clusterRoles = roles.filter((one) => !one.metadata.namespace);
    this.roles = new Map(
      roles.map((one) => [keyOf(one.metadata.namespace, one.metadata.name), one]),
    );
  }

  /**
   * Every rule that a binding gives somebody.
   * @param {Who} [who] only what these have; everybody's otherwise
   * @returns {Grant[]}
   */
  grants(who) {
    return this.bindings.flatMap((binding) => {
      const subjects = (binding.subjects ?? []).filter(
        (/** @type {SubjectReference} */ one) => !who || isSubject(one, binding, who),
      );
      const role = subjects.length ? this.#roleOf(binding) : undefined;
      return (role?.rules ?? []).map((/** @type {Rule} */ rule) => ({
        ...{ role, rule, binding, subjects },
        origin: this.#origin(role, rule),
      }));
    });
  }

  /**
   * Roles that would allow it, if they were bound: those of its namespace first, then the others.
   * @param {Question} asked
   * @returns {any[]}
   */
  allowing(asked) {
    return [...this.roles.values()]
      .filter(
        ({ metadata, rules = [] }) =>
          (!metadata.namespace || (!asked.path && metadata.namespace === asked.namespace)) &&
          rules.some((/** @type {Rule} */ one) => allows(one, asked)),
      )
      .sort((a, b) => breadth(a) - breadth(b));
  }

  /** @param {any} binding */
  #roleOf({ metadata, roleRef }) {
    const isCluster = roleRef.kind === "ClusterRole";
    if (!isCluster && !metadata.namespace) return undefined;
    return this.roles.get(keyOf(isCluster ? "" : metadata.namespace, roleRef.name));
  }

  /**
   * The role that an aggregated one has a rule from.
   * @param {any} role
   * @param {Rule} rule
   */
  #origin(role, rule) {
    const selectors = role.aggregationRule?.clusterRoleSelectors ?? [];
    if (!selectors.length) return "";
    const text = JSON.stringify(rule);
    const found = this.clusterRoles.find(
      ({ metadata, rules = [] }) =>
        selectors.some((/** @type {any} */ one) => selects(one, metadata.labels ?? {})) &&
        rules.some((/** @type {Rule} */ one) => JSON.stringify(one) === text),
    );
    return found?.metadata.name ?? "";
  }
}

/**
 * How much a role allows, roughly.
 * @param {any} role
 */
function breadth({ rules = [] }) {
  const size = (/** @type {string[]} */ names = []) => (names.includes(ALL) ? 50 : names.length);
  return rules.reduce(
    (/** @type {number} */ all, /** @type {Rule} */ one) =>
      all + size(one.verbs) * Math.max(1, size(one.apiGroups)) * Math.max(1, size(one.resources)),
    0,
  );
}

/**
 * @param {SubjectReference} subject
 * @param {any} binding
 * @param {Who} who
 */
function isSubject(subject, binding, who) {
  if (subject.kind === "Group") return who.groups.includes(subject.name);
  if (subject.kind === "User") return who.user === subject.name;
  const namespace = subject.namespace ?? binding.metadata.namespace ?? "";
  return who.user === `${ACCOUNT}${namespace}:${subject.name}`;
}

/**
 * Whether a label selector, of the plain form that aggregation uses, fits.
 * @param {any} selector
 * @param {Record<string, string>} labels
 */
function selects(selector, labels) {
  if (selector.matchExpressions?.length) return false;
  return Object.entries(selector.matchLabels ?? {}).every(
    ([name, value]) => labels[name] === value,
  );
}

/**
 * @param {string | undefined} namespace
 * @param {string} name
 */
function keyOf(namespace, name) {
  return `${namespace ?? ""}/${name}`;
}

/**
 * The narrowest rule that allows it.
 * @param {Question} asked
 * @returns {Rule}
 */
export function ruleFor(asked) {
  const { verb, group, resource, subresource, name, path } = asked;
  if (path) return { nonResourceURLs: [path], verbs: [verb] };
  return {
    apiGroups: [group],
    resources: [subresource ? `${resource}/${subresource}` : resource],
    ...(name && { resourceNames: [name] }),
    verbs: [verb],
  };
}

/**
 * A role with just the rule that is missing, and the binding that gives it.
 * @param {Question} asked
 * @param {Who} who a user, or groups if there is none
 * @param {string} group of the API of roles
 * @returns {any[]}
 */
export function missing(asked, who, group) {
  const inside = asked.path ? "" : asked.namespace;
  const kind = inside ? "Role" : "ClusterRole";
  const account = who.user.startsWith(ACCOUNT) ? who.user.slice(ACCOUNT.length).split(":") : null;
  const short = account ? account[1] : who.user || who.groups[0] || "allowed";
  const what = asked.path || [asked.resource, asked.subresource].filter(Boolean).join("-");
  const name = named(`${short}-${asked.verb}-${what}`);
  const metadata = inside ? { name, namespace: inside } : { name };
  const apiVersion = `${group}/v1`;
  const subjects = account
    ? [{ kind: "ServiceAccount", name: account[1], namespace: account[0] }]
    : who.user
      ? [{ kind: "User", name: who.user, apiGroup: group }]
      : who.groups.map((one) => ({ kind: "Group", name: one, apiGroup: group }));
  return [
    { apiVersion, kind, metadata, rules: [ruleFor(asked)] },
    {
      apiVersion,
      kind: `${kind}Binding`,
      metadata,
      subjects,
      roleRef: { kind, name, apiGroup: group },
    },
  ];
}

/** @param {string} text */
function named(text) {
  const name = text.toLowerCase().replace(/[^a-z0-9.-]+/g, "-");
  return name.slice(0, 250).replace(/^[-.]+|[-.]+$/g, "") || "allowed";
}
