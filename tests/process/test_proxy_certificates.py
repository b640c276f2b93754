"""The client certificate for extension servers, from a CA of its own."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID
from support.process import ServerProcess

from fairlead.process.certificates.authority import Pair, ensure_pki

START = datetime(2026, 3, 1, tzinfo=UTC)
HOSTS = ["localhost"]


def certificate(pair: Pair) -> x509.Certificate:
    return x509.load_pem_x509_certificate(pair.certificate.read_bytes())


def test_a_first_start_makes_a_client_certificate_of_a_ca_of_its_own(tmp_path: Path) -> None:
    pki = ensure_pki(tmp_path, HOSTS)
    client = certificate(pki.proxy_client)
    client.verify_directly_issued_by(certificate(pki.proxy_ca))
    (name,) = client.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
    assert name.value == "front-proxy-client"
    usage = client.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    assert list(usage) == [ExtendedKeyUsageOID.CLIENT_AUTH]
    with pytest.raises(ValueError, match="does not match certificate issuer"):
        client.verify_directly_issued_by(certificate(pki.ca))


def test_it_stays_until_it_runs_out(tmp_path: Path) -> None:
    pki = ensure_pki(tmp_path, HOSTS, lambda: START)
    authority, first = certificate(pki.proxy_ca), certificate(pki.proxy_client)
    ensure_pki(tmp_path, HOSTS, lambda: START + timedelta(days=200))
    assert certificate(pki.proxy_client) == first
    ensure_pki(tmp_path, HOSTS, lambda: START + timedelta(days=250))
    assert certificate(pki.proxy_client) != first
    assert certificate(pki.proxy_ca) == authority


def test_its_ca_is_renewed_with_its_key(tmp_path: Path) -> None:
    pki = ensure_pki(tmp_path, HOSTS, lambda: START)
    before, key = certificate(pki.proxy_ca), pki.proxy_ca.key.read_bytes()
    ensure_pki(tmp_path, HOSTS, lambda: START + timedelta(days=3000))
    assert certificate(pki.proxy_ca) != before
    assert pki.proxy_ca.key.read_bytes() == key
    certificate(pki.proxy_client).verify_directly_issued_by(before)


@pytest.mark.parametrize("lost", ["front-proxy-ca.key", "front-proxy-ca.crt"])
def test_a_lost_proxy_ca_is_made_anew_with_what_it_issues(tmp_path: Path, lost: str) -> None:
    before = certificate(ensure_pki(tmp_path, HOSTS).proxy_ca)
    (tmp_path / "pki" / lost).unlink()
    pki = ensure_pki(tmp_path, HOSTS)
    assert certificate(pki.proxy_ca) != before
    certificate(pki.proxy_client).verify_directly_issued_by(certificate(pki.proxy_ca))


def test_a_directory_of_an_older_release_gets_what_it_lacks(tmp_path: Path) -> None:
    pki = ensure_pki(tmp_path, HOSTS)
    kept = [certificate(pair) for pair in (pki.ca, pki.serving, pki.admin)]
    for file in (tmp_path / "pki").glob("front-proxy-*"):
        file.unlink()
    pki = ensure_pki(tmp_path, HOSTS)
    assert pki.proxy_client.exists()
    assert [certificate(pair) for pair in (pki.ca, pki.serving, pki.admin)] == kept


def test_what_it_shows_to_others_opens_no_door_here(server: ServerProcess) -> None:
    base = server.data / "pki"
    pair = (base / "front-proxy-client.crt", base / "front-proxy-client.key")
    client = server.client(token=None, certificate=pair)
    headers = {"X-Remote-User": "admin", "X-Remote-Group": "system:masters"}
    assert client.get("/api/v1/secrets", headers=headers).status == 401
