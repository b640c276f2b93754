"""Caches the subjects of requests: their attributes and the policy's verdict."""

from __future__ import annotations

from fairlead.api.audit.fragments import Caller, is_plain
from fairlead.api.audit.policy import Policy
from fairlead.api.audit.record import Names, Subject, asked, exact_ref, plain_ref
from fairlead.api.audit.redaction import shown_uri
from fairlead.api.audit.sources import Callers
from fairlead.api.request import Request
from fairlead.auth.authentication.user import User
from fairlead.auth.authorization.requests import Target, attributes_of

_Key = tuple[str, str, int, int]  # path, verb, and identities of user and caller
_MAX_KNOWN, _LONGEST_KNOWN = 4096, 1024
_NOBODY = User("")


class Subjects:
    """The subjects of a server's requests."""

    def __init__(self, policy: Policy, names: Names) -> None:
        self.names = names
        self._policy = policy
        self._callers = Callers()
        self._known: dict[_Key, Subject] = {}

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
        known = self._known.get(key)
        if known is None or known.user is not user or known.caller is not caller:
            known = self._of_request(request, user, caller)
            self._remember(key, known)
        return known

    def _remember(self, key: _Key, subject: Subject) -> None:
        """Cache a subject. Clears the whole cache when it is full, which is cheaper than finding
        the oldest entry when requests never repeat."""
        if len(subject.asked) + len(subject.ref) <= _LONGEST_KNOWN:
            if len(self._known) >= _MAX_KNOWN:
                self._known.clear()
            self._known[key] = subject

    def _of_request(self, request: Request, user: User | None, caller: Caller) -> Subject:
        target, query = request.target, request.exchange.head.query
        name = target.name
        if not name and request.query and target.is_resource:
            selector = request.parameter("fieldSelector")
            name = attributes_of(user or _NOBODY, target, selector).name
        return self.made(user, target, name, shown_uri(request.path, query), caller)

    def made(
        self, user: User | None, target: Target, name: str, uri: str, caller: Caller
    ) -> Subject:
        ref = ""
        if target.is_resource:
            # If the whole path needs no escaping, neither do its parts.
            plain = uri.startswith(target.path) and (name == target.name or is_plain(name))
            ref = plain_ref(target, name) if plain else exact_ref(target, name)
        verdict = self._policy.verdict(user, target, name)
        told = asked(self.names, user, target.verb, uri)
        namespace = target.namespace if target.is_resource else ""
        return Subject(user, target.verb, uri, namespace, name, caller, verdict, told, ref)
