/** The text of an object, there and back. */

import { ApiError, getText, send, YAML_TYPE } from "../../core/api.js";
import { scan, withoutManagers } from "../../core/yaml_scan.js";

/** The name under which fields are written from here. */
export const MANAGER = "fairlead-console";

/**
 * The text of an object that can be sent back.
 * @param {string} path
 * @param {AbortSignal} signal
 */
export async function editableText(path, signal) {
  return withoutManagers(await getText(path, { accept: YAML_TYPE, signal }));
}

/**
 * The resourceVersion that a text was read at.
 * @param {string} text
 */
export function versionOf(text) {
  return scan(text).value?.metadata?.resourceVersion ?? "";
}

/**
 * What the server would make of a text.
 * @param {string} path
 * @param {string} text
 * @param {AbortSignal} signal
 * @returns {Promise<Response>} with the text of the object
 */
export async function tryText(path, text, signal) {
  const options = { ...putting(text, signal), query: { ...QUERY, dryRun: "All" } };
  try {
    return await send(path, { ...options, accept: YAML_TYPE });
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    // A refusal as YAML is not for us to read: ask for it once more.
    return send(path, options);
  }
}

/**
 * @param {string} path
 * @param {string} text
 * @param {AbortSignal} signal
 */
export function sendText(path, text, signal) {
  return send(path, { ...putting(text, signal), query: QUERY });
}

const QUERY = { fieldManager: MANAGER, fieldValidation: "Strict" };

/**
 * @param {string} body
 * @param {AbortSignal} signal
 */
function putting(body, signal) {
  return { method: "PUT", body, type: YAML_TYPE, signal };
}
