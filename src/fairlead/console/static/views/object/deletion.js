/** Deleting an object, after the person was asked. */

import { getJson, isAborted, reasonOf } from "../../core/api.js";
import { fill, h } from "../../core/dom.js";
import { problem, say } from "../../parts/messages.js";

/** @import {Subject} from "../../core/subject.js" */

/**
 * @param {Subject} subject
 * @param {AbortSignal} signal
 */
export function confirmDeletion(subject, signal) {
  const { metadata } = subject.object;
  const where = metadata.namespace ? ` in ${metadata.namespace}` : "";
  const title = `${subject.kind.kind} ${metadata.name}${where}`;
  const failed = h("div");
  const remove = async () => {
    deleting.disabled = true;
    try {
      // Not another object that has got the name meanwhile.
      const body = JSON.stringify({ preconditions: { uid: metadata.uid } });
      tell(title, await getJson(subject.path, { method: "DELETE", body, signal }));
      dialog.close();
    } catch (error) {
      deleting.disabled = false;
      if (!isAborted(error)) fill(failed, problem(reasonOf(error)));
    }
  };
  const deleting = h("button", { class: "primary", onclick: () => void remove() }, "Delete");
  const dialog = h(
    "dialog",
    { "aria-labelledby": "deletion-title", onclose: () => dialog.remove() },
    h("h2", { id: "deletion-title", class: "wrap" }, `Delete ${title}?`),
    h("p", {}, "What it owns is deleted after it."),
    metadata.finalizers?.length > 0 &&
      h(
        "p",
        { class: "warn wrap" },
        `! It stays until these let go: ${metadata.finalizers.join(", ")}`,
      ),
    failed,
    h(
      "div",
      { class: "bar" },
      h("button", { autofocus: true, onclick: () => dialog.close() }, "Keep it"),
      deleting,
    ),
  );
  signal.addEventListener("abort", () => dialog.close());
  document.body.append(dialog);
  dialog.showModal();
}

/**
 * @param {string} title
 * @param {any} answer the object where it stays, else a Status
 */
function tell(title, answer) {
  const { deletionTimestamp, finalizers = [] } = answer.metadata ?? {};
  const isEnding = Boolean(deletionTimestamp) || answer.status?.phase === "Terminating";
  if (finalizers.length) say(`${title} stays until these let go: ${finalizers.join(", ")}`);
  else say(isEnding ? `${title} is ending.` : `${title} is deleted.`);
}
