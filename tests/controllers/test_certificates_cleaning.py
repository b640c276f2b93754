"""When signing requests are deleted."""

from __future__ import annotations

from typing import Any

from support.process import MOVABLE_CLOCK, FreshServer
from support.signing_requests import Requests, request_pem
from support.waiting import eventually

MINUTE, HOUR = 60.0, 3600.0
SLACK = 5.0


def test_requests_go_by_what_became_of_them(fresh_server: FreshServer) -> None:
    server = fresh_server(prelude=MOVABLE_CLOCK)
    requests = Requests(server.client(), server.dialect)
    signer, pem = server.dialect.signer_client, request_pem("jane")

    def request(decision: str = "", usages: str = "client auth", **spec: Any) -> str:
        name = requests.create(signer, [usages], pem, **spec)
        if decision:
            requests.decide(name, decision)
        return name

    pending, denied = request(), request("Denied")
    short, issued = request("Approved", expirationSeconds=600), request("Approved")
    failed = request("Approved", "server auth")
    for name in (short, issued):
        requests.certificate(name)
    eventually(lambda: requests.condition(failed, "Failed") is not None, "it is refused")

    def gone(*names: str) -> bool:
        return not {*names} & {*requests.collection.names()}

    server.advance(10 * MINUTE + SLACK)
    eventually(lambda: gone(short), "a request whose certificate has ended goes")
    assert sorted(requests.collection.names()) == sorted([pending, denied, issued, failed])
    server.advance(50 * MINUTE)
    eventually(lambda: gone(denied, issued, failed), "what was dealt with goes after an hour")
    assert requests.collection.names() == [pending]
    server.advance(23 * HOUR)
    eventually(lambda: gone(pending), "what nobody dealt with goes after a day")


def test_the_specification_has_approved_requests_go_though_nobody_signed_them(
    fresh_server: FreshServer,
) -> None:
    server = fresh_server(dialect="cluster", prelude=MOVABLE_CLOCK)
    requests = Requests(server.client(), server.dialect)
    name = requests.create("example.com/other", ["client auth"], request_pem("jane"))
    requests.decide(name)
    server.advance(HOUR + SLACK)
    eventually(lambda: requests.collection.names() == [], "it is gone")
