"""One thing that somebody wants done."""

from __future__ import annotations

from math import inf
from typing import Any, NamedTuple, Protocol

from fairlead.auth.authentication.user import User
from fairlead.auth.authorization.attributes import Attributes, Decision
from fairlead.base import budget, clock
from fairlead.base.errors import ResourceRef, StatusError
from fairlead.base.metrics import REGISTRY
from fairlead.resources.context import MOST_WARNINGS
from fairlead.resources.registry import Resource
from fairlead.storage.version import Version

Identity = tuple[str, str, str]  # name, uid and resourceVersion
NO_IDENTITY: Identity = ("", "", "")


_FEW = 1024  # bytes


def weight(encoded: bytes) -> int:
    """The size of an encoded object, more if it is dense: an empty item has 3 bytes of JSON or 2 of
    protobuf and takes as long to check as one of 20."""
    size = len(encoded)
    if not _FEW < size <= budget.LIGHT:
        return size
    return size + 16 * (encoded.count(b"{") + encoded.count(b"[") + encoded.count(b"\0"))


class Operation:
    """A verb on a resource, carried through all stages: what a stage has to say to the caller or
    to an observer stands here. `resource` is the subresource where one is meant; `name` is empty
    for what is done to a collection. `sent` and `result` are the objects that went in and came
    out, for observers: as bytes where they came as such, and never copies."""

    __slots__ = (
        "annotations",
        "applies",
        "content",
        "deadline",
        "decision",
        "found_size",
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
        self.impersonator = impersonator  # who really asks, if the user is another
        self.manager = ""  # under which name fields are owned that it writes
        self.warnings = [] if warnings is None else warnings
        self.annotations: dict[str, str] = {}  # what an audit log shall tell
        self.replaces = False  # the caller sent a whole object, not a change of one
        self.applies = False  # what was sent says which fields its manager wants
        self.has_unknown_fields = False  # what was sent has fields that its type does not know
        self.refusal: StatusError | None = None  # of what was sent, once it is known to be meant
        self.sent: Any = None
        self.found_size = 0  # bytes of what is stored and has to be read for it
        self.result: Any = None
        self.written: Version | None = None  # the last version that was stored for it
        self.content: dict[str, Any] | None = None  # and what it was made from, see `content_of`
        self.identity = NO_IDENTITY  # by which what was sent names itself
        self.deadline = inf  # by the clock of the loop
        self.decision: Decision | None = None  # where the authorizer was asked about just this

    def part(self, verb: str, resource: Resource, namespace: str, name: str) -> Operation:
        """What is done to one object in the course of it, for the same user and observers."""
        one = Operation(
            self.user, verb, resource, namespace, name, self.impersonator, self.warnings
        )
        one.annotations = self.annotations
        one.sent = self.sent
        one.decision = self.decision
        one.deadline = self.deadline
        return one

    def warn(self, text: str) -> None:
        if len(self.warnings) < MOST_WARNINGS and text not in self.warnings:
            self.warnings.append(text)

    @property
    def size(self) -> int:
        """How much there is to work on, in bytes: what was sent or is changed, and the defaults
        that were added to it."""
        sent = weight(self.sent) if isinstance(self.sent, bytes) else 0
        return max(sent, self.found_size) + budget.made()

    def found(self, version: Version | None = None) -> None:
        """It is about a stored object, or a new one."""
        kind = self.resource.main.custom
        self.found_size = kind.unread_bytes if kind is not None else 0
        if version is not None and version.body is not None:
            self.found_size = max(self.found_size, weight(version.body))

    def wrote(self, version: Version, value: dict[str, Any]) -> None:
        """A version was stored for it; nobody changes the value any more."""
        self.written = version
        self.content = value

    def content_of(self, version: Version) -> dict[str, Any] | None:
        """What a version was made from, without its resourceVersion; None if that is not at hand,
        and the version is to be read."""
        return self.content if self.written is version else None

    @property
    def key(self) -> str:
        """Where the object lies among those of its resource."""
        return self.resource.main.storage_key(self.namespace, self.name)

    @property
    def ref(self) -> ResourceRef:
        """How a refusal names the object, whichever subresource was asked for."""
        main = self.resource.main
        return ResourceRef(main.group, main.name, self.name)

    def attributes(self, verb: str = "") -> Attributes:
        """What an authorizer is asked about it, or about another verb on the same."""
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


# Who wrote which revision, as far as this process knows.

_A_GENERATION = 16_384  # revisions; the newest of these are known, and up to as many before them
_LONGEST_NAME = 256

REVISIONS = REGISTRY.gauge(
    "fairlead_history_known_actors", "Revisions of which it is remembered who wrote them."
)


class Actor(NamedTuple):
    """Whose rights a write was made with, who really asked if that was another, under which name
    as a field manager (empty for deletions), and when."""

    user: str
    impersonator: str
    manager: str
    seconds: float  # since the epoch


class Actors:
    """The writers of the newest revisions. What is too old goes a whole generation at a time, so
    that noting one costs next to nothing."""

    def __init__(self) -> None:
        self._newer: dict[int, tuple[str, str, str, float]] = {}
        self._older: dict[int, tuple[str, str, str, float]] = {}
        REVISIONS.read = self.__len__

    def __len__(self) -> int:
        return len(self._newer) + len(self._older)

    def note(self, revision: int, operation: Operation) -> None:
        """A write was committed."""
        other = operation.impersonator
        self._newer[revision] = (
            operation.user.name[:_LONGEST_NAME],
            other.name[:_LONGEST_NAME] if other is not None else "",
            operation.manager,
            clock.time(),
        )
        if len(self._newer) >= _A_GENERATION:
            self._older, self._newer = self._newer, {}

    def find(self, revision: int) -> Actor | None:
        found = self._newer.get(revision) or self._older.get(revision)
        return Actor._make(found) if found is not None else None


# What the audit log wants to know of operations that come from no request.


class Told(Protocol):
    """An operation that the audit log follows."""

    async def ended(self, failure: BaseException | None) -> None:
        """Call it once, whatever came of the operation."""


class Auditor(Protocol):
    async def begun(self, operation: Operation, value: Any) -> Told:
        """Call it before anything is done; `value` is the object that goes in, if any."""
