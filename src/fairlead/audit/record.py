"""What is told of one request, stage by stage."""

from __future__ import annotations

from typing import Any

from fairlead.audit.bodies import Collected
from fairlead.audit.fragments import Callers, Users, dumped, quoted
from fairlead.audit.policy import LEVELS, REQUEST, SILENCE, Verdict
from fairlead.authentication.user import User
from fairlead.authorization.decision import Decision
from fairlead.authorization.requests import Target
from fairlead.bounded import Bounded
from fairlead.operations.operation import Operation

_LEVELS = tuple(b'{"level":"%b","auditID":' % level.encode() for level in LEVELS)
_STATUSES = {
    code: b',"responseStatus":{"metadata":{},"code":%d}' % code for code in range(100, 600)
}
_REF_ORDER = (
    "resource",
    "namespace",
    "name",
    "uid",
    "apiGroup",
    "apiVersion",
    "resourceVersion",
    "subresource",
)
Ref = tuple[str, ...]  # in this order; empty where there is none


class Names:
    """What all records of a server share: the names of their dialect and parts made before."""

    def __init__(self, group_domain: str) -> None:
        self.decision = f"authorization.{group_domain}/decision"
        self.reason = f"authorization.{group_domain}/reason"
        self.truncated = f"audit.{group_domain}/truncated"
        self.deprecated = f"{group_domain}/deprecated"
        self.removed_release = f"{group_domain}/removed-release"
        self.patch = f"patch.webhook.admission.{group_domain}/"
        self.users = Users()
        self.callers = Callers()
        self._decisions: Bounded[tuple[bool, str], bytes] = Bounded(longest=1024)

    def decided(self, decision: Decision) -> bytes:
        """The annotations of a request of which nothing else is to be noted."""
        key = (decision.allowed, decision.reason)
        found = self._decisions.get(key)
        if found is None:
            noted = self.annotations(decision)
            found = b',"annotations":' + dumped(noted)
            self._decisions.keep(key, found, len(found))
        return found

    def annotations(self, decision: Decision) -> dict[str, str]:
        word = "allow" if decision.allowed else "forbid"
        return {self.decision: word, self.reason: decision.reason}


class Record:
    """A request, filled in as it goes its way; `json` tells it as it is at its `stage`.

    It knows nothing of the request itself, so that the two make no circle."""

    __slots__ = (
        "_common",
        "_head",
        "addresses",
        "agent",
        "annotations",
        "code",
        "collected",
        "completed",
        "decision",
        "id",
        "impersonated",
        "is_early",
        "judged",
        "names",
        "panic",
        "received",
        "ref",
        "request_object",
        "response_object",
        "stage",
        "stamp",
        "status",
        "uri",
        "user",
        "verb",
        "verdict",
    )

    def __init__(self, names: Names, audit_id: str, received: str) -> None:
        self.names = names
        self.id = audit_id
        self.received = self.stamp = received
        self.verdict: Verdict = SILENCE
        self.judged = False  # the policy was asked
        self.is_early = False  # refused before it was known who asks
        self.completed = False
        self.stage = ""
        self.uri = self.verb = self.agent = ""
        self.addresses: tuple[str, ...] = ()
        self.user: User | None = None
        self.impersonated: User | None = None
        self.ref: Ref | None = None
        self.code = 0
        self.status: dict[str, Any] | None = None  # where the answer is a Status
        self.panic = ""  # the kind of failure of ours
        self.decision: Decision | None = None
        self.annotations: dict[str, str] | None = None
        self.request_object: bytes | None = None
        self.response_object: bytes | None = None
        self.collected: Collected | None = None  # the response object to be
        self._head = self._common = b""

    def decided(self, decision: Decision) -> None:
        """What the authorizer said."""
        self.decision = decision

    def failed(self, kind: str) -> None:
        """The server failed. More than the kind of error might quote what was sent."""
        self.panic = kind

    def annotate(self, name: str, text: str) -> None:
        if self.annotations is None:
            self.annotations = {}
        self.annotations[name] = text

    def refer(self, target: Target, name: str) -> None:
        """Note the object that is meant."""
        self.ref = (
            target.resource_name,
            target.namespace,
            name,
            "",
            target.group,
            target.version,
            "",
            target.subresource,
        )

    def complement(self, operation: Operation) -> None:
        """Note what has become known of the operation."""
        name, uid, version = operation.identity
        ref = self.ref
        if ref is not None and (name or uid or version):
            self.ref = (*ref[:2], ref[2] or name, uid, *ref[4:6], version, ref[7])
        if operation.annotations:
            self.annotations = {**(self.annotations or {}), **operation.annotations}
        resource = operation.resource
        if resource.deprecation:
            self.annotate(self.names.deprecated, "true")
            if resource.removed_release:
                self.annotate(self.names.removed_release, resource.removed_release)

    @property
    def level(self) -> int:
        return self.verdict.level

    def json(self) -> bytes:
        """The event without kind and apiVersion, its fields in the order of the reference."""
        return self._json(self.request_object, self.response_object, ())

    def json_without_objects(self) -> bytes:
        """The same, cut down to what is of bounded size."""
        return self._json(None, None, ((self.names.truncated, "true"),))

    def _json(
        self,
        sent: bytes | None,
        answered: bytes | None,
        notes: tuple[tuple[str, str], ...],
    ) -> bytes:
        if not self._head:
            self._prepare()
        parts = [self._head, self.stage.encode(), self._common]
        if self.impersonated is not None:
            parts += (b',"impersonatedUser":', self.names.users.json(self.impersonated))
        parts.append(self.names.callers.json(self.addresses, self.agent))
        if self.ref is not None:
            parts += (b',"objectRef":', _ref_json(self.ref))
        if self.status is not None:
            parts += (b',"responseStatus":', dumped(self.status))
        elif self.code:
            parts.append(_STATUSES[self.code])
        if sent is not None:
            parts += (b',"requestObject":', sent)
        if answered is not None:
            parts += (b',"responseObject":', answered)
        times = f',"requestReceivedTimestamp":"{self.received}","stageTimestamp":"{self.stamp}"'
        parts += (times.encode(), self._annotations(notes), b"}")
        return b"".join(parts)

    def _prepare(self) -> None:
        """What is the same at all stages."""
        user = b"{}" if self.user is None else self.names.users.json(self.user)
        self._head = _LEVELS[self.level] + quoted(self.id) + b',"stage":"'
        self._common = b'","requestURI":%b,"verb":"%b","user":%b' % (
            quoted(self.uri),
            self.verb.encode(),
            user,
        )

    def _annotations(self, notes: tuple[tuple[str, str], ...]) -> bytes:
        decision = self.decision
        if not self.annotations and not notes:
            return self.names.decided(decision) if decision is not None else b""
        noted = dict(self.annotations or ())
        if self.level < REQUEST:
            noted = {n: text for n, text in noted.items() if not n.startswith(self.names.patch)}
        if decision is not None:
            noted |= self.names.annotations(decision)
        noted |= dict(notes)
        if not noted:
            return b""
        return b',"annotations":' + dumped(dict(sorted(noted.items())))


def _ref_json(ref: Ref) -> bytes:
    return dumped({name: text for name, text in zip(_REF_ORDER, ref, strict=True) if text})
