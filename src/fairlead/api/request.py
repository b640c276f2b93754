"""The request as handlers see it."""

from __future__ import annotations

from math import inf
from typing import Any, Final
from urllib.parse import parse_qsl

from fairlead.api.negotiation import PLAIN_JSON, Representation
from fairlead.api.routing import Target
from fairlead.auth.authentication.impersonation import Impersonation, asks_to_impersonate
from fairlead.auth.authentication.user import User, tenant_of
from fairlead.base.caches import memoized
from fairlead.base.errors import too_large
from fairlead.operations.operation import Operation
from fairlead.resources.context import MAX_WARNINGS
from fairlead.wire.incoming.exchange import NOBODY, Exchange, Peer

Query = dict[str, list[str]]

_NO_QUERY: Final[Query] = {}


@memoized(2048, longest=512, per_byte=100)
def _parse_query(raw: bytes) -> Query:
    query: Query = {}
    for key, value in parse_qsl(raw.decode("latin-1"), keep_blank_values=True):
        query.setdefault(key, []).append(value)
    return query


class Request:
    """An HTTP request. Header names are lower-case. The chain sets `target`, `user` and
    `representation` as the request moves along. Requests of internal components have no `exchange`.
    """

    __slots__ = (
        "_body",
        "_headers",
        "audited",
        "deadline",
        "exchange",
        "flow",
        "impersonation",
        "impersonator",
        "is_admitted",
        "is_body_read",
        "method",
        "operation",
        "owner",
        "path",
        "peer",
        "query",
        "raw_headers",
        "read_bytes",
        "representation",
        "seat",
        "target",
        "trace",
        "user",
        "waited",
        "warnings",
    )

    target: Target
    user: User
    exchange: Exchange

    def __init__(
        self,
        method: str,
        path: str = "",
        raw_query: bytes = b"",
        raw_headers: list[tuple[bytes, bytes]] | None = None,
        peer: Peer = NOBODY,
    ) -> None:
        self.method = method
        self.path = path
        self.raw_headers = raw_headers if raw_headers is not None else []
        self.query = _parse_query(raw_query) if raw_query else _NO_QUERY
        self.peer = peer
        self.representation: Representation = PLAIN_JSON
        self.warnings: list[str] = []
        self.impersonator: User | None = None  # the authenticated user, if `user` is impersonated
        self.impersonation: Impersonation | None = None  # under which the credential was issued
        self.operation: Operation | None = None  # set once the request is authorized
        self.is_admitted = False  # the user is known and has the right
        self.owner = ""  # of the threads and the memory it uses, see `tenant_of`
        self.audited: Any = None  # an Audited, if auditing is on
        self.trace: Any = None  # a RequestTrace, if the request may be sampled
        self.flow: Any = None  # a Flow, if priority and fairness is on
        self.seat: Any = None  # a Seat that is held beyond the handler
        self.deadline = inf  # loop time; set if below the server's general timeout
        self._headers: dict[bytes, bytes] | None = None
        self._body: bytes | None = b""
        self.is_body_read = False
        self.read_bytes = 0  # of the body
        self.waited = 0.0  # seconds that it waited in a queue and for webhooks

    @classmethod
    def of(cls, exchange: Exchange) -> Request:
        """The request of an HTTP exchange."""
        head = exchange.head
        request = cls(head.method, head.path, head.query, head.fields, exchange.peer)
        request.exchange = exchange
        request._headers = head.named
        return request

    def header(self, name: bytes) -> str:
        """The first value of a header, or the empty string."""
        headers = self._headers
        if headers is None:
            headers = self._headers = dict(reversed(self.raw_headers))
        return headers.get(name, b"").decode("latin-1")

    @property
    def facts(self) -> dict[Any, Any]:
        return self.exchange.head.facts

    @property
    def impersonates(self) -> bool:
        """Whether the request has impersonation headers. Cached per connection for requests with
        the same headers."""
        impersonates: bool | None = self.facts.get("impersonates")
        if impersonates is None:
            impersonates = self.facts["impersonates"] = asks_to_impersonate(self.raw_headers)
        return impersonates

    def parameter(self, name: str) -> str:
        values = self.query.get(name)
        return values[0] if values else ""

    @property
    def user_agent(self) -> str:
        agent = self.header(b"user-agent")
        return agent if agent.isascii() else agent.encode("latin-1").decode(errors="replace")

    def charge_owner(self) -> None:
        """Account threads and memory to the authenticated user from now on."""
        self.owner = tenant_of(self.impersonator or self.user)
        self.exchange.set_owner(self.owner)

    def leave_seat(self) -> None:
        """Release the flow control seat; the rest of the response is sent without one."""
        seat, self.seat = self.seat, None
        if seat is not None:
            self.exchange.turn = None
            seat.leave()

    def note(self, name: str, text: str) -> None:
        """Add an annotation to the audit event, if auditing is on."""
        if self.audited is not None:
            self.audited.annotate(name, text)

    def warn(self, text: str) -> None:
        if len(self.warnings) < MAX_WARNINGS and text not in self.warnings:
            self.warnings.append(text)

    def take_body(self, body: bytes | None) -> None:
        """Set the body that was read; None for one over the limit, which was dropped."""
        self._body = body
        self.read_bytes = 0 if body is None else len(body)
        self.is_body_read = True

    def take_arrived_body(self) -> bool:
        """Take a body that has arrived whole. Returns whether the request has its body now; if not,
        the caller awaits it."""
        if not self.is_body_read:
            body = self.exchange.arrived_body()
            if body is not None:
                self.take_body(body)
        return self.is_body_read

    def start_again(self) -> None:
        """Reset what the chain has set, except for the body."""
        self.impersonator = self.impersonation = self.operation = None
        self.is_admitted = False
        self.representation = PLAIN_JSON
        self.warnings = []

    @property
    def sent(self) -> bytes:
        """The body that was read; empty if it was over the limit."""
        return self._body or b""

    def forget_body(self) -> None:
        """Drop a body that holds a secret, so that no later code can see it."""
        self._body = b""

    @property
    def body(self) -> bytes:
        """The whole body; raises 413 if it is over the limit."""
        if self._body is None:
            raise too_large(self.exchange.body_limit)
        return self._body
