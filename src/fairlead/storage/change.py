"""One committed step of one key: what followers and watchers are told."""

from __future__ import annotations

from typing import Any

from fairlead.storage.version import Version, at_revision

ADDED, MODIFIED, DELETED = "ADDED", "MODIFIED", "DELETED"


class Change:
    """What a key was before a revision and is after it; None where it did not exist.

    `kind` is what it means to those who see everything, `size` the bytes of its content.
    `frames` holds the change as watchers send it, encoded once for all of them.
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
        """The content before this change, at the revision of this change."""
        assert self.before is not None
        assert self.before.body is not None
        return at_revision(self.before.body, self.revision)


def existing(resource: str, version: Version) -> Change:
    """An object that is there already, as the change that added it."""
    return Change(resource, version.key, version.revision, version.api_version, None, version)
