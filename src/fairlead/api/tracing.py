"""The spans of requests: `--tracing-config-file`."""

from __future__ import annotations

from collections.abc import Collection
from time import time_ns
from typing import TYPE_CHECKING

from fairlead.api.audit.redaction import redacted_uri
from fairlead.api.routing import Target
from fairlead.auth.authentication.user import MASTERS, User
from fairlead.base.tracing import CURRENT, Parent, Span, Tracer, Value, parse_parent

if TYPE_CHECKING:
    from fairlead.api.request import Request

_TRUSTED = frozenset((MASTERS, "system:monitoring"))  # their `traceparent` is the parent
_NAMES = {
    "create": "Create",
    "update": "Update",
    "patch": "Patch",
    "delete": "Delete",
    "deletecollection": "Delete",
    "get": "Get",
    "list": "List",
}
# Attributes of a request by their present and former names in OpenTelemetry's conventions.
_METHOD, _AGENT, _ADDRESS, _CODE, _PROTOCOL, _SIZE = range(6)
_PRESENT = (
    *("http.request.method", "user_agent.original", "network.peer.address"),
    *("http.response.status_code", "network.protocol.version", "http.response.body.size"),
)
_FORMER = (
    *("http.method", "http.user_agent", "net.sock.peer.addr"),
    *("http.status_code", "http.flavor", "http.wrote_bytes"),
)


class RequestTracer:
    """Begins the traces of requests. With `trusts` (from release 1.36 on) the `traceparent` of
    privileged users decides; that of others only becomes a link."""

    def __init__(self, tracer: Tracer, *, trusts: bool) -> None:
        self.tracer = tracer
        self.trusts = trusts

    def begin(self, request: Request) -> RequestTrace | None:
        """Return the trace of a routed request; None if it is certainly not sampled."""
        header = request.header(b"traceparent")
        is_drawn = self.tracer.should_sample()
        if not is_drawn and not (header and self.trusts):
            return None
        return RequestTrace(self, parse_parent(header) if header else None, is_drawn)


class RequestTrace:
    """The trace of one request. Whether it is sampled is known once its user is."""

    def __init__(self, of: RequestTracer, parent: Parent | None, is_drawn: bool) -> None:
        self._of = of
        self._parent = parent
        self._is_drawn = is_drawn
        self._started = time_ns()
        self._identified = 0
        self._span: Span | None = None

    def identified(self, request: Request, user: User | None) -> None:
        """The caller is known, or known to be unknown: decide whether the request is sampled.
        Called in the task of the request, whose later steps become parts of the span."""
        if self._identified:
            return
        self._identified = time_ns()
        of, parent = self._of, self._parent
        if parent is not None and not (of.trusts and _is_trusted(user)):
            link, parent = parent, None
        else:
            link = None
        if not (parent.is_sampled if parent is not None else self._is_drawn):
            return
        name = _span_name(request) if of.trusts else "KubernetesAPI"
        span = self._span = of.tracer.root(name, parent, self._started)
        span.link = link
        span.child("authentication", start=self._started).finish(self._identified)
        CURRENT.set(span)

    def admitted(self, request: Request) -> None:
        """The request is authorized."""
        self.identified(request, request.impersonator or request.user)
        if self._span is not None:
            self._span.child("authorization", start=self._identified).finish()

    def finish(self, request: Request, code: int, seconds: float) -> None:
        """The whole answer was sent, or a watch has ended. `code` is 0 if the client has gone."""
        self.identified(request, None)
        span = self._span
        if span is None:
            return
        exchange = request.exchange
        names = _PRESENT if self._of.trusts else _FORMER
        attributes: dict[str, Value] = {
            names[_METHOD]: request.method,
            names[_AGENT]: request.user_agent,
            names[_ADDRESS]: request.peer.address,
            names[_CODE]: code,
            names[_PROTOCOL]: "1.1",
            names[_SIZE]: exchange.sent_bytes,
            "url.scheme" if self._of.trusts else "http.scheme": "https",
            "http.target": redacted_uri(request.path, exchange.head.query),
            "audit-id": request.audited.id if request.audited is not None else "",
        }
        span.note(attributes)
        if not code:
            span.error = "the client has gone"
        elif code >= 500:
            span.error = ""
        span.finish(self._started + int(seconds * 1e9))


def verb_span(target: Target) -> str:
    """The name of the span around the handler of a request."""
    return _NAMES.get(target.verb, "Handle") if target.is_resource else "Handle"


def target_attributes(request: Request) -> dict[str, Value]:
    """Attributes of the span around the handler."""
    target = request.target
    scope = "resource" if target.name else ("namespace" if target.namespace else "cluster")
    return {
        "verb": target.verb,
        "url": request.path,
        "scope": scope if target.is_resource else "",
        "api-group": target.group,
        "api-version": target.version,
        "resource": target.resource_name,
        "subresource": target.subresource,
        "namespace": target.namespace,
        "name": target.name,
        "client": request.peer.address,
        "user-agent": request.user_agent,
        "audit-id": request.audited.id if request.audited is not None else "",
    }


def _is_trusted(user: User | None) -> bool:
    groups: Collection[str] = user.groups if user is not None else ()
    return not _TRUSTED.isdisjoint(groups)


def _span_name(request: Request) -> str:
    """The method and, for a resource, the path without the names in it, of which there are few."""
    target = request.target
    if not target.is_resource or (target.resource is None and not target.remote):
        return request.method
    group = f"/apis/{target.group}" if target.group else "/api"
    path = f"{group}/{target.version}"
    if target.namespace:
        path += "/namespaces/{:namespace}"
    path += f"/{target.resource_name}"
    if target.name:
        path += "/{:name}"
    if target.subresource:
        path += f"/{target.subresource}"
    return f"{request.method} {path}"
