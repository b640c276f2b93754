"""One committed change of one key, as delivered to followers and watchers."""

from __future__ import annotations

from typing import Any

from fairlead.storage.version import Version, at_revision

ADDED, MODIFIED, DELETED = "ADDED", "MODIFIED", "DELETED"


class Change:
    """The versions of a key before and after a revision; None where it did not exist.

    `kind` is the event type for an observer without a selector, `size` the bytes of the content.
    `frames` caches the encoded watch events, shared by all watchers.
    """

    __slots__ = (
        "after",
        "api_version",
        "before",
        "frames",
        "key",
        "kind",
        "resource",
        "revision",
        "size",
    )

    def __init__(
        self,
        resource: str,
        key: str,
        revision: int,
        api_version: str,
        before: Version | None,
        after: Version | None,
    ) -> None:
        self.resource = resource
        self.key = key
        self.revision = revision
        self.api_version = api_version
        self.before = before
        self.after = after
        self.frames: dict[Any, bytes] = {}
        self.kind = DELETED if after is None else ADDED if before is None else MODIFIED
        content = after if after is not None else before
        self.size = len(content.body) if content is not None and content.body is not None else 0

    @property
    def added(self) -> bool:
        return self.before is None

    @property
    def deleted(self) -> bool:
        return self.after is None

    @property
    def namespace(self) -> str:
        return self.key.rpartition("/")[0]

    @property
    def name(self) -> str:
        return self.key.rpartition("/")[2]

    def last_body(self) -> bytes:
        """Return the content before this change, with the revision of this change."""
        assert self.before is not None
        assert self.before.body is not None
        return at_revision(self.before.body, self.revision)


def existing(resource: str, version: Version) -> Change:
    """Return the change that would add an existing object."""
    return Change(resource, version.key, version.revision, version.api_version, None, version)
