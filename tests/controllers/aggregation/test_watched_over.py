"""Proxied requests are counted, audited and limited like others."""

from __future__ import annotations

import shutil
import ssl
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.audited import Audited
from support.client import Answer
from support.extension import HERE, Caller, RawExtension, Registered, fields
from support.waiting import eventually

from fairlead.process.certificates.authority import ensure_pki


class Watched:
    """A server with an audit log, little patience, and a certificate of its own for others."""

    def __init__(self, factory: pytest.TempPathFactory) -> None:
        self.shown = ensure_pki(factory.mktemp("shown"), []).admin
        self.other = ensure_pki(factory.mktemp("other"), []).admin
        flags = (
            *("--request-timeout", "1s"),
            *("--proxy-client-cert-file", str(self.shown.certificate)),
            *("--proxy-client-key-file", str(self.shown.key)),
        )
        self.audited = Audited(factory.mktemp("watched"), *HERE, *flags)


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watched]:
    watched = Watched(tmp_path_factory)
    yield watched
    watched.audited.server.stop()


@pytest.fixture
def own(watched: Watched, raw: RawExtension) -> Iterator[Registered]:
    registered = Registered(watched.audited.server, raw.port, insecureSkipTLSVerify=True)
    yield registered
    registered.remove()


def test_audit_log_has_proxied_requests_with_their_id(
    watched: Watched, raw: RawExtension, own: Registered
) -> None:
    raw.talk = lambda caller, head: caller.answer(b"{}", 201, "audit-id: its own")
    answer: Answer = own.client.post(f"{own.path}/namespaces/plain/things", {})
    assert answer.headers.get_all("Audit-Id") == fields(raw.heads[0], "audit-id")
    event = watched.audited.last(answer)
    assert (event["verb"], event["responseStatus"]["code"]) == ("create", 201)
    assert event["objectRef"]["apiGroup"] == own.group
    assert event["objectRef"]["resource"] == "things"


def test_metrics_count_proxied_requests_by_group_and_version_only(
    raw: RawExtension, own: Registered
) -> None:
    for name in ("a", "b", "c"):
        assert own.client.get(f"{own.path}/any-{name}").status == 200
    text = own.client.get("/metrics").text
    [line] = [
        line
        for line in text.splitlines()
        if line.startswith("apiserver_request_total") and own.group in line
    ]
    assert line.endswith(" 3.0")
    for label in ('verb="LIST"', 'version="v1"', 'resource=""', 'code="200"'):
        assert label in line


def test_proxied_request_that_is_not_answered_in_time_is_504(
    raw: RawExtension, own: Registered
) -> None:
    event = threading.Event()

    def talk(caller: Caller, head: bytes) -> None:
        if caller.sock.recv(1) == b"":
            event.set()

    raw.talk = talk
    assert own.client.get(f"{own.path}/things").status == 504
    assert event.wait(20)


def test_proxied_body_that_keeps_coming_does_not_time_out(
    raw: RawExtension, own: Registered
) -> None:
    raw.talk = lambda caller, head: caller.answer(caller.body(head))
    connection = own.client.connect()
    connection.putrequest("POST", f"{own.path}/things")
    for name, value in {**own.client.head_of(), "Content-Length": "8"}.items():
        connection.putheader(name, value)
    connection.endheaders()
    for byte in b"12345678":
        threading.Event().wait(0.3)
        connection.send(bytes([byte]))
    assert connection.getresponse().read() == b"12345678"
    connection.close()


def test_the_certificate_that_is_shown_can_be_replaced(watched: Watched, tmp_path: Path) -> None:
    authority = tmp_path / "authorities.crt"
    first, second = watched.shown, watched.other
    pems = [pair.certificate.with_name("ca.crt").read_bytes() for pair in (first, second)]
    authority.write_bytes(b"".join(pems))
    strict = RawExtension(tmp_path, client_ca=authority)
    names: list[object] = []

    def talk(caller: Caller, head: bytes) -> None:
        assert isinstance(caller.sock, ssl.SSLSocket)
        names.append(caller.sock.getpeercert(binary_form=True))
        caller.answer()

    strict.talk = talk
    group = Registered(watched.audited.server, strict.port, insecureSkipTLSVerify=True)
    assert group.client.get(f"{group.path}/things").status == 200
    shutil.copy(second.key, first.key)
    assert group.client.get(f"{group.path}/things").status == 200
    shutil.copy(second.certificate, first.certificate)

    def has_changed() -> bool:
        assert group.client.get(f"{group.path}/things").status == 200
        return names[-1] != names[0]

    eventually(has_changed, "the new certificate is shown")
    group.remove()
    strict.close()
    assert strict.failures == []
