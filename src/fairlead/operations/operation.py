"""The state of one verb on one resource, from the request to the audit log."""

from __future__ import annotations

from collections.abc import Awaitable
from math import inf
from typing import Any, Final, NamedTuple, Protocol

from fairlead.auth.authentication.user import User
from fairlead.auth.authorization.attributes import Attributes, Decision
from fairlead.base import clock, meter
from fairlead.base.errors import ResourceRef, StatusError
from fairlead.base.metrics import REGISTRY
from fairlead.resources.context import MAX_WARNINGS
from fairlead.resources.registry import Resource
from fairlead.storage.version import Version

Identity = tuple[str, str, str]  # name, uid and resourceVersion
NO_IDENTITY: Final[Identity] = ("", "", "")


_SURCHARGE: Final = 16  # bytes per item
_ALL_BUT_ITEMS: Final = bytes(set(range(256)) - set(b"{[\0"))
# Not counted in smaller objects: counting takes as long as parsing a quarter of them.
_SURELY_ON_LOOP: Final = meter.MAX_BYTES_ON_LOOP // 4


def weight(encoded: bytes) -> int:
    """The size of an encoded object, with a surcharge for dense content: an empty item has 3 bytes
    of JSON or 2 of protobuf and takes as long to check as one of 20."""
    size = len(encoded)
    if not _SURELY_ON_LOOP < size <= meter.MAX_BYTES_ON_LOOP:
        return size
    return size + _SURCHARGE * len(encoded.translate(None, _ALL_BUT_ITEMS))


class Operation:
    """A verb on a resource, passed through all stages; stages leave results for the caller and the
    observers here. `resource` is the subresource if one is addressed; `name` is empty for
    operations on a collection. `sent` and `result` are the objects that came in and went out, for
    observers: as bytes where they arrived as bytes, and never copies."""

    __slots__ = (
        "_sent_size",
        "annotations",
        "applies",
        "content",
        "creates",
        "deadline",
        "decision",
        "has_unknown_fields",
        "identity",
        "impersonator",
        "manager",
        "name",
        "namespace",
        "refusal",
        "replaces",
        "resource",
        "result",
        "sent",
        "stored_size",
        "user",
        "verb",
        "warnings",
        "written",
    )

    def __init__(
        self,
        user: User,
        verb: str,
        resource: Resource,
        namespace: str = "",
        name: str = "",
        impersonator: User | None = None,
        warnings: list[str] | None = None,
    ) -> None:
        self.user = user
        self.verb = verb
        self.resource = resource
        self.namespace = namespace
        self.name = name
        self.impersonator = impersonator  # the authenticated user, if `user` is impersonated
        self.manager = ""  # the field manager of the fields it writes
        self.warnings = [] if warnings is None else warnings
        self.annotations: dict[str, str] = {}  # for the audit log
        self.replaces = False  # the caller sent a whole object, not a patch
        self.applies = False  # the caller sent a configuration to apply
        self.creates = False  # an update or apply created the object
        self.has_unknown_fields = False  # the body has fields that its type does not define
        self.refusal: StatusError | None = None  # of the body; raised after the precondition checks
        self.sent: Any = None
        self._sent_size = -1  # not yet computed, see `size`
        self.stored_size = 0  # bytes of the stored object that has to be decoded
        self.result: Any = None
        self.written: Version | None = None  # the last version that was stored for it
        self.content: dict[str, Any] | None = None  # the value of `written`, see `content_of`
        self.identity = NO_IDENTITY  # name, uid and resourceVersion in the body
        self.deadline = inf  # by the clock of the event loop
        self.decision: Decision | None = None  # the authorizer's decision on this operation

    def part(self, verb: str, resource: Resource, namespace: str, name: str) -> Operation:
        """A sub-operation on one object, with the same user, warnings and audit annotations."""
        operation = Operation(
            self.user, verb, resource, namespace, name, self.impersonator, self.warnings
        )
        operation.annotations = self.annotations
        operation.sent = self.sent
        operation.decision = self.decision
        operation.deadline = self.deadline
        return operation

    def warn(self, text: str) -> None:
        if len(self.warnings) < MAX_WARNINGS and text not in self.warnings:
            self.warnings.append(text)

    @property
    def size(self) -> int:
        """Bytes to process, which decides whether work is offloaded: the larger of the body and the
        stored object, plus the defaults that were added."""
        if self._sent_size < 0:
            self._sent_size = weight(self.sent) if isinstance(self.sent, bytes) else 0
        return max(self._sent_size, self.stored_size) + meter.allocated()

    def note_stored_size(self, version: Version | None = None) -> None:
        """Set `stored_size` from the stored object; None for a new object."""
        kind = self.resource.main.custom
        self.stored_size = kind.unread_bytes if kind is not None else 0
        if version is not None and version.body is not None:
            self.stored_size = max(self.stored_size, weight(version.body))

    def note_written(self, version: Version, value: dict[str, Any]) -> None:
        """Record the stored version. The value must not change afterwards."""
        self.written = version
        self.content = value

    def content_of(self, version: Version) -> dict[str, Any] | None:
        """The value a version was encoded from, without its resourceVersion. None if it is not at
        hand; then decode the version."""
        return self.content if self.written is version else None

    @property
    def key(self) -> str:
        """The storage key of the object within its collection."""
        return self.resource.main.storage_key(self.namespace, self.name)

    @property
    def ref(self) -> ResourceRef:
        """The reference to the object in error messages; names the main resource for subresources
        too."""
        main = self.resource.main
        return ResourceRef(main.group, main.name, self.name)

    def attributes(self, verb: str = "") -> Attributes:
        """The authorizer's view of the operation, or of another verb on the same object."""
        resource = self.resource
        return Attributes(
            self.user,
            verb or self.verb,
            resource.group,
            resource.group_version.version,
            resource.main.name,
            resource.subresource,
            self.namespace,
            self.name,
        )


# The authors of recent revisions, as far as this process knows them.

_GENERATION_SIZE = 16_384  # revisions; between one and two generations are kept
_LONGEST_NAME: Final = 256

REVISIONS: Final = REGISTRY.gauge(
    "fairlead_history_known_actors", "Revisions whose author is kept in memory."
)


class Actor(NamedTuple):
    """The author of a write: the user, the impersonating user if any, the field manager (empty for
    deletions) and the time."""

    user: str
    impersonator: str
    manager: str
    seconds: float  # since the epoch


class RevisionAuthors:
    """The authors of the newest revisions. Old entries are dropped a whole generation at a time,
    which keeps `note` cheap."""

    def __init__(self) -> None:
        self._newer: dict[int, tuple[str, str, str, float]] = {}
        self._older: dict[int, tuple[str, str, str, float]] = {}
        REVISIONS.read = lambda: {(): len(self)}

    def __len__(self) -> int:
        return len(self._newer) + len(self._older)

    def note(self, revision: int, operation: Operation) -> None:
        """Record the author of a committed write."""
        impersonator = operation.impersonator
        self._newer[revision] = (
            operation.user.name[:_LONGEST_NAME],
            impersonator.name[:_LONGEST_NAME] if impersonator is not None else "",
            operation.manager,
            clock.time(),
        )
        if len(self._newer) >= _GENERATION_SIZE:
            self._older, self._newer = self._newer, {}

    def find(self, revision: int) -> Actor | None:
        author = self._newer.get(revision) or self._older.get(revision)
        return Actor._make(author) if author is not None else None


# Interface of the audit log for operations that do not come from a request.


class AuditedOperation(Protocol):
    """The audit log's handle for an operation in progress."""

    def end(self, failure: BaseException | None) -> Awaitable[None]:
        """Call exactly once, on success and on failure."""


class Auditor(Protocol):
    def begin(self, operation: Operation, value: Any) -> Awaitable[AuditedOperation]:
        """Call before the operation starts; `value` is the object that is written, if any."""
