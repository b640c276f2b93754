"""ControllerRevisions: numbered snapshots of an owner's template.

Used for StatefulSets and DaemonSets; Deployments keep their history in ReplicaSets.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import orjson

from fairlead.base.errors import StatusError, bad_request
from fairlead.codec.types.decode import decoder
from fairlead.codec.types.mismatch import DecodeError
from fairlead.codec.types.names import SUFFIX_LETTERS
from fairlead.controllers.workloads.adoption import Claims
from fairlead.controllers.workloads.index import Owned, read_full
from fairlead.controllers.workloads.owners import controller_reference
from fairlead.fields.errors import PatchError
from fairlead.fields.strategic import DIRECTIVE, apply_strategic_patch, strategic_document
from fairlead.operations.api import Object
from fairlead.operations.client import Client
from fairlead.resources.registry import Resource

REVISIONS = "apps/v1/controllerrevisions"
_MAX_PREFIX_LENGTH = 223


@dataclass(frozen=True, slots=True)
class CurrentRevision:
    """The revision of a template, and the number of name collisions."""

    revision: Object
    collisions: int


class History:
    """The revisions of the owners of one kind; `hash_label` is the label for their hash."""

    def __init__(self, objects: Client, resource: Resource, hash_label: str) -> None:
        self._objects = objects
        self._resource = resource
        self._hash_label = hash_label
        self._claims = Claims(objects, resource, REVISIONS)
        self._owned = Owned(objects.collection(REVISIONS), read_full)

    async def of(self, owner: Object) -> list[Object]:
        """The owner's revisions, oldest first; adopts and releases them."""
        selector = owner["spec"].get("selector")
        claimed = await self._claims.claim(owner, selector, self._owned)
        return sorted((dependent.value for dependent in claimed), key=_order)

    async def current(
        self, owner: Object, revisions: Sequence[Object], data: Object, collisions: int
    ) -> CurrentRevision:
        """Return the revision with this data as the latest: creates or renumbers it if needed.
        `collisions` is the number in the owner's status."""
        alike = [candidate for candidate in revisions if filled(candidate["data"]) == filled(data)]
        latest = revisions[-1]["revision"] if revisions else 0
        if alike:
            revision = alike[-1]
            if revision is not revisions[-1]:
                revision = await self._renumber(revision, latest + 1)
            return CurrentRevision(revision, collisions)
        return await self._create(owner, data, latest + 1, collisions)

    async def _renumber(self, revision: Object, number: int) -> Object:
        metadata = revision["metadata"]
        return await self._objects.change(
            REVISIONS,
            metadata["namespace"],
            metadata["name"],
            lambda current: {**current, "revision": number},
        )

    async def _create(
        self, owner: Object, data: Object, number: int, collisions: int
    ) -> CurrentRevision:
        while True:
            revision = self._revision(owner, data, number, collisions)
            try:
                return CurrentRevision(await self._objects.create(REVISIONS, revision), collisions)
            except StatusError as error:
                if error.reason != "AlreadyExists":
                    raise
            metadata = revision["metadata"]
            existing = self._objects.find(REVISIONS, metadata["namespace"], metadata["name"])
            if existing is not None and filled(existing["data"]) == filled(data):
                return CurrentRevision(existing, collisions)
            collisions += 1

    def _revision(self, owner: Object, data: Object, number: int, collisions: int) -> Object:
        metadata = owner["metadata"]
        # Includes the kind: a DaemonSet and a StatefulSet may have the same name and template.
        text = short_hash([self._resource.kind, data], collisions)
        template = owner["spec"]["template"].get("metadata") or {}
        revision = {
            "name": f"{metadata['name'][:_MAX_PREFIX_LENGTH]}-{text}",
            "namespace": metadata["namespace"],
            "labels": {**(template.get("labels") or {}), self._hash_label: text},
            "ownerReferences": [controller_reference(self._resource, owner)],
        }
        if metadata.get("annotations"):
            revision["annotations"] = metadata["annotations"]
        return {"metadata": revision, "data": data, "revision": number}

    async def truncate(
        self, revisions: Sequence[Object], live: Collection[str], limit: int
    ) -> None:
        """Delete the oldest revisions beyond `limit`; `live` names do not count and stay."""
        past = [revision for revision in revisions if revision["metadata"]["name"] not in live]
        for revision in past[: max(0, len(past) - limit)]:
            metadata = revision["metadata"]
            await self._objects.delete(REVISIONS, metadata["namespace"], metadata["name"])


def _order(revision: Object) -> tuple[int, str, str]:
    metadata = revision["metadata"]
    return revision["revision"], metadata["creationTimestamp"], metadata["name"]


def template_data(owner: Object) -> Object:
    """The data of a revision: a patch that restores the template. Keys are sorted because clients
    compare the bytes of this patch."""
    patch = {"spec": {"template": {**owner["spec"]["template"], DIRECTIVE: "replace"}}}
    data: Object = orjson.loads(orjson.dumps(patch, option=orjson.OPT_SORT_KEYS))
    return data


def with_template_of(revision: Object, owner: Object, resource: Resource) -> Object:
    """The owner with the template of a revision. Raises StatusError if the patch is invalid: any
    client may have written the revision."""
    struct = resource.stored_struct
    try:
        patch = strategic_document(revision["data"])
        patched = apply_strategic_patch(struct, {"spec": owner["spec"]}, patch)
        spec = decoder(struct)(patched, [])["spec"]
    except (PatchError, DecodeError) as error:
        name = revision["metadata"]["name"]
        raise bad_request(f'revision "{name}" cannot be gone back to: {error}') from error
    return {**owner, "spec": {**owner["spec"], "template": spec["template"]}}


# Short hashes of pod templates.


def filled(value: Any) -> Any:
    """The value without absent and empty fields, which are equivalent."""
    if isinstance(value, dict):
        parts = {name: filled(item) for name, item in value.items()}
        return {name: item for name, item in parts.items() if item not in (None, {}, [])}
    if isinstance(value, list):
        return [filled(item) for item in value]
    return value


def short_hash(value: Any, collisions: int | None) -> str:
    """A short stable hash of a value. A different number of collisions gives a different hash."""
    content = orjson.dumps(filled(value), option=orjson.OPT_SORT_KEYS)
    if collisions is not None:
        content += collisions.to_bytes(8, "little")
    number = int.from_bytes(blake2b(content, digest_size=4).digest())
    return "".join(SUFFIX_LETTERS[ord(digit) % len(SUFFIX_LETTERS)] for digit in str(number))
