/** Objects as the nodes of a map: many of one owner are one strip until it is opened. */

/** @import {Edge, Thing} from "./relations.js" */
/** @import {State, Tone} from "./states.js" */
/**
 * @typedef {object} Node
 * @property {string} id
 * @property {string} title the name of the kind
 * @property {string} name
 * @property {State} state of the worst, where it stands for many
 * @property {Thing} thing
 * @property {Thing[]} members those that it stands for, worst first; none for an object
 * @property {boolean} isOpen whether its members are nodes, too
 * @property {string} text all that is searched, in lower case
 */
/** @typedef {{from: string, to: string, labels: string[]}} Line */
/** @typedef {{nodes: Map<string, Node>, lines: Line[]}} Plan */

const FEW = 4; // of one owner that are drawn each
const OPENED = 60; // of an opened strip that are drawn each
/** @type {Record<Tone, number>} */
const RANKS = { bad: 0, warn: 1, "": 2, good: 3 };

const inOrder = new Intl.Collator(undefined, { numeric: true }).compare;

/**
 * @param {Map<string, Thing>} things
 * @param {Edge[]} edges
 * @param {Set<string>} shown ids
 * @param {Set<string>} opened ids of strips
 * @returns {Plan}
 */
export function planOf(things, edges, shown, opened) {
  const drawn = edges.filter(({ from, to }) => shown.has(from) && shown.has(to));
  /** By object, the strip that stands for it. @type {Map<string, string>} */
  const folded = new Map();
  /** @type {Map<string, Node>} */
  const nodes = new Map();
  /** To strips that are open. @type {Edge[]} */
  const extra = [];
  for (const [id, { owner, members }] of strips(things, drawn)) {
    const isOpen = opened.has(id);
    const apart = isOpen ? members.slice(0, OPENED) : [];
    for (const one of members.slice(apart.length)) folded.set(one.id, id);
    nodes.set(id, stripNode(id, members, isOpen));
    if (isOpen) extra.push({ from: owner, to: id, label: "owns" });
  }
  for (const id of shown) {
    const thing = things.get(id);
    if (thing && !folded.has(id)) nodes.set(id, node(thing));
  }
  return { nodes, lines: linesOf([...extra, ...drawn], folded) };
}

/**
 * @param {Thing} a
 * @param {Thing} b
 */
export function worstFirst(a, b) {
  return (
    RANKS[a.state.tone] - RANKS[b.state.tone] ||
    inOrder(a.title, b.title) ||
    inOrder(a.name, b.name)
  );
}

/**
 * @param {Map<string, Thing>} things
 * @param {Edge[]} edges
 * @returns {Map<string, {owner: string, members: Thing[]}>}
 */
function strips(things, edges) {
  const owning = edges.filter((edge) => edge.label === "owns");
  const fans = Map.groupBy(owning, ({ from, to }) => `strip ${from} ${things.get(to)?.title}`);
  const found = [...fans].flatMap(([id, fan]) => {
    const members = fan.flatMap(({ to }) => things.get(to) ?? []).sort(worstFirst);
    return members.length > FEW
      ? [/** @type {const} */ ([id, { owner: fan[0].from, members }])]
      : [];
  });
  return new Map(found);
}

/**
 * @param {Thing} thing
 * @returns {Node}
 */
function node(thing) {
  const { id, title, name, state, namespace } = thing;
  const text = [title, name, state.word, namespace].join(" ").toLowerCase();
  return { id, title, name, state, thing, members: [], isOpen: false, text };
}

/**
 * @param {string} id
 * @param {Thing[]} members
 * @param {boolean} isOpen
 * @returns {Node}
 */
function stripNode(id, members, isOpen) {
  const [worst] = members;
  const { title, state } = worst;
  const alike = members.filter((one) => one.state.word === state.word).length;
  const word = state.word && `${state.word} ×${alike}`;
  const name = `${members.length} ${worst.kind?.plural ?? title}`;
  const own = isOpen ? [] : members.map((one) => `${one.name} ${one.state.word}`);
  const text = [title, name, ...own].join(" ").toLowerCase();
  return { id, title, name, state: { ...state, word }, thing: worst, members, isOpen, text };
}

/**
 * One line for all that joins two nodes.
 * @param {Edge[]} edges
 * @param {Map<string, string>} folded
 * @returns {Line[]}
 */
function linesOf(edges, folded) {
  /** @type {Map<string, Line>} */
  const lines = new Map();
  for (const { from: first, to: second, label } of edges) {
    const [from, to] = [folded.get(first) ?? first, folded.get(second) ?? second];
    if (from === to) continue;
    const id = `${from}\n${to}`;
    const known = lines.get(id);
    if (!known) lines.set(id, { from, to, labels: [label] });
    else if (!known.labels.includes(label)) known.labels.push(label);
  }
  return [...lines.values()];
}
