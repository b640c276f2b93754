"""The permissions that changes of a claim's status need besides that for the status itself."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from fairlead.base.dialect import Dialect
from fairlead.codec.types.model import Object
from fairlead.codec.types.names import dns_subdomain
from fairlead.resources.behaviour import Permission
from fairlead.resources.resource.claim_status import device_id
from fairlead.resources.resource.requests import MAX_REQUESTS

_MAX_DRIVERS = 2 * MAX_REQUESTS  # more are not allocated, before and after
_SAME_NODE, _ANY_NODE = "associated-node:", "arbitrary-node:"


def status_permissions(
    verb: str, value: Object, old: Object, user: Any, dialect: Dialect
) -> Iterator[Permission]:
    """The permissions that a change of the status needs: `binding` in all namespaces to allocate or
    reserve, `driver` for the name of each driver to report on its devices. `user` is a User."""
    status, before = value.get("status") or {}, old.get("status") or {}
    if any((status.get(name) or None) != (before.get(name) or None) for name in _BINDING):
        reason = "changing status.allocation or status.reservedFor requires"
        yield Permission(
            "status.allocation",
            f'{reason} resource="resourceclaims/binding", verb="{verb}" permission',
            (verb,),
            "binding",
            "",
            "",
        )
    allocation = status.get("allocation")
    if allocation is None:
        return
    verbs = [_ANY_NODE + verb]
    node = _node_of(allocation)
    if node and _node_of_account(user, dialect) == node:
        verbs.insert(0, _SAME_NODE + verb)
    reason = "changing status.devices requires"
    for driver in sorted(_changed_drivers(status, before))[:_MAX_DRIVERS]:
        yield Permission(
            "status.devices",
            f'{reason} resource="resourceclaims/driver", verb="[{" ".join(verbs)}]" permission',
            verbs,
            "driver",
            value["metadata"]["namespace"],
            driver,
        )


_BINDING = ("allocation", "reservedFor")


def _changed_drivers(status: Object, before: Object) -> set[str]:
    """The drivers of the devices whose state was added, removed or changed."""
    states, earlier = (
        {device_id(state): state for state in version.get("devices") or ()}
        for version in (status, before)
    )
    changed = (key for key in states.keys() | earlier.keys() if states.get(key) != earlier.get(key))
    return {driver for driver, *_ in changed}


def _node_of(allocation: Object) -> str:
    """The only node that can use the devices; empty if there are several."""
    terms: list[Object] = (allocation.get("nodeSelector") or {}).get("nodeSelectorTerms") or []
    if len(terms) != 1 or terms[0].get("matchExpressions"):
        return ""
    fields: list[Object] = terms[0].get("matchFields") or []
    if len(fields) != 1 or (fields[0]["key"], fields[0]["operator"]) != ("metadata.name", "In"):
        return ""
    values: list[str] = fields[0].get("values") or []
    return str(values[0]) if len(values) == 1 else ""


def _node_of_account(user: Any, dialect: Dialect) -> str:
    """The node of the pod whose service account a user is; empty for other users."""
    nodes: Sequence[str] = user.extra.get(dialect.label("authentication.@/node-name")) or ()
    is_account = user.name.startswith("system:serviceaccount:")
    if not is_account or len(nodes) != 1 or dns_subdomain(nodes[0]):
        return ""
    return str(nodes[0])
