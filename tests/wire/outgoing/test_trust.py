"""Which certificates of servers are trusted, by shape. Expected results come from Go 1.19, with
which the reference is built."""

from __future__ import annotations

import asyncio
import base64
import ssl
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from fairlead.wire.outgoing.certificates import BundleError, parse_bundle
from fairlead.wire.outgoing.client_config import ClientConfig, HostCredentials
from fairlead.wire.outgoing.json_calls import JsonPoster
from fairlead.wire.outgoing.response import CallError
from fairlead.wire.outgoing.tls import Untrusted
from fairlead.wire.outgoing.trust import Trust
from fairlead.wire.outgoing.webhooks import UnusableBundle, Webhooks

HOST = "hook.ns.svc"
NOW = datetime.now(UTC).replace(microsecond=0)
DAY = timedelta(days=1)
UNKNOWN = "x509: certificate signed by unknown authority"
LATE = "x509: certificate has expired or is not yet valid: current time"
NAMED = x509.SubjectAlternativeName([x509.DNSName(HOST), x509.IPAddress(ip_address("127.0.0.1"))])
SERVER = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH])
CLIENT = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CLIENT_AUTH])
ANYTHING = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.ANY_EXTENDED_KEY_USAGE])


@dataclass(frozen=True)
class Issued:
    certificate: x509.Certificate
    key: Any

    @property
    def pem(self) -> bytes:
        return self.certificate.public_bytes(Encoding.PEM)

    @property
    def der(self) -> bytes:
        return self.certificate.public_bytes(Encoding.DER)

    @property
    def key_pem(self) -> bytes:
        pem: bytes = self.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        return pem


def issue(
    name: str,
    by: Issued | None,
    *extensions: x509.ExtensionType,
    first: datetime = NOW - DAY,
    last: datetime = NOW + DAY,
    critical: bool = False,
    key: Any = None,
    hash_with: Any = None,
) -> Issued:
    """Without `by` it signs itself."""
    key = key or ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(by.certificate.subject if by else subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(first)
        .not_valid_after(last)
    )
    for extension in extensions:
        builder = builder.add_extension(extension, critical)
    return Issued(builder.sign(by.key if by else key, hash_with or hashes.SHA256()), key)


def authority(
    name: str = "ca", by: Issued | None = None, *more: x509.ExtensionType, **options: Any
) -> Issued:
    return issue(
        name, by, x509.BasicConstraints(True, options.pop("below", None)), *more, **options
    )


def serving(by: Issued | None, *more: x509.ExtensionType, **options: Any) -> Issued:
    return issue(options.pop("name", "server"), by, *(more or (NAMED,)), **options)


def key_usage(*, signs_certificates: bool) -> x509.KeyUsage:
    rest = (False,) * 4
    return x509.KeyUsage(True, False, *rest[:3], signs_certificates, False, False, False)


def named(*names: x509.GeneralName) -> x509.SubjectAlternativeName:
    return x509.SubjectAlternativeName(names)


def why(bundle: Sequence[Issued], chain: Sequence[Issued], host: str = HOST) -> str:
    """Why a chain is not trusted; empty if it is."""
    trust = Trust(parse_bundle(b"".join(item.pem for item in bundle)))
    try:
        trust.check([item.der for item in chain], host, NOW)
    except Untrusted as error:
        return str(error)
    return ""


@cache
def ca() -> Issued:
    return authority()


@cache
def intermediate() -> Issued:
    return authority("intermediate", ca())


@cache
def leaf() -> Issued:
    return serving(ca())


def test_certificate_signed_by_the_bundle_is_trusted() -> None:
    assert why([ca()], [leaf()]) == ""
    assert why([ca()], [leaf(), ca()]) == ""
    assert why([authority("other"), ca()], [leaf()]) == ""


def test_certificate_of_another_authority_is_not_trusted() -> None:
    assert why([authority("other")], [leaf()]) == UNKNOWN
    namesake = authority()
    assert why([namesake], [leaf()]) == (
        f'{UNKNOWN} (possibly because of "x509: ECDSA verification failure" while trying to verify'
        ' candidate authority certificate "ca")'
    )
    assert why([namesake, ca()], [leaf()]) == ""


def test_a_serving_certificate_can_be_the_bundle() -> None:
    """As controller-runtime's envtest has it."""
    assert why([leaf()], [leaf()]) == ""
    alone = serving(None)
    assert why([alone], [alone]) == ""
    assert why([alone], [serving(None)]).startswith(UNKNOWN)


def test_a_serving_certificate_in_the_bundle_vouches_for_no_other() -> None:
    other = serving(leaf())
    assert why([leaf()], [other]) == (
        f'{UNKNOWN} (possibly because of "x509: invalid signature: parent certificate cannot sign'
        ' this kind of certificate" while trying to verify candidate authority certificate'
        ' "server")'
    )


def test_an_authority_may_have_the_subject_of_what_it_signs() -> None:
    """As knative's certificates have it, without key identifiers."""
    same = authority("knative")
    assert why([same], [serving(same, name="knative")]) == ""


def test_an_intermediate_authority_can_be_the_bundle() -> None:
    signed = serving(intermediate())
    assert why([intermediate()], [signed]) == ""
    assert why([ca()], [signed, intermediate()]) == ""
    assert why([ca()], [signed]) == UNKNOWN


def test_the_order_of_what_the_server_sends_does_not_matter() -> None:
    second = authority("second", intermediate())
    signed = serving(second)
    assert why([ca()], [signed, ca(), intermediate(), second]) == ""


def test_certificate_with_a_short_key_is_trusted() -> None:
    short = rsa.generate_private_key(65537, 1024)
    signer = authority(key=short)
    assert why([signer], [serving(signer, key=short)]) == ""


def test_only_subject_alternative_names_count() -> None:
    alone = issue(HOST, ca(), x509.BasicConstraints(False, None))
    assert why([ca()], [alone]) == (
        "x509: certificate relies on legacy Common Name field, use SANs instead"
    )
    other = serving(ca(), named(x509.DNSName("other.ns.svc")), name=HOST)
    assert why([ca()], [other]) == f"x509: certificate is valid for other.ns.svc, not {HOST}"
    nobody = issue("nobody", ca(), x509.BasicConstraints(False, None))
    assert why([ca()], [nobody]) == (
        f"x509: certificate is not valid for any names, but wanted to match {HOST}"
    )


@pytest.mark.parametrize(
    ("names", "host", "problem"),
    [
        ([x509.DNSName("*.ns.svc")], HOST, ""),
        ([x509.DNSName("HOOK.ns.svc")], "Hook.NS.svc.", ""),
        ([x509.DNSName("*.svc")], HOST, f"x509: certificate is valid for *.svc, not {HOST}"),
        (
            [x509.DNSName("h*.ns.svc")],
            HOST,
            f"x509: certificate is valid for h*.ns.svc, not {HOST}",
        ),
        ([x509.DNSName("a"), x509.DNSName("b")], "c", "x509: certificate is valid for a, b, not c"),
        ([x509.IPAddress(ip_address("127.0.0.1"))], "127.0.0.1", ""),
        ([x509.IPAddress(ip_address("::1"))], "[::1]", ""),
        (
            [x509.IPAddress(ip_address("127.0.0.1")), x509.IPAddress(ip_address("::1"))],
            "127.0.0.2",
            "x509: certificate is valid for 127.0.0.1, ::1, not 127.0.0.2",
        ),
        (
            [x509.DNSName("127.0.0.1")],
            "127.0.0.1",
            "x509: cannot validate certificate for 127.0.0.1 because it doesn't contain any IP"
            " SANs",
        ),
    ],
)
def test_certificate_names_and_addresses_are_matched(
    names: list[x509.GeneralName], host: str, problem: str
) -> None:
    assert why([ca()], [serving(ca(), named(*names))], host) == problem


def test_dates_are_checked_along_the_path() -> None:
    now = f"{NOW:%Y-%m-%dT%H:%M:%SZ}"
    ended, begins = NOW - timedelta(hours=1), NOW + timedelta(hours=1)
    after = f"{LATE} {now} is after {ended:%Y-%m-%dT%H:%M:%SZ}"
    assert why([ca()], [serving(ca(), last=ended)]) == after
    before = f"{LATE} {now} is before {begins:%Y-%m-%dT%H:%M:%SZ}"
    assert why([ca()], [serving(ca(), first=begins)]) == before
    old = authority("old", last=ended)
    assert why([old], [serving(old)]) == after
    stale = serving(None, last=ended)
    assert why([stale], [stale]) == after


def test_only_authorities_sign() -> None:
    for wrong in (
        issue("wrong", None, x509.BasicConstraints(False, None)),
        issue("wrong", None, NAMED),
        authority("wrong", None, key_usage(signs_certificates=False)),
    ):
        assert "parent certificate cannot sign" in why([wrong], [serving(wrong)])
    right = authority("right", None, key_usage(signs_certificates=True))
    assert why([right], [serving(right)]) == ""


def test_the_length_of_the_path_is_bounded() -> None:
    strict = authority("strict", below=0)
    between = authority("between", strict)
    assert why([strict], [serving(strict)]) == ""
    assert why([strict], [serving(between), between]) == (
        "x509: too many intermediates for path length constraint"
    )
    assert why([between], [serving(between), between, strict]) == ""


@pytest.mark.parametrize(
    ("of_authority", "of_server", "is_trusted"),
    [
        ((), (SERVER,), True),
        ((), (ANYTHING,), True),
        ((), (CLIENT,), False),
        ((SERVER,), (), True),
        ((CLIENT,), (SERVER,), False),
        ((ANYTHING,), (SERVER,), True),
    ],
)
def test_extended_key_usage(of_authority: Any, of_server: Any, is_trusted: bool) -> None:
    signer = authority("signer", None, *of_authority)
    reason = why([signer], [serving(signer, NAMED, *of_server)])
    assert reason == ("" if is_trusted else "x509: certificate specifies an incompatible key usage")


@pytest.mark.parametrize(
    ("permitted", "excluded", "problem"),
    [
        ([x509.DNSName("ns.svc"), x509.IPAddress(ip_network("127.0.0.0/8"))], None, ""),
        ([x509.DNSName(".ns.svc")], None, ""),
        ([x509.DNSName(".hook.ns.svc")], None, f'DNS name "{HOST}" is not permitted by any'),
        ([x509.DNSName("ns.example")], None, f'DNS name "{HOST}" is not permitted by any'),
        (None, [x509.DNSName("svc")], f'DNS name "{HOST}" is excluded by constraint "svc"'),
        (
            [x509.IPAddress(ip_network("10.0.0.0/8"))],
            None,
            'IP address "127.0.0.1" is not permitted',
        ),
    ],
)
def test_name_constraints(permitted: Any, excluded: Any, problem: str) -> None:
    limited = authority("limited", None, x509.NameConstraints(permitted, excluded))
    reason = why([limited], [serving(limited)])
    assert ("not authorized to sign for this name: " + problem in reason) if problem else not reason


def test_certificate_with_an_unknown_critical_extension_is_not_trusted() -> None:
    odd = x509.UnrecognizedExtension(x509.ObjectIdentifier("1.2.3.4"), b"\x05\x00")
    assert why([ca()], [serving(ca(), NAMED, odd)]) == ""
    reason = why([ca()], [serving(ca(), NAMED, odd, critical=True)])
    assert reason == "x509: unhandled critical extension"


def test_the_search_for_a_path_has_an_end() -> None:
    """CAs of one name that sign each other: each leads to all others."""
    keys = [ec.generate_private_key(ec.SECP256R1()) for _ in range(12)]
    first = authority("x", key=keys[0])
    signers = [Issued(first.certificate, key) for key in keys]
    maze = [authority("x", signer, key=key) for key in keys for signer in signers]
    signed = serving(signers[0])
    assert why([ca()], [signed, *maze]) == (
        "x509: signature check attempts limit reached while verifying certificate chain"
    )


@pytest.mark.parametrize(
    ("bundle", "problem"),
    [
        (b"garbage", "unable to parse bytes as PEM block"),
        (
            b"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n",
            "no valid certificate authority data seen",
        ),
        (
            b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
            "failed to parse certificate: x509: malformed certificate",
        ),
        (b"-----BEGIN CERTIFICATE-----\n" * 20_000, "unable to parse bytes as PEM block"),
    ],
    ids=["garbage", "key", "malformed", "without end"],
)
def test_a_bundle_without_certificates_is_none(bundle: bytes, problem: str) -> None:
    with pytest.raises(BundleError, match=problem):
        parse_bundle(bundle)


def test_bundle_may_hold_other_text_beside_certificates() -> None:
    rest = b"# words\n-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"
    assert [item.der for item in parse_bundle(rest + leaf().key_pem + ca().pem)] == [ca().der]


# Over real connections


def _server_context(
    chain: Sequence[Issued], directory: Path, version: ssl.TLSVersion | None = None
) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.set_ciphers("DEFAULT:@SECLEVEL=0")
    if version is not None:
        context.minimum_version = context.maximum_version = version
    file = directory / "serving.pem"
    file.write_bytes(chain[0].key_pem + b"".join(item.pem for item in chain))
    context.load_cert_chain(file)
    return context


Call = Callable[[str], Any]


class Responder(asyncio.Protocol):
    """Reads decrypted bytes, and answers the first."""

    received = b""

    def connection_made(self, transport: Any) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        Responder.received += data
        if b"\r\n\r\n" in data:
            body = b'{"a": 1}'
            head = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body)
            self._transport.write(head + body)


def talk(context: ssl.SSLContext, call: Call) -> Any:
    """Return the result of a call to a server; the call gets its URL."""

    async def main() -> Any:
        Responder.received = b""
        loop = asyncio.get_running_loop()
        server = await loop.create_server(Responder, "127.0.0.1", 0, ssl=context)
        try:
            return await call(f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}")
        finally:
            server.close()

    return asyncio.run(main())


def _posted(bundle: bytes, users: HostCredentials | None = None) -> Call:
    async def call(url: str) -> bytes:
        webhooks = Webhooks(lambda key, namespace, name: None)
        config = {"url": f"{url}/x", "caBundle": base64.b64encode(bundle).decode()}
        try:
            return await webhooks.webhook(config, users).post(b"secret", 10.0)
        finally:
            await webhooks.close()

    return call


def _posted_json(bundle: bytes) -> Call:
    async def call(url: str) -> Any:
        poster = JsonPoster(ClientConfig(url, ca=bundle))
        try:
            return await poster.post({"word": "secret"}, 10.0)
        finally:
            await poster.close()

    return call


both_clients = pytest.mark.parametrize("client", [_posted, _posted_json])
both_versions = pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])


def _shapes() -> dict[str, tuple[Issued, list[Issued]]]:
    short = rsa.generate_private_key(65537, 1024)
    weak, same = authority(key=short), authority("same")
    return {
        "authority": (ca(), [leaf()]),
        "itself": (leaf(), [leaf()]),
        "same subject": (same, [serving(same, name="same")]),
        "intermediate": (intermediate(), [serving(intermediate())]),
        "below": (ca(), [serving(intermediate()), intermediate()]),
        "short": (weak, [serving(weak, key=short)]),
    }


@both_clients
@pytest.mark.parametrize("shape", list(_shapes()))
def test_call_to_a_trusted_server_is_sent(shape: str, client: Any, tmp_path: Path) -> None:
    bundle, chain = _shapes()[shape]
    assert talk(_server_context(chain, tmp_path), client(bundle.pem))
    assert b"secret" in Responder.received


@both_clients
@both_versions
@pytest.mark.parametrize(
    ("chain", "problem"),
    [
        (lambda: [serving(authority("other"))], UNKNOWN),
        (lambda: [issue("127.0.0.1", ca())], "x509: certificate relies on legacy Common Name"),
        (lambda: [serving(ca(), last=NOW - timedelta(hours=1))], LATE),
    ],
    ids=["unknown", "common name", "expired"],
)
def test_call_to_an_untrusted_server_sends_nothing(
    chain: Any, problem: str, client: Any, version: ssl.TLSVersion, tmp_path: Path
) -> None:
    with pytest.raises(CallError, match=problem):
        talk(_server_context(chain(), tmp_path, version), client(ca().pem))
    assert Responder.received == b""


@both_versions
def test_a_client_certificate_is_shown_to_those_that_are_trusted_alone(
    version: ssl.TLSVersion, tmp_path: Path
) -> None:
    ours = issue("ours", ca(), CLIENT)
    users = HostCredentials({"*": ClientConfig("https://", certificate=ours.pem, key=ours.key_pem)})
    flags: list[bool] = []

    class Seeing(ssl.SSLObject):
        def do_handshake(self) -> None:
            super().do_handshake()
            flags.append(self.getpeercert() is not None)

    context = _server_context([leaf()], tmp_path, version)
    context.sslobject_class = Seeing
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_verify_locations(cadata=ca().pem.decode())
    assert talk(context, _posted(ca().pem, users)) == b'{"a": 1}'
    assert flags == [True]
    with pytest.raises(CallError, match=UNKNOWN):
        talk(context, _posted(authority("other").pem, users))
    assert flags == [True]


def test_without_a_bundle_the_authorities_of_the_machine_are_trusted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    context = _server_context([leaf()], tmp_path)
    with pytest.raises(CallError, match=UNKNOWN):
        talk(context, _posted(b""))
    file = tmp_path / "roots.pem"
    file.write_bytes(ca().pem)
    monkeypatch.setenv("SSL_CERT_FILE", str(file))
    assert talk(context, _posted(b"")) == b'{"a": 1}'


def test_a_webhook_with_an_unusable_bundle_is_not_called(tmp_path: Path) -> None:
    context = _server_context([leaf()], tmp_path)
    with pytest.raises(UnusableBundle, match=r"^unable to load root certificates: unable to parse"):
        talk(context, _posted(b"garbage"))
