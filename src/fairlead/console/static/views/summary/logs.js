/** The log of a pod: one container or all of them, followed, from a moment on, searched. */

import { isAborted, reasonOf, send } from "../../core/api.js";
import { fill, h } from "../../core/dom.js";
import { bar, counted } from "../../parts/bits.js";
import { problem } from "../../parts/messages.js";
import { containersOf } from "../../core/states.js";

/** @import {Near} from "../../core/near.js" */
/** @import {Subject} from "../../core/subject.js" */
/** @typedef {{container: string, text: string}} LogLine */

const ALL = "";
const TAIL = 200; // lines of each container to begin with
const MAX_LINES = 5_000; // lines that are kept
const SHOWN = 1_000; // lines that are drawn
const MAX_BYTES = 1_000_000; // of a container that is not followed
const AGAIN = 1_000; // milliseconds before a log that ended is asked for again
const SINCE = /** @type {const} */ ([
  ["", `the last ${TAIL} lines`],
  ["60", "the last minute"],
  ["600", "the last 10 minutes"],
  ["3600", "the last hour"],
  ["all", "the beginning"],
]);

/** Reads as soon as a container has begun, and again whenever a choice changes. */
export class LogPanel {
  /** @type {LogLine[]} */
  #lines = [];
  #reading = new AbortController();
  #begun = "";
  #isDrawing = false;

  /**
   * @param {Subject} subject a pod
   * @param {Near} near
   * @param {AbortSignal} signal
   */
  constructor(subject, near, signal) {
    this.subject = subject;
    this.isAllowed = near.rights.may("get", subject.kind, "log");
    signal.addEventListener("abort", () => this.#reading.abort());
    const again = () => this.#read();
    this.container = h("select", { "aria-label": "Container", onchange: again });
    this.since = h(
      "select",
      { "aria-label": "Since", onchange: again },
      SINCE.map(([value, text]) => h("option", { value }, text)),
    );
    this.follow = h("input", { type: "checkbox", checked: true, onchange: again });
    this.previous = h("input", { type: "checkbox", onchange: again });
    this.sought = h("input", {
      type: "search",
      placeholder: "Search the log",
      "aria-label": "Search the log",
      oninput: () => this.#draw(),
    });
    this.count = h("span", { class: "faint", role: "status" });
    this.failed = h("div");
    this.output = h("pre", { class: "log", tabindex: 0, role: "region", "aria-label": "Lines" });
    this.element = h(
      "div",
      { class: "column" },
      bar(
        this.container,
        this.since,
        h("label", {}, this.follow, " follow"),
        h("label", {}, this.previous, " before the restart"),
        this.sought,
        this.count,
      ),
      this.failed,
      this.output,
    );
  }

  /** What decides whether there is a log to read; null if there is none. */
  look() {
    const { spec } = this.subject.object;
    const statuses = containersOf(this.subject.object);
    const begun = statuses
      .filter(({ state = {}, lastState = {} }) => !state.waiting || lastState.terminated)
      .map((one) => one.name);
    if (!this.isAllowed || !begun.length) return null;
    const named = [...(spec.initContainers ?? []), ...spec.containers].map((one) => one.name);
    const names = named.filter((one) => begun.includes(one));
    this.previous.disabled = !statuses.some((one) => one.lastState?.terminated);
    const text = names.join(" ");
    if (text !== this.#begun) {
      this.#begun = text;
      this.#offer(names);
      this.#read();
    }
    return names;
  }

  /** @param {string[]} names */
  #offer(names) {
    const chosen = this.container.value;
    fill(
      this.container,
      names.length > 1 && h("option", { value: ALL }, "all containers"),
      names.map((value) => h("option", { value }, value)),
    );
    if (names.includes(chosen)) this.container.value = chosen;
  }

  #read() {
    this.#reading.abort();
    this.#reading = new AbortController();
    this.#lines = [];
    fill(this.failed);
    const names = this.container.value ? [this.container.value] : this.#begun.split(" ");
    for (const name of names) void this.#stream(name, this.#reading.signal);
    this.#draw();
  }

  /**
   * @param {string} container
   * @param {AbortSignal} signal
   */
  async #stream(container, signal) {
    const previous = this.previous.checked || undefined;
    const isFollowed = this.follow.checked && !previous;
    const since = this.since.value;
    /** @type {Record<string, string | number | boolean | undefined>} */
    let from = since ? { sinceSeconds: since === "all" ? undefined : since } : { tailLines: TAIL };
    while (!signal.aborted) {
      try {
        const query = {
          ...{ container, previous, ...from },
          follow: isFollowed || undefined,
          limitBytes: isFollowed ? undefined : MAX_BYTES,
        };
        const options = { query, signal, accept: "*/*" };
        await this.#take(container, await send(`${this.subject.path}/log`, options), signal);
      } catch (error) {
        if (isAborted(error) || signal.aborted) return;
        fill(this.failed, problem(reasonOf(error)));
        return;
      }
      if (!isFollowed || this.#isOver(container)) return;
      from = { sinceTime: new Date().toISOString() };
      await new Promise((resolve) => setTimeout(resolve, AGAIN));
    }
  }

  /**
   * Whether a container writes no more.
   * @param {string} container
   */
  #isOver(container) {
    const { object, isGone } = this.subject;
    const status = containersOf(object).find((one) => one.name === container);
    return isGone || Boolean(status?.state?.terminated);
  }

  /**
   * @param {string} container
   * @param {Response} response
   * @param {AbortSignal} signal
   */
  async #take(container, response, signal) {
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    while (reader) {
      const { done, value } = await reader.read();
      if (signal.aborted) return;
      const parts = (rest + (value ?? "")).split("\n");
      rest = done ? "" : (parts.pop() ?? "");
      for (const text of parts) if (text || !done) this.#lines.push({ container, text });
      if (this.#lines.length > MAX_LINES * 1.25) this.#lines = this.#lines.slice(-MAX_LINES);
      this.#soon();
      if (done) return;
    }
  }

  #soon() {
    if (this.#isDrawing) return;
    this.#isDrawing = true;
    requestAnimationFrame(() => {
      this.#isDrawing = false;
      this.#draw();
    });
  }

  #draw() {
    const { output } = this;
    const isAtEnd = output.scrollHeight - output.scrollTop - output.clientHeight < 20;
    const sought = this.sought.value.toLowerCase();
    const found = sought
      ? this.#lines.filter((one) => one.text.toLowerCase().includes(sought))
      : this.#lines;
    const isMixed = !this.container.value && this.#begun.includes(" ");
    const shown = found
      .slice(-SHOWN)
      .map(({ container, text }) => [
        isMixed && h("span", { class: "faint" }, `${container}  `),
        ...marked(text, sought),
        "\n",
      ]);
    fill(output, shown.flat(), !found.length && h("span", { class: "faint" }, "(nothing)"));
    const all = this.#lines.length;
    const total = counted(all, "line");
    this.count.textContent = sought ? `${found.length} of ${total}` : total;
    if (isAtEnd) output.scrollTop = output.scrollHeight;
  }
}

/**
 * A text with what is sought in it marked.
 * @param {string} text
 * @param {string} sought in lower case
 * @returns {(Node | string)[]}
 */
function marked(text, sought) {
  const at = sought ? text.toLowerCase().indexOf(sought) : -1;
  if (at < 0) return [text];
  const end = at + sought.length;
  return [
    text.slice(0, at),
    h("mark", {}, text.slice(at, end)),
    ...marked(text.slice(end), sought),
  ];
}
