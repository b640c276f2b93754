"""Caches the subjects of requests: their attributes and the policy's verdict."""

from __future__ import annotations

from fairlead.api.audit.fragments import Caller, is_plain
from fairlead.api.audit.policy import Policy
from fairlead.api.audit.record import Names, Subject, exact_ref, plain_ref, request_fields
from fairlead.api.audit.redaction import redacted_uri
from fairlead.api.audit.sources import Callers
from fairlead.api.request import Request
from fairlead.auth.authentication.user import User
from fairlead.auth.authorization.requests import Target, attributes_of

_Key = tuple[str, str, int, int]  # path, verb, and identities of user and caller
_MAX_CACHED, _LONGEST_CACHED = 4096, 1024
_NOBODY = User("")


class Subjects:
    """The subjects of a server's requests."""

    def __init__(self, policy: Policy, names: Names) -> None:
        self.names = names
        self._policy = policy
        self._callers = Callers()
        self._cache: dict[_Key, Subject] = {}

    def judge_by(self, policy: Policy) -> None:
        """Judge later requests by another policy."""
        self._policy = policy
        self._cache.clear()

    def of(self, request: Request, user: User | None) -> Subject:
        """The subject of a request. `user` is the authenticated user (before impersonation), None
        if unknown."""
        facts = request.exchange.head.facts
        caller: Caller | None = facts.get("caller")  # cached per connection
        if caller is None:
            caller = facts["caller"] = self._callers.of(request)
        if request.query:
            return self._of_request(request, user, caller)
        key = (request.path, request.target.verb, id(user), id(caller))
        subject = self._cache.get(key)
        if subject is None or subject.user is not user or subject.caller is not caller:
            subject = self._of_request(request, user, caller)
            self._keep(key, subject)
        return subject

    def _keep(self, key: _Key, subject: Subject) -> None:
        """Cache a subject. Clears the whole cache when it is full, which is cheaper than finding
        the oldest entry when requests never repeat."""
        if len(subject.request_json) + len(subject.ref) <= _LONGEST_CACHED:
            if len(self._cache) >= _MAX_CACHED:
                self._cache.clear()
            self._cache[key] = subject

    def _of_request(self, request: Request, user: User | None, caller: Caller) -> Subject:
        target, query = request.target, request.exchange.head.query
        name = target.name
        if not name and request.query and target.is_resource:
            selector = request.parameter("fieldSelector")
            name = attributes_of(user or _NOBODY, target, selector).name
        return self.build(user, target, name, redacted_uri(request.path, query), caller)

    def build(
        self, user: User | None, target: Target, name: str, uri: str, caller: Caller
    ) -> Subject:
        ref = ""
        if target.is_resource:
            # If the whole path needs no escaping, neither do its parts.
            needs_no_escaping = uri.startswith(target.path) and (
                name == target.name or is_plain(name)
            )
            ref = plain_ref(target, name) if needs_no_escaping else exact_ref(target, name)
        verdict = self._policy.verdict(user, target, name)
        request_json = request_fields(self.names, user, target.verb, uri)
        namespace = target.namespace if target.is_resource else ""
        return Subject(user, target.verb, uri, namespace, name, caller, verdict, request_json, ref)
