/** The choice of a server, where one console shows those of several contexts. */

import { isAborted, reasonOf } from "../core/api.js";
import { fill, h } from "../core/dom.js";
import { go } from "../core/router.js";
import { useContext } from "../core/session.js";
import { keepNamespace } from "./namespaces.js";
import { say } from "./messages.js";

/** @import {About} from "../core/kinds.js" */

/** @param {About} about */
export function contextChoice({ contexts, context, server }) {
  if (!contexts) return null;
  const select = h("select", {
    id: "context",
    title: server,
    "aria-label": "Context",
    onchange: () => void change(select, context ?? ""),
  });
  fill(
    select,
    contexts.map((one) => h("option", { value: one, selected: one === context }, one)),
  );
  return select;
}

/**
 * @param {HTMLSelectElement} select
 * @param {string} before
 */
async function change(select, before) {
  select.disabled = true;
  try {
    const told = useContext(select.value);
    keepNamespace(""); // the other server may not have it, nor the object
    go("#/overview");
    await told;
  } catch (error) {
    select.value = before;
    if (!isAborted(error)) say(reasonOf(error));
  } finally {
    select.disabled = false;
  }
}
