"""What is told of one request, stage by stage."""

from __future__ import annotations

from typing import Any

from fairlead.audit.bodies import Collected
from fairlead.audit.fragments import UNKNOWN_CALLER, Users, dumped, is_plain, quoted
from fairlead.audit.policy import LEVELS, NONE, REQUEST, SILENCE, Verdict
from fairlead.authentication.user import User
from fairlead.authorization.decision import Decision
from fairlead.authorization.requests import Target
from fairlead.bounded import Bounded
from fairlead.operations.operation import Operation

_STATUSES = {code: f',"responseStatus":{{"metadata":{{}},"code":{code}}}' for code in range(1000)}
_STATUSES[0] = ""


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
        self._decisions: Bounded[tuple[bool, str], str] = Bounded(longest=1024)
        self._last: tuple[Decision | None, str] = (None, "")

    def decided(self, decision: Decision) -> str:
        """The annotations of a request of which nothing else is to be noted."""
        last, text = self._last
        if last is not decision:
            text = self._decided(decision)
            self._last = (decision, text)
        return text

    def _decided(self, decision: Decision) -> str:
        key = (decision.allowed, decision.reason)
        found = self._decisions.get(key)
        if found is None:
            found = f',"annotations":{dumped(self.annotations(decision)).decode()}'
            self._decisions.keep(key, found, len(found))
        return found

    def annotations(self, decision: Decision) -> dict[str, str]:
        word = "allow" if decision.allowed else "forbid"
        return {self.decision: word, self.reason: decision.reason}


class Record:
    """A request, filled in as it goes its way; `json` tells it as it is at its `stage`.

    It knows nothing of the request itself, so that the two make no circle. What most requests
    never have stands in the class only: one is made for each of them.
    """

    level = NONE
    verdict: Verdict = SILENCE
    judged = False  # the policy was asked
    is_early = False  # refused before it was known who asks
    completed = False
    stage = ""
    is_given = False  # the client has chosen the id
    uri = verb = ""
    caller = UNKNOWN_CALLER
    user: User | None = None
    impersonated: User | None = None
    namespace = name = ""  # of the object that is meant
    code = 0
    status: dict[str, Any] | None = None  # where the answer is a Status
    panic = ""  # the kind of failure of ours
    decision: Decision | None = None
    annotations: dict[str, str] | None = None
    request_object: bytes | None = None
    response_object: bytes | None = None
    collected: Collected | None = None  # the response object to be
    _head = _common = _ref = ""

    def __init__(self, names: Names, audit_id: str, received: str) -> None:
        self.names = names
        self.id = audit_id
        self.received = self.stamp = received

    def judge(self, verdict: Verdict) -> None:
        self.judged = True
        self.verdict = verdict
        self.level = verdict.level

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

    def refer(self, target: Target, name: str, *, plain: bool) -> None:
        """Note the object that is meant; `plain` if all that names it can stand in JSON as is."""
        self.namespace, self.name = target.namespace, name
        if not plain:
            self._refer_exactly(target, name, "", "")
            return
        namespace = f',"namespace":"{target.namespace}"' if target.namespace else ""
        named = f',"name":"{name}"' if name else ""
        group = f',"apiGroup":"{target.group}"' if target.group else ""
        part = f',"subresource":"{target.subresource}"' if target.subresource else ""
        self._ref = (
            f',"objectRef":{{"resource":"{target.resource_name}"{namespace}{named}{group}'
            f',"apiVersion":"{target.version}"{part}}}'
        )

    def _refer_exactly(self, target: Target, name: str, uid: str, version: str) -> None:
        parts = {
            "resource": target.resource_name,
            "namespace": target.namespace,
            "name": name,
            "uid": uid,
            "apiGroup": target.group,
            "apiVersion": target.version,
            "resourceVersion": version,
            "subresource": target.subresource,
        }
        shown = {key: text for key, text in parts.items() if text}
        self._ref = f',"objectRef":{dumped(shown).decode()}'

    def complement(self, target: Target, operation: Operation) -> None:
        """Note what has become known of the operation."""
        name, uid, version = operation.identity
        if name or uid or version:
            self._refer_exactly(target, self.name or name, uid, version)
        if operation.annotations:
            self.annotations = {**(self.annotations or {}), **operation.annotations}
        resource = operation.resource
        if resource.deprecation:
            self.annotate(self.names.deprecated, "true")
            if resource.removed_release:
                self.annotate(self.names.removed_release, resource.removed_release)

    def json(self, before: str = "{", after: str = "") -> bytes:
        """The event without kind and apiVersion, its fields in the order of the reference."""
        sent, answered = self.request_object, self.response_object
        objects = ""
        if sent is not None:
            objects = f',"requestObject":{sent.decode()}'
        if answered is not None:
            objects += f',"responseObject":{answered.decode()}'
        return self._json(before, objects, self._annotations(), after)

    def json_without_objects(self, before: str = "{", after: str = "") -> bytes:
        """The same, cut down to what is of bounded size."""
        return self._json(before, "", self._annotations(cut=True), after)

    def _json(self, before: str, objects: str, annotations: str, after: str) -> bytes:
        if not self._head:
            self._prepare()
        users, status = self.names.users, self.status
        other = self.impersonated
        as_other = "" if other is None else f',"impersonatedUser":{users.json(other)}'
        answer = (
            _STATUSES[self.code]
            if status is None
            else f',"responseStatus":{dumped(status).decode()}'
        )
        return (
            f"{before}{self._head}{self.stage}{self._common}{as_other}{self.caller.json}"
            f"{self._ref}{answer}{objects}"
            f',"requestReceivedTimestamp":"{self.received}","stageTimestamp":"{self.stamp}"'
            f"{annotations}}}{after}"
        ).encode()

    def _prepare(self) -> None:
        """What is the same at all stages."""
        user = "{}" if self.user is None else self.names.users.json(self.user)
        shown = quoted(self.id) if self.is_given else f'"{self.id}"'
        self._head = f'"level":"{LEVELS[self.level]}","auditID":{shown},"stage":"'
        uri = f'"{self.uri}"' if is_plain(self.uri) else quoted(self.uri)
        self._common = f'","requestURI":{uri},"verb":"{self.verb}","user":{user}'

    def _annotations(self, *, cut: bool = False) -> str:
        decision = self.decision
        if not self.annotations and not cut:
            return self.names.decided(decision) if decision is not None else ""
        noted = dict(self.annotations or ())
        if self.level < REQUEST:
            noted = {n: text for n, text in noted.items() if not n.startswith(self.names.patch)}
        if decision is not None:
            noted |= self.names.annotations(decision)
        if cut:
            noted[self.names.truncated] = "true"
        if not noted:
            return ""
        return f',"annotations":{dumped(dict(sorted(noted.items()))).decode()}'
