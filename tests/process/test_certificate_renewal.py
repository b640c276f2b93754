"""The server's own certificates are renewed before they expire."""

from __future__ import annotations

import logging
import socket
import ssl
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from support.logged import logged
from support.process import ServerProcess
from support.waiting import eventually

from fairlead.process.certificates.authority import Pair, Pki, ensure_pki
from fairlead.process.certificates.renewal import Renewal
from fairlead.process.certificates.validity import validity_of

START = datetime(2026, 3, 1, tzinfo=UTC)
HOSTS = ["localhost", "127.0.0.1"]


class Clock:
    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> datetime:
        return self.now

    def pass_days(self, days: float) -> None:
        self.now += timedelta(days=days)


@pytest.fixture
def clock() -> Clock:
    return Clock()


def days(path: Path, clock: Clock) -> int:
    return validity_of(path.read_bytes()).left(clock()).days


def test_lifetimes(tmp_path: Path, clock: Clock) -> None:
    pki = ensure_pki(tmp_path, HOSTS, clock)
    assert [days(pair.certificate, clock) for pair in (pki.ca, pki.serving, pki.admin)] == [
        3650,
        365,
        365,
    ]


def clock_at(moment: datetime) -> Callable[[], datetime]:
    return lambda: moment


def test_the_dates_are_those_that_a_library_reads(tmp_path: Path) -> None:
    for year in (1999, 2026, 2049, 2050, 2051):
        now = datetime(year, 2, 3, 4, 5, 6, tzinfo=UTC)
        pki = ensure_pki(tmp_path / str(year), HOSTS, clock_at(now))
        for pair in (pki.ca, pki.serving):
            pem = pair.certificate.read_bytes()
            read = x509.load_pem_x509_certificate(pem)
            validity = validity_of(pem)
            assert (validity.start, validity.end) == (
                read.not_valid_before_utc,
                read.not_valid_after_utc,
            )


@pytest.mark.parametrize("spoil", [10, 60, 200])
def test_what_is_no_certificate_has_no_dates(tmp_path: Path, spoil: int) -> None:
    pem = ensure_pki(tmp_path, HOSTS).ca.certificate.read_bytes()
    for text in (pem[:spoil], pem[spoil:], b"", b"-----BEGIN CERTIFICATE-----\xff"):
        with pytest.raises(ValueError, match="not a certificate"):
            validity_of(text)


def test_a_start_renews_what_has_less_than_a_third_left(tmp_path: Path, clock: Clock) -> None:
    pki = ensure_pki(tmp_path, HOSTS, clock)
    clock.pass_days(240)
    before = pki.serving.certificate.read_bytes()
    ensure_pki(tmp_path, HOSTS, clock)
    assert pki.serving.certificate.read_bytes() == before
    clock.pass_days(5)
    ensure_pki(tmp_path, HOSTS, clock)
    assert days(pki.serving.certificate, clock) == 365
    assert days(pki.admin.certificate, clock) == 365
    assert days(pki.ca.certificate, clock) == 3650 - 245


def test_what_was_made_by_a_clock_that_was_ahead_is_made_again(
    tmp_path: Path, clock: Clock
) -> None:
    pki = ensure_pki(tmp_path, HOSTS, clock)
    clock.pass_days(-2)
    ensure_pki(tmp_path, HOSTS, clock)
    for pair in (pki.ca, pki.serving, pki.admin, pki.proxy_ca, pki.proxy_client):
        assert validity_of(pair.certificate.read_bytes()).start <= clock()


def test_the_ca_is_renewed_with_its_key(tmp_path: Path, clock: Clock) -> None:
    pki = ensure_pki(tmp_path, HOSTS, clock)
    key, old = pki.ca.key.read_bytes(), pki.ca.certificate.read_bytes()
    clock.pass_days(3650 * 0.7)
    ensure_pki(tmp_path, HOSTS, clock)
    assert pki.ca.key.read_bytes() == key
    assert days(pki.ca.certificate, clock) == 3650
    serving = x509.load_pem_x509_certificate(pki.serving.certificate.read_bytes())
    for authority in (old, pki.ca.certificate.read_bytes()):  # clients may have either
        serving.verify_directly_issued_by(x509.load_pem_x509_certificate(authority))


def renewal(directory: Path, pki: Pki, clock: Clock, configured: Pair | None = None) -> Renewal:
    return Renewal(directory, HOSTS, pki, configured=configured, changed=lambda: None, now=clock)


def test_a_running_server_renews_its_own(tmp_path: Path, clock: Clock) -> None:
    pki = ensure_pki(tmp_path, HOSTS, clock)
    work = renewal(tmp_path, pki, clock)
    assert not work.renew()
    clock.pass_days(250)
    assert work.renew()
    assert not work.renew()
    assert days(pki.serving.certificate, clock) == 365


def test_a_renewal_that_fails_is_said_once_a_day(
    tmp_path: Path, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    pki = ensure_pki(tmp_path, HOSTS, clock)
    work = renewal(tmp_path, pki, clock)
    pki.ca.key.write_bytes(b"")
    clock.pass_days(250)
    for _ in range(5):
        assert not work.renew()
    assert logged(caplog).count("own certificates cannot be renewed") == 1
    clock.pass_days(1)
    work.renew()
    assert logged(caplog).count("own certificates cannot be renewed") == 2


@pytest.mark.parametrize(
    ("passed", "message"),
    [(200, ""), (340, "days=25"), (400, "has expired: clients refuse it")],
)
def test_a_given_certificate_that_ends_is_mentioned(
    tmp_path: Path, clock: Clock, caplog: pytest.LogCaptureFixture, passed: int, message: str
) -> None:
    given = ensure_pki(tmp_path / "given", HOSTS, clock).serving
    clock.pass_days(passed)
    pki = ensure_pki(tmp_path, HOSTS, clock)
    caplog.set_level(logging.WARNING)
    renewal(tmp_path, pki, clock, given)
    assert message in logged(caplog)
    assert bool(logged(caplog)) is bool(message)


def test_a_given_certificate_is_followed(tmp_path: Path, clock: Clock) -> None:
    given = ensure_pki(tmp_path / "given", HOSTS, clock).serving
    work = renewal(tmp_path, ensure_pki(tmp_path, HOSTS, clock), clock, given)
    good = given.certificate.read_bytes()
    given.certificate.write_bytes(b"half")
    assert not work.renew()
    given.certificate.write_bytes(good)
    assert work.renew()


def test_a_given_certificate_that_ends_does_not_hide_a_broken_one(
    tmp_path: Path, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    given = ensure_pki(tmp_path / "given", HOSTS, clock).serving
    clock.pass_days(340)
    work = renewal(tmp_path, ensure_pki(tmp_path, HOSTS, clock), clock, given)
    given.certificate.write_bytes(b"half")
    for _ in range(5):
        assert not work.renew()
    assert logged(caplog).count("the certificate read before stays in use") == 1


def served(server: ServerProcess) -> bytes:
    """The certificate of a new handshake."""
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    host, port = server.address.removeprefix("https://").split(":")
    with (
        socket.create_connection((host, int(port))) as plain,
        context.wrap_socket(plain) as connection,
    ):
        result = connection.getpeercert(True)
    assert result is not None
    return result


def test_a_renewed_certificate_is_served_without_a_restart(
    fresh_server: Callable[..., ServerProcess], tmp_path: Path
) -> None:
    days_passed = tmp_path / "days"
    days_passed.write_text("0")
    prelude = (
        "import datetime as d; from pathlib import Path;"
        " import fairlead.process.certificates.renewal as r; r._CHECK_EVERY = 0.05;"
        " real = r.utc_now;"
        f" clock = lambda: real() + d.timedelta(days=int(Path({str(days_passed)!r}).read_text()));"
        " r.Renewal.__init__.__kwdefaults__['now'] = clock"
    )
    server = fresh_server(prelude=prelude)
    before, config = served(server), (server.data / "admin.kubeconfig").read_bytes()
    days_passed.write_text("300")
    eventually(lambda: served(server) != before, "another certificate is served")
    eventually(
        lambda: (server.data / "admin.kubeconfig").read_bytes() != config,
        "the client configuration is written again",
    )
    assert x509.load_der_x509_certificate(served(server)).not_valid_after_utc > (
        datetime.now(UTC) + timedelta(days=600)
    )


def test_what_another_ca_issued_is_made_anew(tmp_path: Path, clock: Clock) -> None:
    theirs = ensure_pki(tmp_path / "theirs", HOSTS, clock)
    pki = ensure_pki(tmp_path / "mine", HOSTS, clock)
    for file in ("certificate", "key"):
        getattr(pki.ca, file).write_bytes(getattr(theirs.ca, file).read_bytes())
    ensure_pki(tmp_path / "mine", HOSTS, clock)
    ca = x509.load_pem_x509_certificate(theirs.ca.certificate.read_bytes())
    before = [pair.certificate.read_bytes() for pair in (pki.serving, pki.admin)]
    for pem in before:
        x509.load_pem_x509_certificate(pem).verify_directly_issued_by(ca)
    ensure_pki(tmp_path / "mine", HOSTS, clock)
    assert [pair.certificate.read_bytes() for pair in (pki.serving, pki.admin)] == before
