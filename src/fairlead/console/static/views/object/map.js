/** Everything that is connected with an object, as a map. */

import { idOfObject } from "../../core/relations.js";
import { MapView } from "../map/view.js";

/** @import {Place} from "../../app.js" */
/** @import {Subject} from "../../core/subject.js" */

/**
 * @param {Place} place
 * @param {Subject} subject
 */
export function show(place, { kind, named }) {
  const label = `What is connected with ${kind.kind} ${named.name}`;
  // The map of a namespace is one of all that is in it.
  const isNamespace = !kind.group && kind.plural === "namespaces";
  const scope = isNamespace
    ? { namespace: named.name, label }
    : { namespace: named.namespace ?? "", label, centre: idOfObject(kind, named) };
  void new MapView(place, scope).run();
}
