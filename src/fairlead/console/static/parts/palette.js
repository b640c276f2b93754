/** A dialog in which one of many things is chosen by typing a few letters of it. */

import { fill, h } from "../core/dom.js";

/** @typedef {{title: string, detail: string, run: () => void}} Choice */

const MOST = 50; // shown at once

/**
 * @param {string} label
 * @param {Choice[]} choices the best ones first
 */
export function choose(label, choices) {
  let shown = choices;
  let at = 0;
  const list = h("ul", { class: "choices", role: "listbox", id: "choices", "aria-label": label });
  const input = h("input", {
    type: "text",
    placeholder: label,
    "aria-label": label,
    role: "combobox",
    "aria-expanded": "true",
    "aria-controls": "choices",
    autocomplete: "off",
    spellcheck: "false",
    oninput: () => filter(),
    onkeydown: (/** @type {KeyboardEvent} */ event) => pressed(event),
  });
  const dialog = h(
    "dialog",
    { class: "palette", "aria-label": label, onclose: () => dialog.remove() },
    input,
    list,
  );

  /** @param {Choice} choice */
  const take = (choice) => {
    dialog.close();
    choice.run();
  };
  const draw = () => {
    fill(
      list,
      shown.slice(0, MOST).map((one, index) =>
        h(
          "li",
          {
            role: "option",
            id: `choice-${index}`,
            "aria-selected": String(index === at),
            onclick: () => take(one),
          },
          h("span", {}, one.title),
          h("small", {}, one.detail),
        ),
      ),
    );
    if (shown.length) input.setAttribute("aria-activedescendant", `choice-${at}`);
    else input.removeAttribute("aria-activedescendant");
    list.children[at]?.scrollIntoView({ block: "nearest" });
  };
  const filter = () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    shown = choices.filter((one) =>
      words.every((word) => `${one.title} ${one.detail}`.toLowerCase().includes(word)),
    );
    at = 0;
    draw();
  };
  /** @param {KeyboardEvent} event */
  const pressed = (event) => {
    const most = Math.min(shown.length, MOST);
    if (event.key === "ArrowDown") at = Math.min(at + 1, most - 1);
    else if (event.key === "ArrowUp") at = Math.max(at - 1, 0);
    else if (event.key === "Enter" && shown[at]) return take(shown[at]);
    else return;
    event.preventDefault();
    draw();
  };

  document.body.append(dialog);
  dialog.showModal();
  draw();
  input.focus();
}
