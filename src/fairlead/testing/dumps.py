"""Loading what another cluster has printed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from fairlead.client.errors import AlreadyExists, ApiError
from fairlead.client.sync import SyncClient

Object = dict[str, Any]

# What another server has given out, and this one gives out itself.
_OWN_FIELDS = ("resourceVersion", "uid", "generation", "managedFields", "selfLink")
_FIRST = ("Namespace", "CustomResourceDefinition")


class Loading:
    """Creates objects one after the other, owners before what they own: references to owners are
    by uid, and each gets another one here."""

    def __init__(self, admin: SyncClient) -> None:
        self._admin = admin
        self._uids: dict[str, str] = {}
        self._spaces: set[str] = set()

    def load(self, values: Iterable[Object]) -> list[Object]:
        """What they became; raises ApiError for one that cannot be."""
        return [self._loaded(value) for value in _in_order(list(values))]

    def _loaded(self, value: Object) -> Object:
        self._ensure_namespace(value)
        wanted = self._cleaned(value)
        resource = self._admin.resource_of(wanted)
        try:
            made: Object = resource.create(wanted)
        except AlreadyExists:
            metadata = wanted["metadata"]
            current = resource.get(metadata["name"], metadata.get("namespace"))
            metadata["resourceVersion"] = current["metadata"]["resourceVersion"]
            made = resource.replace(wanted)
        if old := value["metadata"].get("uid"):
            self._uids[old] = made["metadata"]["uid"]
        if value.get("status") and "status" in resource.type.subresources:
            made["status"] = value["status"]
            made = resource.replace(made, subresource="status")
        return made

    def _ensure_namespace(self, value: Object) -> None:
        space = value["metadata"].get("namespace")
        if not space or space in self._spaces:
            return
        self._spaces.add(space)
        try:
            self._admin.resource("namespaces").create({"metadata": {"name": space}})
        except ApiError as error:
            if error.code != 409:
                raise

    def _cleaned(self, value: Object) -> Object:
        """The object as this server may have it: owners that are not here are left out, and what
        was being deleted is not."""
        metadata = {
            name: found
            for name, found in value["metadata"].items()
            if name not in _OWN_FIELDS and not name.startswith("deletion")
        }
        owners = [
            {**one, "uid": self._uids[one["uid"]]}
            for one in metadata.pop("ownerReferences", None) or ()
            if one["uid"] in self._uids
        ]
        if owners:
            metadata["ownerReferences"] = owners
        return {**value, "metadata": metadata}


def _in_order(values: list[Object]) -> list[Object]:
    """What others need comes before them."""
    known = {value["metadata"].get("uid"): value for value in values}
    ordered: dict[int, Object] = {}

    def place(value: Object, above: tuple[int, ...] = ()) -> None:
        if id(value) in ordered or id(value) in above:
            return
        for owner in value["metadata"].get("ownerReferences") or ():
            if owner.get("uid") in known:
                place(known[owner["uid"]], (*above, id(value)))
        ordered[id(value)] = value

    for kind in _FIRST:
        for value in values:
            if value["kind"] == kind:
                place(value)
    for value in values:
        place(value)
    return list(ordered.values())
