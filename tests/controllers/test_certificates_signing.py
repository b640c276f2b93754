"""Approved requests for the built-in signers: certificates and refusals."""

from __future__ import annotations

import signal
import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.x509.oid import ExtendedKeyUsageOID, ExtensionOID
from support.namespaces import Space
from support.process import FreshServer, failed_start
from support.signing_requests import (
    CLIENT_USAGES,
    NODE,
    SERVING_USAGES,
    Requests,
    request_pem,
    write_authority,
    write_pair,
)

VALIDATION = "SignerValidationFailure"
MINUTES_5 = timedelta(minutes=5)


@pytest.fixture
def requests(space: Space) -> Requests:
    return Requests(space.client, space.dialect)


@pytest.mark.both_dialects
def test_a_signed_client_certificate_names_its_holder(
    requests: Requests, space: Space, tmp_path: Path
) -> None:
    pem = request_pem("jane", ("dev", "ops"))
    certificate = requests.signed(space.dialect.signer_client, ["client auth"], pem)
    holder = space.server.client(token=None, certificate=write_pair(certificate, tmp_path))
    text = holder.get("/api/v1/nodes").message
    assert text.startswith('nodes is forbidden: User "jane" cannot list')


@pytest.mark.both_dialects
def test_a_signed_node_certificate_is_that_of_the_node(
    requests: Requests, space: Space, tmp_path: Path
) -> None:
    pem = request_pem("system:node:n1", NODE)
    certificate = requests.signed(space.dialect.signer_client_node, CLIENT_USAGES, pem)
    node = space.server.client(token=None, certificate=write_pair(certificate, tmp_path))
    assert node.get("/api/v1/nodes").status == 200
    assert 'User "system:node:n1"' in node.get("/api/v1/secrets").message


@pytest.mark.both_dialects
def test_a_signed_serving_certificate_can_be_served_with(
    requests: Requests, space: Space, tmp_path: Path
) -> None:
    pem = request_pem("system:node:n1", NODE, dns=("n1.example",), addresses=("10.1.2.3",))
    certificate = requests.signed(space.dialect.signer_node_serving, SERVING_USAGES, pem)
    for host in ("n1.example", "10.1.2.3"):
        assert _is_trusted(host, write_pair(certificate, tmp_path), space.server.ca)
    assert not _is_trusted("other.example", write_pair(certificate, tmp_path), space.server.ca)


def _is_trusted(host: str, pair: tuple[Path, Path], ca: Path) -> bool:
    """Whether a client that knows the CA trusts whoever serves with this pair as this host."""
    serving = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    serving.load_cert_chain(*pair)
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    server = serving.wrap_bio(to_server, to_client, server_side=True)
    trusting = ssl.create_default_context(cafile=str(ca))
    client = trusting.wrap_bio(to_client, to_server, server_hostname=host)
    for _ in range(4):
        for side in (client, server):
            try:
                side.do_handshake()
            except ssl.SSLWantReadError:
                continue
            except ssl.SSLCertVerificationError:
                return False
    return client.version() is not None


@pytest.mark.both_dialects
def test_what_a_certificate_says(requests: Requests, space: Space) -> None:
    before = datetime.now(UTC).replace(microsecond=0)
    pem = request_pem(
        "jane",
        dns=("a.example",),
        emails=("jane@a.example",),
        extensions=(x509.BasicConstraints(ca=True, path_length=None), x509.OCSPNoCheck()),
    )
    usages = ["client auth", "digital signature"]
    certificate = requests.signed(space.dialect.signer_client, usages, pem)
    extensions = certificate.extensions
    assert {extension.oid for extension in extensions} == {
        ExtensionOID.BASIC_CONSTRAINTS,
        ExtensionOID.KEY_USAGE,
        ExtensionOID.EXTENDED_KEY_USAGE,
        ExtensionOID.SUBJECT_ALTERNATIVE_NAME,
        ExtensionOID.AUTHORITY_KEY_IDENTIFIER,
    }
    assert not extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    bits = extensions.get_extension_for_class(x509.KeyUsage).value
    assert bits.digital_signature
    assert not bits.key_encipherment
    purposes = extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    assert list(purposes) == [ExtendedKeyUsageOID.CLIENT_AUTH]
    names = extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == ["a.example"]
    assert names.get_values_for_type(x509.RFC822Name) == ["jane@a.example"]
    assert (
        timedelta(0) <= certificate.not_valid_before_utc + MINUTES_5 - before < timedelta(minutes=1)
    )
    assert certificate.not_valid_after_utc - certificate.not_valid_before_utc == timedelta(days=365)


@pytest.mark.both_dialects
def test_of_several_common_names_the_last_is_checked_and_given(
    requests: Requests, space: Space
) -> None:
    """Otherwise one could be checked and another one be obeyed."""
    signer = space.dialect.signer_client_node
    pem = request_pem(("system:node:n1", "admin"), NODE)
    _, message = requests.refusal(signer, CLIENT_USAGES, pem)
    assert message == "subject common name does not begin with system:node:"
    certificate = requests.signed(
        signer, CLIENT_USAGES, request_pem(("admin", "system:node:n1"), NODE)
    )
    assert certificate.subject.rfc4514_string() == "CN=system:node:n1,O=system:nodes"


def test_a_certificate_that_cannot_be_stored_is_refused(kubernetes: Space) -> None:
    requests = Requests(kubernetes.client, kubernetes.dialect)
    groups = tuple(f"group-{number}" for number in range(25_000))
    pem = request_pem("jane", groups)
    reason, message = requests.refusal(kubernetes.dialect.signer_client, CLIENT_USAGES, pem)
    assert reason == "SignerValidationFailure"
    assert message == "the certificate is too large to be stored"


@pytest.mark.both_dialects
def test_a_shorter_life_can_be_asked_for(requests: Requests, space: Space) -> None:
    signer, pem = space.dialect.signer_client, request_pem("jane")
    short = requests.signed(signer, ["client auth"], pem, expirationSeconds=600)
    assert short.not_valid_after_utc - short.not_valid_before_utc == timedelta(seconds=600 + 300)
    day = requests.signed(signer, ["client auth"], pem, expirationSeconds=86400)
    assert day.not_valid_after_utc - day.not_valid_before_utc == timedelta(days=1)
    long = requests.signed(signer, ["client auth"], pem, expirationSeconds=2_000_000_000)
    assert long.not_valid_after_utc - long.not_valid_before_utc == timedelta(days=365)


NODE_NAME = "system:node:n1"
NODE_USAGES = "usages did not match [client auth digital signature key encipherment]"
NODE_SERVING_USAGES = "usages did not match [digital signature key encipherment server auth]"
NO_NODE = "subject common name does not begin with system:node:"
NO_GROUP = "subject organization is not system:nodes"


@pytest.mark.both_dialects
@pytest.mark.parametrize(
    ("usages", "message"),
    [
        (["server auth"], "invalid usage for client certificate: server auth"),
        (["client auth", "cert sign"], "invalid usage for client certificate: cert sign"),
        (["digital signature"], "missing required usage for client certificate: client auth"),
    ],
)
def test_client_certificates_have_usages_of_clients_only(
    requests: Requests, space: Space, usages: list[str], message: str
) -> None:
    pem = request_pem("jane")
    error = requests.refusal(space.dialect.signer_client, usages, pem)
    assert error == (VALIDATION, message)


@pytest.mark.both_dialects
@pytest.mark.parametrize(
    ("pem", "usages", "message"),
    [
        (request_pem(NODE_NAME), CLIENT_USAGES, NO_GROUP),
        (request_pem(NODE_NAME, ("system:nodes", "dev")), CLIENT_USAGES, NO_GROUP),
        (request_pem("n1", NODE), CLIENT_USAGES, NO_NODE),
        (
            request_pem(NODE_NAME, NODE, dns=("a",)),
            CLIENT_USAGES,
            "DNS subjectAltNames are not allowed",
        ),
        (
            request_pem(NODE_NAME, NODE, emails=("a@b.c",)),
            CLIENT_USAGES,
            "Email subjectAltNames are not allowed",
        ),
        (
            request_pem(NODE_NAME, NODE, addresses=("10.0.0.1",)),
            CLIENT_USAGES,
            "IP subjectAltNames are not allowed",
        ),
        (
            request_pem(NODE_NAME, NODE, uris=("spiffe://a",)),
            CLIENT_USAGES,
            "URI subjectAltNames are not allowed",
        ),
        (request_pem(NODE_NAME, NODE), [*CLIENT_USAGES, "server auth"], NODE_USAGES),
        (request_pem(NODE_NAME, NODE), ["client auth"], NODE_USAGES),
    ],
)
def test_client_certificates_of_nodes_are_for_nodes(
    requests: Requests, space: Space, pem: bytes, usages: list[str], message: str
) -> None:
    error = requests.refusal(space.dialect.signer_client_node, usages, pem)
    assert error == (VALIDATION, message)


@pytest.mark.both_dialects
@pytest.mark.parametrize(
    ("pem", "usages", "message"),
    [
        (request_pem(NODE_NAME, dns=("a",)), SERVING_USAGES, NO_GROUP),
        (request_pem("n1", NODE, dns=("a",)), SERVING_USAGES, NO_NODE),
        (request_pem(NODE_NAME, NODE), SERVING_USAGES, "DNS or IP subjectAltName is required"),
        (
            request_pem(NODE_NAME, NODE, dns=("a",), emails=("a@b.c",)),
            SERVING_USAGES,
            "Email subjectAltNames are not allowed",
        ),
        (
            request_pem(NODE_NAME, NODE, dns=("a",), uris=("spiffe://a",)),
            SERVING_USAGES,
            "URI subjectAltNames are not allowed",
        ),
        (request_pem(NODE_NAME, NODE, dns=("a",)), CLIENT_USAGES, NODE_SERVING_USAGES),
    ],
)
def test_serving_certificates_of_nodes_are_for_nodes(
    requests: Requests, space: Space, pem: bytes, usages: list[str], message: str
) -> None:
    error = requests.refusal(space.dialect.signer_node_serving, usages, pem)
    assert error == (VALIDATION, message)


def test_the_reference_lets_node_keys_do_without_encipherment(kubernetes: Space) -> None:
    requests = Requests(kubernetes.client, kubernetes.dialect)
    pem = request_pem(NODE_NAME, NODE)
    usages = ["digital signature", "client auth"]
    assert requests.signed(kubernetes.dialect.signer_client_node, usages, pem)


def test_the_specification_wants_the_three_usages_of_nodes(cluster: Space) -> None:
    requests = Requests(cluster.client, cluster.dialect)
    pem = request_pem(NODE_NAME, NODE)
    usages = ["digital signature", "client auth"]
    error = requests.refusal(cluster.dialect.signer_client_node, usages, pem)
    assert error == (VALIDATION, NODE_USAGES)


@pytest.mark.both_dialects
def test_what_is_denied_or_for_other_signers_is_not_signed(
    requests: Requests, space: Space
) -> None:
    pem = request_pem("jane")
    denied = requests.create(space.dialect.signer_client, ["client auth"], pem)
    requests.decide(denied, "Denied")
    other = requests.create("example.com/other", ["client auth"], pem)
    requests.decide(other)
    requests.signed(space.dialect.signer_client, ["client auth"], pem)  # they had their turn
    for name in (denied, other):
        status = requests.collection.read(name)["status"]
        assert "certificate" not in status
        assert len(status["conditions"]) == 1


def test_the_ca_of_the_flags_signs_and_is_read_again(
    fresh_server: FreshServer, tmp_path: Path
) -> None:
    certificate, key = write_authority(tmp_path, "first", timedelta(hours=3))
    server = fresh_server(
        f"--cluster-signing-cert-file={certificate}",
        f"--cluster-signing-key-file={key}",
        "--cluster-signing-duration=2h",
    )
    requests = Requests(server.client(), server.dialect)

    def signed() -> x509.Certificate:
        signer = server.dialect.signer_client
        return requests.signed(signer, ["client auth"], request_pem("jane"))

    result = signed()
    assert result.issuer.rfc4514_string() == "CN=first"
    assert (
        result.not_valid_after_utc - result.not_valid_before_utc == timedelta(hours=2) + MINUTES_5
    )
    write_authority(tmp_path, "second", timedelta(hours=1))
    result = signed()
    assert result.issuer.rfc4514_string() == "CN=second"
    ca = x509.load_pem_x509_certificate(certificate.read_bytes())
    assert result.not_valid_after_utc == ca.not_valid_after_utc, "not beyond the end of the CA"
    key.write_text("half of a key")
    assert signed().issuer.rfc4514_string() == "CN=second"
    assert "the server keeps using the signing CA that it has" in server.log.read_text()


def test_each_signer_can_have_a_ca_of_its_own(fresh_server: FreshServer, tmp_path: Path) -> None:
    certificate, key = write_authority(tmp_path, "serving-ca")
    server = fresh_server(
        f"--cluster-signing-node-agent-serving-cert-file={certificate}",
        f"--cluster-signing-kubelet-serving-key-file={key}",
        dialect="cluster",
    )
    requests = Requests(server.client(), server.dialect)
    pem = request_pem(NODE_NAME, NODE, dns=("n1",))
    serving = requests.signed(server.dialect.signer_node_serving, SERVING_USAGES, pem)
    assert serving.issuer.rfc4514_string() == "CN=serving-ca"
    client = requests.signed(server.dialect.signer_client, ["client auth"], request_pem("jane"))
    assert client.issuer.rfc4514_string() == "CN=fairlead-ca"


def test_an_end_in_the_middle_of_signing_leaves_nothing_unsigned(
    fresh_server: FreshServer,
) -> None:
    server = fresh_server()
    signer = server.dialect.signer_client
    names: list[str] = []
    for _ in range(2):
        requests = Requests(server.client(), server.dialect)
        for number in range(10):
            names.append(requests.create(signer, ["client auth"], request_pem(f"u{number}")))
            requests.decide(names[-1])
        server.signal(signal.SIGKILL)
        server.wait()
        server.start()
    requests = Requests(server.client(), server.dialect)
    for name in names:
        requests.certificate(name)
        assert len(requests.collection.read(name)["status"]["conditions"]) == 1
    assert "Traceback" not in server.log.read_text()


def test_bad_files_stop_the_start_and_are_named(tmp_path: Path) -> None:
    certificate, key = write_authority(tmp_path, "first")
    key.unlink()
    done = failed_start(
        tmp_path,
        f"--cluster-signing-cert-file={certificate}",
        f"--cluster-signing-key-file={key}",
    )
    assert done.returncode == 1
    flags = "--cluster-signing-cert-file, --cluster-signing-key-file"
    message = f"fairlead: {flags}: cannot read {key}: No such file or directory"
    assert done.stderr.splitlines() == [message]
