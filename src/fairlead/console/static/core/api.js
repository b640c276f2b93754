/** Requests to the API, as the user who is signed in. */

import { bearer, forget, token } from "./session.js";

/** @typedef {{reason?: string, message?: string, field?: string}} Cause */
/** @typedef {{message?: string, reason?: string, code?: number, details?: {causes?: Cause[]}}} Status */
/**
 * @typedef {object} Options
 * @property {string} [method]
 * @property {string} [body]
 * @property {string} [type] of the body
 * @property {string} [accept]
 * @property {Record<string, string | number | boolean | undefined>} [query]
 * @property {AbortSignal} [signal]
 */

export const JSON_TYPE = "application/json";
export const YAML_TYPE = "application/yaml";
export const APPLY_TYPE = "application/apply-patch+yaml";
export const MERGE_TYPE = "application/merge-patch+json";
/** Options of a request whose body is a list of operations. */
export const JSON_PATCH = { method: "PATCH", type: "application/json-patch+json" };

/** A refusal, with the Status that the server gave for it. */
export class ApiError extends Error {
  /**
   * @param {number} code
   * @param {Status} status
   */
  constructor(code, status) {
    super(status.message || `the server answered ${code}`);
    this.code = code;
    this.reason = status.reason ?? "";
    this.causes = status.details?.causes ?? [];
  }
}

/**
 * The answer, if it is a good one; throws ApiError otherwise.
 * @param {string} path
 * @param {Options} [options]
 * @returns {Promise<Response>}
 */
export async function send(path, options = {}) {
  const used = token();
  const headers = { Accept: options.accept ?? JSON_TYPE, ...bearer(used) };
  const response = await fetch(path + queryOf(options.query), {
    method: options.method ?? "GET",
    headers:
      options.body === undefined
        ? headers
        : { ...headers, "Content-Type": options.type ?? JSON_TYPE },
    body: options.body,
    signal: options.signal,
    cache: "no-store",
    credentials: "omit",
  });
  if (response.ok) return response;
  if (response.status === 401 && used === token()) forget();
  throw new ApiError(response.status, statusOf(await response.text()));
}

/**
 * @param {string} path
 * @param {Options} [options]
 * @returns {Promise<any>}
 */
export async function getJson(path, options) {
  return (await send(path, options)).json();
}

/**
 * @param {string} path
 * @param {Options} [options]
 * @returns {Promise<string>}
 */
export async function getText(path, options) {
  return (await send(path, options)).text();
}

/**
 * The objects of an answer that goes on, one a line.
 * @param {Response} response
 * @returns {AsyncGenerator<any>}
 */
export async function* lines(response) {
  if (!response.body) return;
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const parts = (rest + value).split("\n");
    rest = parts.pop() ?? "";
    for (const part of parts) if (part) yield JSON.parse(part);
  }
}

/**
 * What to tell a person about something that went wrong.
 * @param {unknown} error
 * @returns {string}
 */
export function reasonOf(error) {
  if (error instanceof TypeError) return "the server cannot be reached";
  return error instanceof Error ? error.message : String(error);
}

/**
 * Whether something only ended because nobody waits for it any more.
 * @param {unknown} error
 */
export function isAborted(error) {
  return error instanceof DOMException && error.name === "AbortError";
}

/** @param {Options["query"]} query */
function queryOf(query) {
  const given = Object.entries(query ?? {}).filter(
    ([, value]) => value !== undefined && value !== "",
  );
  const text = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
  return text && `?${text}`;
}

/**
 * @param {string} text
 * @returns {Status}
 */
function statusOf(text) {
  try {
    return JSON.parse(text);
  } catch {
    return { message: text.trim() || undefined };
  }
}
