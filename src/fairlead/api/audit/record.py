"""The audit record of a request, and its encoding as an event for each stage."""

from __future__ import annotations

from typing import Any

from fairlead.api.audit.bodies import Collected
from fairlead.api.audit.fragments import Caller, Users, caller, dumped, is_plain, quoted, stamp_of
from fairlead.api.audit.policy import COMPLETE, LEVELS, METADATA, NONE, REQUEST, SILENCE, Verdict
from fairlead.auth.authentication.user import User
from fairlead.auth.authorization.attributes import Decision
from fairlead.auth.authorization.requests import Target
from fairlead.operations.operation import NO_IDENTITY, Operation

STATUSES = {code: f',"responseStatus":{{"metadata":{{}},"code":{code}}}' for code in range(1000)}
STATUSES[0] = ""


class Names:
    """Data that all records of a server share: names of the dialect and cached fragments."""

    def __init__(self, group_domain: str) -> None:
        self.decision = f"authorization.{group_domain}/decision"
        self.reason = f"authorization.{group_domain}/reason"
        self.truncated = f"audit.{group_domain}/truncated"
        self.deprecated = f"{group_domain}/deprecated"
        self.removed_release = f"{group_domain}/removed-release"
        self.patch = f"patch.webhook.admission.{group_domain}/"
        self.users = Users()
        self.last_decided: tuple[Decision | None, str] = (None, "")

    def decided(self, decision: Decision | None) -> str:
        """Encode the annotations of a request that has none beside the authorizer's decision."""
        if decision is None:
            return ""
        text = f',"annotations":{dumped(self.annotations(decision)).decode()}'
        self.last_decided = (decision, text)
        return text

    def annotations(self, decision: Decision) -> dict[str, str]:
        decision_text = "allow" if decision.allowed else "forbid"
        return {self.decision: decision_text, self.reason: decision.reason}


class Subject:
    """The attributes of a request and the policy's verdict; shared by repeated requests.
    `request_json`, `ref`, `opening` and `typical` are JSON: the request and its user, the object
    reference, the beginning of a typical event, and its rest after the stage. `is_brief`: events
    include ResponseComplete and no objects. `form` is a cache for `reads`."""

    __slots__ = (
        *("user", "verb", "uri", "namespace", "name", "caller", "verdict"),
        *("request_json", "ref", "opening", "typical", "form", "is_brief"),
    )

    def __init__(
        self,
        user: User | None,
        verb: str,
        uri: str,
        namespace: str,
        name: str,
        caller: Caller,
        verdict: Verdict,
        request_json: str,
        ref: str,
    ) -> None:
        self.user = user
        self.verb = verb
        self.uri = uri
        self.namespace = namespace
        self.name = name
        self.caller = caller
        self.verdict = verdict
        self.request_json = request_json
        self.ref = ref
        self.opening = f'"level":"{LEVELS[verdict.level]}","auditID":'
        self.typical = f"{request_json}{caller.json}{ref}"
        self.is_brief = verdict.level == METADATA and COMPLETE not in verdict.omitted
        self.form: Any = None


def request_fields(names: Names, user: User | None, verb: str, uri: str) -> str:
    uri_json = f'"{uri}"' if is_plain(uri) else quoted(uri)
    user_json = "{}" if user is None else names.users.json(user)
    return f'","requestURI":{uri_json},"verb":"{verb}","user":{user_json}'


def plain_ref(target: Target, name: str) -> str:
    """The object reference; its parts must need no escaping in JSON."""
    namespace = f',"namespace":"{target.namespace}"' if target.namespace else ""
    name_field = f',"name":"{name}"' if name else ""
    group = f',"apiGroup":"{target.group}"' if target.group else ""
    part = f',"subresource":"{target.subresource}"' if target.subresource else ""
    return (
        f',"objectRef":{{"resource":"{target.resource_name}"{namespace}{name_field}{group}'
        f',"apiVersion":"{target.version}"{part}}}'
    )


def exact_ref(target: Target, name: str, uid: str = "", version: str = "") -> str:
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
    fields = {key: text for key, text in parts.items() if text}
    return f',"objectRef":{dumped(fields).decode()}'


_UNKNOWN = Subject(None, "", "", "", "", caller((), ""), SILENCE, "", "")


class _Defaults:
    """Defaults of attributes that few requests set."""

    level = NONE
    subject = _UNKNOWN
    is_early = False  # refused before authentication
    stage = ""
    stamp = ""
    impersonated: User | None = None
    constraint = ""  # the verb that allowed the impersonation
    ref: str | None = None  # set if more is known of the object than in the subject
    code = 0
    status: dict[str, Any] | None = None  # if the response is a Status
    panic = ""  # the type of the exception, if the server failed
    request_object: bytes | None = None
    response_object: bytes | None = None
    collected: Collected | None = None  # becomes the response object
    received = ""  # time of arrival


class Record(_Defaults):
    """The record of a request, filled in along the chain; `json` encodes it at its current `stage`.

    Holds no reference to the request, to avoid a reference cycle. Attributes that every request
    uses are slots, because a record is created for each request.
    """

    __slots__ = (
        *("annotations", "completed", "decision"),
        *("is_given", "judged", "moment", "names", "raw_id", "waits"),
    )

    def __init__(self, names: Names, raw_id: bytes, moment: float) -> None:
        self.names = names
        self.raw_id = raw_id
        self.moment = moment
        self.is_given = False  # the client chose the ID
        self.waits = False  # RequestReceived is deferred
        self.judged = False  # the policy has been applied
        self.completed = False
        self.decision: Decision | None = None
        self.annotations: dict[str, str] | None = None

    @property
    def id(self) -> str:
        return self.raw_id.decode("latin-1")

    def judge(self, subject: Subject) -> None:
        self.judged = True
        self.subject = subject
        self.level = subject.verdict.level
        if self.level:
            self.received = stamp_of(self.moment)

    def decided(self, decision: Decision) -> None:
        """Record the authorizer's decision."""
        self.decision = decision

    def failed(self, kind: str) -> None:
        """Record a failure of the server by the type of its exception only: more might quote the
        request."""
        self.panic = kind

    def annotate(self, name: str, text: str) -> None:
        if self.annotations is None:
            self.annotations = {}
        self.annotations[name] = text

    def complement(self, target: Target, operation: Operation) -> None:
        """Add the object reference and annotations of the operation."""
        if operation.identity is not NO_IDENTITY:
            name, uid, version = operation.identity
            self.ref = exact_ref(target, self.subject.name or name, uid, version)
        if operation.annotations:
            self.annotations = {**(self.annotations or {}), **operation.annotations}
        resource = operation.resource
        if resource.deprecation:
            self.annotate(self.names.deprecated, "true")
            if resource.removed_release:
                self.annotate(self.names.removed_release, resource.removed_release)

    def json(self, prefix: str = "{", suffix: str = "", *, truncate: bool = False) -> bytes:
        """Encode the event without kind and apiVersion, fields in the order of the reference.
        `truncate` omits the objects, so that the size is bounded."""
        subject, names = self.subject, self.names
        if self.is_typical and not truncate:
            last_decision, annotations = names.last_decided
            if last_decision is not self.decision:
                annotations = names.decided(self.decision)
            return (
                f'{prefix}{subject.opening}"{self.id}","stage":"{self.stage}{subject.typical}'
                f'{STATUSES[self.code]},"requestReceivedTimestamp":"{self.received}"'
                f',"stageTimestamp":"{self.stamp}"{annotations}}}{suffix}'
            ).encode()
        audit_id = quoted(self.id) if self.is_given else f'"{self.id}"'
        impersonated = ""
        if self.impersonated is not None:
            impersonated = f',"impersonatedUser":{names.users.json(self.impersonated)}'
            if self.constraint:
                metadata = f'{{"impersonationConstraint":{quoted(self.constraint)}}}'
                impersonated += f',"authenticationMetadata":{metadata}'
        if self.status is None:
            answer = STATUSES[self.code]
        else:
            answer = f',"responseStatus":{dumped(self.status).decode()}'
        if self.annotations or truncate:
            annotations = self._annotations(truncate=truncate)
        else:
            annotations = names.decided(self.decision)
        objects = "" if self.level < REQUEST or truncate else self._objects()
        return (
            f'{prefix}{subject.opening}{audit_id},"stage":"{self.stage}'
            f"{subject.request_json}{impersonated}{subject.caller.json}"
            f"{subject.ref if self.ref is None else self.ref}{answer}{objects}"
            f',"requestReceivedTimestamp":"{self.received}","stageTimestamp":"{self.stamp}"'
            f"{annotations}}}{suffix}"
        ).encode()

    @property
    def is_typical(self) -> bool:
        """Whether the event follows from the subject, the code and the decision alone."""
        return (
            self.level < REQUEST
            and self.status is None
            and self.annotations is None
            and self.ref is None
            and self.impersonated is None
            and not self.is_given
        )

    def _objects(self) -> str:
        objects = ""
        if self.request_object is not None:
            objects = f',"requestObject":{self.request_object.decode()}'
        if self.response_object is not None:
            objects += f',"responseObject":{self.response_object.decode()}'
        return objects

    def _annotations(self, *, truncate: bool) -> str:
        decision = self.decision
        annotations = dict(self.annotations or ())
        if self.level < REQUEST:
            annotations = {
                n: text for n, text in annotations.items() if not n.startswith(self.names.patch)
            }
        if decision is not None:
            annotations |= self.names.annotations(decision)
        if truncate:
            annotations[self.names.truncated] = "true"
        if not annotations:
            return ""
        return f',"annotations":{dumped(dict(sorted(annotations.items()))).decode()}'
