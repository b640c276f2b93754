"""The steps of a request that never wait: routing, negotiation, the choice of its handler."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Hashable, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Protocol

from fairlead.api import access, aggregated_discovery, discovery
from fairlead.api.answers import Answer, Verb, encode, no_such_page, value_answer
from fairlead.api.delete import answer_delete, answer_delete_collection
from fairlead.api.dialect_hint import unknown_group
from fairlead.api.discovery import DiscoveryMessages
from fairlead.api.list import answer_list
from fairlead.api.methods import check_getting, check_method
from fairlead.api.metrics import ACCESS, count_deprecated
from fairlead.api.negotiation import (
    ITEM,
    JSON,
    LIST,
    NOTHING,
    Representation,
    accepts_any,
    check_partial,
    media_types,
    negotiate,
    no_representation,
)
from fairlead.api.parameters import flag, timeout_of
from fairlead.api.request import Request
from fairlead.api.routing import (
    NOWHERE,
    Target,
    is_long_running,
    route,
    scope_fits,
)
from fairlead.api.subresources import HANDLERS
from fairlead.api.verbs import answer_create, answer_get, answer_patch, answer_update
from fairlead.api.watch import answer_watch
from fairlead.auth.authentication.user import User
from fairlead.auth.authorization import constrained_impersonation
from fairlead.auth.authorization.attributes import Attributes, Decision, Refused, refusal
from fairlead.auth.authorization.requests import attributes_of, with_selectors
from fairlead.base import errors
from fairlead.base.compiled import mypyc_attr
from fairlead.base.deferred import Outcome
from fairlead.base.errors import StatusError
from fairlead.operations.api import Api
from fairlead.operations.operation import Operation
from fairlead.resources.registry import Resource

if TYPE_CHECKING:
    from fairlead.api.request import Request

Page = Callable[[Request], Outcome[Answer]]
# Authenticates a request to a page in place of the authenticator; None to use the authenticator.
# Raises StatusError.
PageAuthenticator = Callable[[Request], Awaitable[User | None]]


class Past(Protocol):
    """Answers requests for past states of objects (see `Target.past`)."""

    def authorizes(self, request: Request) -> bool:
        """Whether the handler filters its answer by the user's rights itself, so that the path
        needs no authorization."""

    def answer(self, request: Request) -> Outcome[Answer]: ...


VERBS: Final[dict[str, Verb]] = {
    "get": answer_get,
    "list": answer_list,
    "watch": answer_watch,
    "create": answer_create,
    "update": answer_update,
    "patch": answer_patch,
    "delete": answer_delete,
    "deletecollection": answer_delete_collection,
}


@mypyc_attr(allow_interpreted_subclasses=True)
class Handler:
    """Answers requests. `pages` maps paths outside of the API to handlers; `own_rules` maps path
    prefixes that bypass the authorizer to their authentication; `handlers` maps verbs of resources
    that are not plain storage; `remote` finds the proxy for a group and version that another server
    has; `groups` are the groups in discovery."""

    def __init__(self, api: Api, address: str) -> None:
        self.api = api
        self.pages: dict[str, Page] = {}
        self.prefixes: dict[str, Page] = {}
        self.own_rules: dict[str, PageAuthenticator] = {}
        self.handlers: Mapping[tuple[str, str], Verb] = HANDLERS
        self.remote: Callable[[Request], Page | None] = no_remote
        self.groups: discovery.Groups = discovery.OwnGroups(api.resources)
        self.past: Past | None = None
        self.refused: Callable[[Request, Refused], None] | None = None  # on denied requests
        self.auditor: Auditor | None = None
        self.classify: Callable[[Request], None] | None = None  # for priority and fairness
        self._address = address
        self._authorizes_selectors = api.gates["AuthorizeWithSelectors"]
        self._constrains = api.gates["ConstrainedImpersonation"]
        self._constrained: constrained_impersonation.ConstrainedImpersonation | None = None
        self._messages = DiscoveryMessages(api.resources)
        self._documents: dict[tuple[tuple[str, ...], Representation], Answer] = {}
        self._aggregated: aggregated_discovery.AggregatedDocuments | None = None
        self._documents_of: tuple[Hashable, ...] = ()

    def route(self, request: Request) -> None:
        """Set the target of a request from its method, path and query."""
        request.target = route(self.api.resources, request.method, request.path)
        if request.query:
            self._refine(request, request.target)

    def admit(self, request: Request) -> Awaitable[None] | None:
        """Authenticate, impersonate and authorize a request. Returns an awaitable for the rest if a
        step has to wait; raises StatusError."""
        target = request.target
        if request.query and not is_long_running(target):
            timeout_of(request)
        if not target.is_resource:
            rule = self.own_rules.get(request.path[1:].partition("/")[0])
            if rule is not None:
                return access.admit_to_page(self, request, rule)
        try:
            user = self.api.authentication.authenticator.authenticate(request)
        except StatusError:
            ACCESS.not_authenticated(has_credentials=bool(request.header(b"authorization")))
            raise
        if (
            not isinstance(user, User)
            or self.auditor is not None
            or request.impersonation is not None
            or request.impersonates
        ):
            return access.admit(self, request, user)
        request.user = user
        ACCESS.authenticated(user.name)
        return self.authorize(request)

    def authorize(self, request: Request) -> Awaitable[None] | None:
        """Authorize a request whose user is known, like `admit`."""
        request.charge_owner()
        if request.trace is not None:
            request.trace.identified(request, request.impersonator or request.user)
        if self.classify is not None:
            self.classify(request)
        if request.target.past and self.past is not None and self.past.authorizes(request):
            return None
        attributes = self.attributes(request)
        decision = self.api.authorizer.decide_cached(attributes)
        if decision is None:
            return access.authorize(self, request, attributes)
        self.decide(request, attributes, decision)
        return None

    @property
    def constrained(self) -> constrained_impersonation.ConstrainedImpersonation | None:
        """The impersonation of releases that constrain it."""
        if self._constrains and self._constrained is None:
            self._constrained = constrained_impersonation.ConstrainedImpersonation(
                self.api.dialect, self.api.authorizer.authorize
            )
        return self._constrained

    def attributes(self, request: Request) -> Attributes:
        """The attributes of a request for the authorizer."""
        if not request.query:
            return attributes_of(request.user, request.target, "")
        selector = request.parameter("fieldSelector")
        attributes = attributes_of(request.user, request.target, selector)
        if self._authorizes_selectors:
            labels = request.parameter("labelSelector")
            attributes = with_selectors(attributes, request.target, selector, labels)
        return attributes

    def decide(self, request: Request, attributes: Attributes, decision: Decision) -> None:
        """Raise StatusError if the decision of the authorizer does not allow the request."""
        if request.audited is not None:
            request.audited.decided(decision)
        if not decision.allowed:
            ACCESS.not_allowed(is_denied=decision.denied, has_errors=bool(decision.errors))
            raise refusal(attributes, decision)
        ACCESS.allowed += 1

    def reads_whole(self, request: Request) -> bool:
        """Whether the body is read before the handler runs, rather than streamed to another
        server."""
        return request.target.subresource != "proxy" and self.remote(request) is None

    def answer(self, request: Request) -> Outcome[Answer]:
        """The answer to an admitted request whose body has been read; raises StatusError."""
        target = request.target
        if target.past and self.past is not None:
            return self.past.answer(request)
        pass_on = self.remote(request)
        if pass_on is not None:
            return pass_on(request)
        if not target.is_resource:
            return self._page(request)
        resource = target.resource
        if resource is None or _is_misplaced(resource, target):
            return self._unknown(request)
        if resource.deprecation and request.method == "GET":
            request.warn(resource.deprecation)
        check_method(request, resource)
        if target.subresource != "proxy":  # proxied responses may have any media type
            self.negotiate(request)
        if resource.deprecation:
            request.warn(resource.deprecation)
            count_deprecated(resource)
        operation = request.operation = Operation(
            request.user,
            target.verb,
            resource,
            target.namespace,
            target.name,
            request.impersonator,
            request.warnings,
        )
        operation.deadline = request.deadline
        return self.verb(request, resource)(self.api, request, operation)

    def verb(self, request: Request, resource: Resource) -> Verb:
        """The handler for a verb that is allowed and that the resource supports."""
        verb = request.target.verb
        handler = self.handlers.get((resource.key, verb)) or VERBS.get(verb)
        if handler is None:
            raise StatusError(501, "NotImplemented", f"{verb} is not served yet")
        return handler

    def _refine(self, request: Request, target: Target) -> None:
        """Turn a list with the `watch` parameter into a watch; also a get, in dialects that support
        it."""
        watchable = target.verb == "list" or (
            target.verb == "get"
            and self.api.dialect.item_watch
            and target.is_resource
            and not target.subresource
        )
        if watchable and request.method == "GET" and flag(request, "watch"):
            target.verb = "watch"

    def negotiate(self, request: Request) -> None:
        """Set the representation of the answer. Results that depend on the headers alone are cached
        per connection for requests with the same headers."""
        verb, resource = request.target.verb, request.target.resource
        assert resource is not None
        partial = LIST if verb == "list" else ITEM
        streams, tables = verb in ("list", "watch"), resource.verbs != ("create",)
        binary, routed = not resource.lacks_protobuf, resource.main.custom is None
        facts, key = request.facts, (partial, streams, tables, binary, routed)
        values = request.query.get("pretty")
        if values is None:
            known = facts.get(key)
            if known is not None:
                request.representation = known
                return
        representation = negotiate(
            self.api.dialect,
            request.header(b"accept"),
            values[0] if values else None,
            request.user_agent,
            partial,
            streams=streams,
            tables=tables,
            binary=binary,
            routed=routed,
        )
        if verb != "watch":  # a watch has an item or list only with its first event
            check_partial(resource, representation, partial)
        request.representation = representation
        if values is None:
            facts[key] = representation

    def _unknown(self, request: Request) -> Answer:
        target, resources = request.target, self.api.resources
        if target.path.startswith(NOWHERE):
            return no_such_page()
        if target.group not in resources.groups:
            return self._no_group(target.group)
        if not resources.is_custom(target.group):
            raise errors.no_such_path()
        resource = resources.find(target.group, target.version, target.resource_name)
        named = target.name or target.subresource
        if resource is not None and named and scope_fits(resource, target):
            if resource.deprecation:
                request.warn(resource.deprecation)
            raise errors.not_found(resource.ref(target.name))
        return no_such_page()

    def _no_group(self, group: str) -> Answer:
        if refused := unknown_group(self.api.dialect, group):
            raise refused
        return no_such_page()

    def _page(self, request: Request) -> Outcome[Answer]:
        path = request.target.path
        if path.startswith(NOWHERE):
            return no_such_page()
        page = self.pages.get(path) or self.pages.get(path.rstrip("/"))
        if page is None:
            prefix = "/" + path.strip("/").partition("/")[0]
            page = self.prefixes.get(prefix)
        if page is not None:
            return page(request)
        return self._discovery(request, path.strip("/").split("/"))

    def _discovery(self, request: Request, parts: list[str]) -> Outcome[Answer]:
        resources = self.api.resources
        strict = True
        if request.path in ("/api", "/api/", "/apis") and (
            found := self._aggregated_answer(request, parts[0])
        ):
            return found
        match parts:
            case ["api"]:
                make = lambda: discovery.api_versions(resources, self._address)  # noqa: E731
            case ["api", name] if name in resources.groups[""]:
                make = partial(discovery.resource_list, resources, resources.groups[""][name])
            case ["apis"]:
                make, strict = partial(discovery.group_list, self.groups), False
            case ["apis", group] if versions := self.groups.versions().get(group):
                make, strict = partial(discovery.one_group, group, versions), False
            case ["apis", group, name] if name in resources.groups.get(group, {}):
                make = partial(discovery.resource_list, resources, resources.groups[group][name])
                strict = not resources.is_custom(group)
            case ["api", _]:
                raise errors.no_such_path()
            case ["apis", group, _] if group in resources.groups:
                if not resources.is_custom(group):
                    raise errors.no_such_path()
                return no_such_page()
            case ["apis", group, *_]:
                return self._no_group(group)
            case _:
                return no_such_page()
        if strict:
            check_getting(request)
            offered = media_types(self.api.dialect)
            if not accepts_any(request.header(b"accept"), offered):
                raise no_representation(offered)
        return self._overview(request, tuple(parts), make)

    def _aggregated_answer(self, request: Request, name: str) -> Outcome[Answer] | None:
        """The aggregated document, if the client requests it."""
        accept = request.header(b"accept")
        if "APIGroupDiscoveryList" not in accept or not self.api.gates["AggregatedDiscovery"]:
            return None
        form = aggregated_discovery.requested_form(self.api.dialect, self.api.gates, accept)
        if form is None:
            return None
        if name == "api":
            check_getting(request)
        self._forget_outdated()
        values = request.query.get("pretty")
        layout = negotiate(self.api.dialect, "", values[0] if values else None, request.user_agent)
        form = replace(form, pretty=layout.pretty)
        if self._aggregated is None:
            self._aggregated = aggregated_discovery.AggregatedDocuments(self.api.resources)
        return self._aggregated.answer(request, name, self.groups, form)

    def _forget_outdated(self) -> None:
        """Drop the cached documents if the served resources have changed."""
        generations = self.api.resources.generation, self.groups.generation
        if self._documents_of != generations:
            self._documents_of = generations
            self._documents.clear()
            self._aggregated = None

    def _overview(
        self, request: Request, name: tuple[str, ...], make: Callable[[], dict[str, Any]]
    ) -> Answer:
        """A discovery document, cached until the served resources change. Accepts any method."""
        values = request.query.get("pretty")
        representation = request.representation = negotiate(
            self.api.dialect,
            request.header(b"accept"),
            values[0] if values else None,
            request.user_agent,
            NOTHING,
        )
        self._forget_outdated()
        answer = self._documents.get((name, representation))
        if answer is None:
            answer = self._documents[name, representation] = self._described(request, make())
        return answer

    def _described(self, request: Request, value: dict[str, Any]) -> Answer:
        if request.representation.media_type == self.api.dialect.protobuf_media_type:
            return Answer(200, self._messages.encode(value), request.representation.media_type)
        return value_answer(request, 200, value, self.api.resources)

    def document(self, request: Request, value: object, media_type: str = JSON) -> Answer:
        """A document with one media type that supports GET only."""
        check_getting(request)
        if not accepts_any(request.header(b"accept"), (media_type,)):
            raise no_representation((media_type,))
        return self.any_document(request, value, media_type)

    def any_document(self, request: Request, value: object, media_type: str = JSON) -> Answer:
        """A document with one media type, for any method and Accept header."""
        values = request.query.get("pretty")
        agent = request.user_agent
        shown = negotiate(self.api.dialect, "", values[0] if values else None, agent)
        return Answer(200, encode(value, shown, self.api.resources), media_type)


def no_remote(request: Request) -> Page | None:
    """The default: no group is served by another server."""
    return None


def _is_misplaced(resource: Resource, target: Target) -> bool:
    """Whether a path to a namespaced custom resource lacks the namespace that its verb needs."""
    if resource.main.custom is None or not resource.namespaced or target.namespace:
        return False
    return target.verb not in ("list", "watch")


# Interfaces through which the request chain reports to the audit log.


class Audited(Protocol):
    """A request that is being audited."""

    def decided(self, decision: Decision) -> None:
        """Record the authorizer's decision."""

    def annotate(self, name: str, text: str) -> None:
        """Add an annotation to the audit event."""

    def failed(self, kind: str) -> None:
        """Record that the server failed, with the type of the exception."""


class Auditor(Protocol):
    def received(self, request: Request) -> Awaitable[None] | None:
        """Called once the user is known and before any work. If it returns an awaitable, the caller
        must await it. In mode blocking-strict that raises a 500 StatusError if the RequestReceived
        event cannot be stored, and the request must not run."""
