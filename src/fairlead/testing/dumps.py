"""Loads objects that were dumped from another cluster."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any

from fairlead.client.conditions import exists
from fairlead.client.errors import AlreadyExists, Conflict, Invalid
from fairlead.client.sync import SyncResource
from fairlead.testing.contents import DEFINITION, Contents, in_order
from fairlead.testing.powers import Powers

Object = dict[str, Any]

# Fields that every server assigns itself.
_OWN_FIELDS = frozenset(
    ("resourceVersion", "uid", "generation", "managedFields", "selfLink", "creationTimestamp")
)
_DELETION = "deletion"
# Loaded first, and established before the other objects: those depend on them.
_FIRST = ("Namespace", DEFINITION)
# Loaded last: they would send the loaded objects to services that do not exist here.
_LAST = ("ValidatingWebhookConfiguration", "MutatingWebhookConfiguration", "APIService")
# Kinds whose status describes this server, not the other one.
_OWN_STATUS = (*_FIRST, "APIService")
_ADDRESSES = ("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy", "healthCheckNodePort")
_ACCOUNTS = "service-account-controller"
_SECONDS_FOR_ACCOUNT = 30.0
_MAX_TRIES = 5


class DumpLoader:
    """Creates objects one after the other, referenced objects first: each object gets a new uid
    here. Controllers are paused meanwhile, because an object they miss may be loaded next."""

    def __init__(self, powers: Powers, contents: Contents) -> None:
        self._powers = powers
        self._admin = powers.admin
        self._contents = contents
        self._uids: dict[str, str] = {}

    def load(self, values: Iterable[Object]) -> list[Object]:
        """Load objects and return the results; raises ApiError for an object that is refused."""
        objects = list(values)
        first = in_order(value for value in objects if value["kind"] in _FIRST)
        rest = [value for value in objects if value["kind"] not in _FIRST]
        created = [self._loaded(value) for value in first]
        for value in created:
            if value["kind"] == DEFINITION:
                self._contents.await_served(value)
        working = [
            controller["name"]
            for controller in self._powers.controllers()
            if not controller.get("paused")
        ]
        spaces = {value["metadata"].get("namespace") for value in rest}
        self._prepare_namespaces(
            {namespace for namespace in spaces if namespace}, _ACCOUNTS in working
        )
        with self._powers.pause(*working):
            self._create_missing_nodes(rest)
            return created + [self._loaded(value) for value in _ordered(rest)]

    def _prepare_namespaces(self, names: set[str], has_accounts: bool) -> None:
        """Create the namespaces and wait for their default accounts, which pods need and a
        controller creates."""
        for name in sorted(names):
            with suppress(AlreadyExists):
                self._admin.resource("namespaces").create({"metadata": {"name": name}})
        for name in sorted(names) if has_accounts else ():
            accounts = self._admin.resource("serviceaccounts")
            accounts.wait("default", exists, name, timeout=_SECONDS_FOR_ACCOUNT)

    def _create_missing_nodes(self, values: list[Object]) -> None:
        """Create missing nodes: pods of nodes that do not exist would be removed."""
        pods = [value for value in values if value["kind"] == "Pod"]
        named = {(pod.get("spec") or {}).get("nodeName") for pod in pods}
        names = {value["metadata"].get("name") for value in values if value["kind"] == "Node"}
        nodes = self._admin.resource("nodes")
        for name in sorted(name for name in named - names if name):
            with suppress(AlreadyExists):
                node = nodes.create({"metadata": {"name": name}})
                _put_status(nodes, node, {"conditions": [{"type": "Ready", "status": "True"}]})

    def _loaded(self, value: Object) -> Object:
        new = _translated(_cleaned(value, self._uids), self._uids)
        resource = self._admin.resource_of(new)
        try:
            created = _create(resource, new)
        except AlreadyExists:
            created = _replace(resource, new)
        if old := value["metadata"].get("uid"):
            self._uids[old] = created["metadata"]["uid"]
        has_status = "status" in resource.type.subresources and value["kind"] not in _OWN_STATUS
        if has_status and value.get("status"):
            created = _put_status(
                resource, created, _translated(_status(value, created), self._uids)
            )
        return created


def _create(resource: SyncResource, new: Object) -> Object:
    try:
        return resource.create(new)
    except Invalid:
        spec = new.get("spec") or {}
        if new["kind"] != "Service" or spec.get("clusterIP") in (None, "", "None"):
            raise
        # An address outside of this cluster's range, or already allocated here.
        rest = {name: value for name, value in spec.items() if name not in _ADDRESSES}
        return resource.create({**new, "spec": rest})


def _replace(resource: SyncResource, new: Object) -> Object:
    """Replace the existing object."""
    metadata = new["metadata"]
    current = resource.get(metadata["name"], metadata.get("namespace"))
    version = {"resourceVersion": current["metadata"]["resourceVersion"]}
    new = {**new, "metadata": {**metadata, **version}}
    if new["kind"] == "Service":
        addresses = {name: current["spec"][name] for name in _ADDRESSES if name in current["spec"]}
        new["spec"] = {**(new.get("spec") or {}), **addresses}
    return resource.replace(new)


def _put_status(resource: SyncResource, created: Object, status: Object) -> Object:
    """Write the status, with retries: the server itself may write at the same time."""
    for _ in range(_MAX_TRIES):
        try:
            return resource.replace({**created, "status": status}, subresource="status")
        except Conflict:
            metadata = created["metadata"]
            created = resource.get(metadata["name"], metadata.get("namespace"))
    return resource.replace({**created, "status": status}, subresource="status")


def _cleaned(value: Object, uids: dict[str, str]) -> Object:
    """Return the object without fields that this server assigns, without owners that do not exist
    here, and without a pending deletion."""
    metadata = {
        name: item
        for name, item in value["metadata"].items()
        if name not in _OWN_FIELDS and not name.startswith(_DELETION)
    }
    owners = [
        reference
        for reference in metadata.pop("ownerReferences", None) or ()
        if reference["uid"] in uids
    ]
    if owners:
        metadata["ownerReferences"] = owners
    cleaned = {**value, "metadata": metadata}
    cleaned.pop("status", None)
    uid = value["metadata"].get("uid")
    if value["kind"] == "Job" and uid and not (value.get("spec") or {}).get("manualSelector"):
        cleaned["spec"] = _without(uid, {**value["spec"], "selector": None})
    return cleaned


def _without(text: str, value: Any) -> Any:
    """Remove the fields with a text from a value: the server writes a job's uid into selectors and
    labels."""
    if isinstance(value, dict):
        return {name: _without(text, item) for name, item in value.items() if item != text}
    return [_without(text, item) for item in value] if isinstance(value, list) else value


def _status(value: Object, created: Object) -> Object:
    """Return the status, with an observedGeneration that lags behind the new object as far as it
    did behind the old one."""
    status: Object = value["status"]
    if not isinstance(status, dict) or "observedGeneration" not in status:
        return status
    behind = (value["metadata"].get("generation") or 0) - (status["observedGeneration"] or 0)
    observed = max(0, (created["metadata"].get("generation") or 0) - max(0, behind))
    return {**status, "observedGeneration": observed}


def _translated(value: Any, uids: dict[str, str]) -> Any:
    """Replace old uids by new ones anywhere in a value: in references to owners, claims and events,
    in selectors and labels."""
    if isinstance(value, dict):
        return {name: _translated(item, uids) for name, item in value.items()}
    if isinstance(value, list):
        return [_translated(item, uids) for item in value]
    return uids.get(value, value) if isinstance(value, str) else value


def _ordered(values: list[Object]) -> list[Object]:
    """Sort objects so that referenced ones come first."""
    by_uid = {value["metadata"]["uid"]: value for value in values if value["metadata"].get("uid")}
    ordered: dict[int, Object] = {}

    def place(value: Object, above: tuple[int, ...] = ()) -> None:
        if id(value) in ordered or id(value) in above:
            return
        for text in _texts(value):
            if text in by_uid:
                place(by_uid[text], (*above, id(value)))
        ordered[id(value)] = value

    for value in sorted(values, key=lambda item: item["kind"] in _LAST):
        place(value)
    return list(ordered.values())


def _texts(value: Any) -> Iterator[str]:
    """Yield all strings within a value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _texts(item)
