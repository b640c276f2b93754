/** Whether the user may do something, as the server says it before it is offered. */

import { getJson } from "./api.js";

/** @import {Catalogue, Kind} from "./kinds.js" */
/** @import {Named} from "./paths.js" */
/** `part` is a subresource. @typedef {{verb: string, kind: Kind, part?: string}} Need */

/**
 * Whether all of it is allowed; where the server does not say, it is worth a try.
 * @param {Catalogue} catalogue
 * @param {Need[]} needs
 * @param {{namespace?: string, name?: string}} named an object, or all of a namespace
 * @param {AbortSignal} signal
 */
export async function isPermitted(catalogue, needs, named, signal) {
  const asked = needs.map((one) => ask(catalogue, one, named, signal));
  return (await Promise.all(asked)).every(Boolean);
}

/**
 * @param {Catalogue} catalogue
 * @param {Need} need
 * @param {Partial<Named>} named
 * @param {AbortSignal} signal
 * @returns {Promise<boolean>}
 */
async function ask(catalogue, { verb, kind, part }, { namespace, name }, signal) {
  const group = `authorization.${catalogue.about.groupDomain}`;
  const resourceAttributes = {
    ...{ verb, group: kind.group, version: kind.version, resource: kind.plural },
    ...{ subresource: part, name, namespace: kind.namespaced ? namespace : undefined },
  };
  const review = {
    apiVersion: `${group}/v1`,
    kind: "SelfSubjectAccessReview",
    spec: { resourceAttributes },
  };
  const options = { method: "POST", body: JSON.stringify(review), signal };
  const answer = await getJson(`/apis/${group}/v1/selfsubjectaccessreviews`, options).catch(
    (error) => {
      if (signal.aborted) throw error;
      return null;
    },
  );
  return answer?.status?.allowed ?? true;
}
