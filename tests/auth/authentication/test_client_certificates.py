"""Which client certificates are trusted, and the users that they name."""

from __future__ import annotations

import os
from datetime import timedelta
from hashlib import sha256
from pathlib import Path

import pytest
from support.authentication import (
    SERVER,
    Certificate,
    FakeRequest,
    make_ca,
    make_certificate,
    user_of,
)

from fairlead.auth.authentication.authorities import (
    Authorities,
    AuthorityError,
    ClientCertificates,
    Untrusted,
)
from fairlead.auth.authentication.chain import Rejected
from fairlead.auth.authentication.front_proxy import FrontProxy
from fairlead.auth.authentication.user import User
from fairlead.base.dialect import KUBERNETES
from fairlead.base.release import V1_36
from fairlead.resources.gates import Gates


@pytest.fixture
def ca(tmp_path: Path) -> Certificate:
    return make_ca(tmp_path)


def authorities(*cas: Certificate) -> Authorities:
    return Authorities(*(ca.files[0] for ca in cas))


def refusal(trusted: Authorities, chain: tuple[bytes, ...]) -> str:
    with pytest.raises(Untrusted) as caught:
        trusted.subject(chain)
    return str(caught.value)


def test_common_name_and_organizations(tmp_path: Path, ca: Certificate) -> None:
    jane = make_certificate(tmp_path, "jane", ca, organizations=("dev", "ops"))
    method = ClientCertificates(authorities(ca))
    user = user_of(method.authenticate(FakeRequest(certificates=(jane.der,))))
    assert user == User("jane", "", ("dev", "ops", "system:authenticated"))
    assert user_of(method.authenticate(FakeRequest())) is None


def test_nameless_certificate_names_nobody(tmp_path: Path, ca: Certificate) -> None:
    nameless = make_certificate(tmp_path, "", ca, organizations=("system:masters",))
    method = ClientCertificates(authorities(ca))
    assert user_of(method.authenticate(FakeRequest(certificates=(nameless.der,)))) is None


def test_several_authorities(tmp_path: Path, ca: Certificate) -> None:
    other = make_ca(tmp_path, "other")
    trusted = authorities(ca, other)
    for issuer in (ca, other):
        jane = make_certificate(tmp_path, "jane", issuer)
        assert trusted.subject((jane.der,)).common_name == "jane"


def test_intermediate_authority(tmp_path: Path, ca: Certificate) -> None:
    middle = make_certificate(tmp_path, "middle", ca, is_ca=True)
    jane = make_certificate(tmp_path, "jane", middle)
    assert authorities(ca).subject(jane.chain).common_name == "jane"
    assert authorities(ca).subject((jane.der, middle.der)).common_name == "jane"
    assert refusal(authorities(ca), (jane.der,)).endswith("unknown authority")


class TestRefused:
    def test_unknown_authority(self, tmp_path: Path, ca: Certificate) -> None:
        stranger = make_certificate(tmp_path, "admin", make_ca(tmp_path, "test-ca"))
        assert refusal(authorities(ca), stranger.chain).endswith("unknown authority")

    def test_self_signed(self, tmp_path: Path, ca: Certificate) -> None:
        assert refusal(authorities(ca), (make_certificate(tmp_path, "admin").der,))

    def test_expired(self, tmp_path: Path, ca: Certificate) -> None:
        past = make_certificate(tmp_path, "jane", ca, end=timedelta(minutes=-1))
        assert "expired" in refusal(authorities(ca), (past.der,))

    def test_not_yet_valid(self, tmp_path: Path, ca: Certificate) -> None:
        future = make_certificate(tmp_path, "jane", ca, start=timedelta(minutes=5))
        assert "not yet valid" in refusal(authorities(ca), (future.der,))

    def test_expired_authority(self, tmp_path: Path) -> None:
        old = make_ca(tmp_path, "old", end=timedelta(minutes=-1))
        jane = make_certificate(tmp_path, "jane", old)
        assert "expired" in refusal(authorities(old), (jane.der,))

    def test_expires_while_it_is_used(
        self, tmp_path: Path, ca: Certificate, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        jane = make_certificate(tmp_path, "jane", ca)
        trusted = authorities(ca)
        trusted.subject((jane.der,))
        end = jane.certificate.not_valid_after_utc.timestamp()
        monkeypatch.setattr("fairlead.auth.authentication.authorities.time", lambda: end + 1)
        assert "expired" in refusal(trusted, (jane.der,))

    def test_for_servers(self, tmp_path: Path, ca: Certificate) -> None:
        server = make_certificate(tmp_path, "jane", ca, usage=SERVER)
        assert "not for client authentication" in refusal(authorities(ca), (server.der,))
        unspecific = make_certificate(tmp_path, "jane", ca, usage=None)
        assert authorities(ca).subject((unspecific.der,)).common_name == "jane"

    def test_issued_by_one_that_is_no_authority(self, tmp_path: Path, ca: Certificate) -> None:
        jane = make_certificate(tmp_path, "jane", ca)
        forged = make_certificate(tmp_path, "admin", jane, organizations=("system:masters",))
        assert refusal(authorities(ca), forged.chain).endswith("unknown authority")

    def test_too_long_a_path(self, tmp_path: Path) -> None:
        root = make_ca(tmp_path, "root", path_length=0)
        middle = make_certificate(tmp_path, "middle", root, is_ca=True)
        jane = make_certificate(tmp_path, "jane", middle)
        assert refusal(authorities(root), jane.chain).endswith("unknown authority")

    def test_same_name_as_the_authority(self, tmp_path: Path, ca: Certificate) -> None:
        fake = make_ca(tmp_path, "test-ca")
        forged = make_certificate(tmp_path, "admin", fake)
        assert refusal(authorities(ca), (forged.der, fake.der, ca.der))

    def test_garbage(self, ca: Certificate) -> None:
        assert refusal(authorities(ca), (b"garbage",)) == "the certificate is malformed"

    def test_a_version_that_there_is_not(self, tmp_path: Path, ca: Certificate) -> None:
        der = make_certificate(tmp_path, "jane", ca).der
        odd = der.replace(b"\xa0\x03\x02\x01\x02", b"\xa0\x03\x02\x01\x0e", 1)
        assert refusal(authorities(ca), (odd,)) == "the certificate is malformed"

    def test_rejection_reaches_the_chain(self, tmp_path: Path, ca: Certificate) -> None:
        stranger = make_certificate(tmp_path, "jane")
        with pytest.raises(Rejected, match=r"^x509: "):
            user_of(
                ClientCertificates(authorities(ca)).authenticate(
                    FakeRequest(certificates=(stranger.der,))
                )
            )


class TestReloading:
    def test_other_authorities(self, tmp_path: Path, ca: Certificate) -> None:
        other = make_ca(tmp_path, "other")
        jane, joe = (make_certificate(tmp_path, "x", issuer) for issuer in (ca, other))
        path = tmp_path / "bundle"
        path.write_text(ca.pem)
        trusted = Authorities(path)
        assert not trusted.reload()
        assert trusted.subject((jane.der,))
        assert refusal(trusted, (joe.der,))
        path.write_text(other.pem + "\n")
        assert trusted.reload()
        assert refusal(trusted, (jane.der,))
        assert trusted.subject((joe.der,))

    def test_broken_file_leaves_what_was(self, tmp_path: Path, ca: Certificate) -> None:
        jane = make_certificate(tmp_path, "jane", ca)
        path = tmp_path / "bundle"
        path.write_text(ca.pem)
        trusted = Authorities(path)
        path.write_text("broken")
        assert not trusted.reload()
        assert trusted.subject((jane.der,))
        os.remove(path)
        assert not trusted.reload()
        path.write_text(make_ca(tmp_path, "other").pem)
        assert trusted.reload()

    @pytest.mark.parametrize("content", ["", "text", "-----BEGIN CERTIFICATE-----\nx\n"])
    def test_broken_file_at_the_start(self, tmp_path: Path, content: str) -> None:
        path = tmp_path / "bundle"
        path.write_text(content)
        with pytest.raises(AuthorityError, match="no usable PEM certificate"):
            Authorities(path)
        with pytest.raises(AuthorityError, match="cannot read"):
            Authorities(tmp_path / "none")


class TestProxy:
    HEADERS = (
        ("X-Remote-User", "jane"),
        ("X-Remote-Group", "dev"),
        ("x-remote-group", "ops"),
        ("X-Remote-Extra-Acme.com%2FProject", "some"),
        ("X-Remote-Extra-scopes", "view"),
        ("X-Remote-Extra-Scopes", "edit"),
    )

    def proxy(self, ca: Certificate, *names: str) -> FrontProxy:
        return FrontProxy(
            authorities(ca),
            names,
            ["X-Missing", "X-Remote-User"],
            ["X-Remote-Group"],
            ["X-Remote-Extra-"],
        )

    def test_user_of_the_headers(self, tmp_path: Path, ca: Certificate) -> None:
        front = make_certificate(tmp_path, "front", ca)
        request = FakeRequest(*self.HEADERS, certificates=(front.der,))
        for names in ((), ("front",), ("other", "front")):
            user = user_of(self.proxy(ca, *names).authenticate(request))
            extra = {"acme.com/project": ("some",), "scopes": ("view", "edit")}
            assert user == User("jane", "", ("dev", "ops", "system:authenticated"), extra)

    def test_first_header_with_a_value_counts(self, tmp_path: Path, ca: Certificate) -> None:
        front = make_certificate(tmp_path, "front", ca)
        for headers, name in (
            ([("X-Missing", ""), ("X-Remote-User", "jane")], "jane"),
            ([("X-Remote-User", "jane"), ("X-Missing", "joe")], "joe"),
            ([("X-Remote-User", "jane"), ("X-Remote-User", "joe")], "jane"),
        ):
            request = FakeRequest(*headers, certificates=(front.der,))
            user = user_of(self.proxy(ca).authenticate(request))
            assert user is not None
            assert user.name == name

    def test_nobody_named(self, tmp_path: Path, ca: Certificate) -> None:
        front = make_certificate(tmp_path, "front", ca)
        request = FakeRequest(("X-Remote-Group", "dev"), certificates=(front.der,))
        assert user_of(self.proxy(ca).authenticate(request)) is None

    def test_headers_without_the_proxy(self, tmp_path: Path, ca: Certificate) -> None:
        stranger = make_certificate(tmp_path, "front", make_ca(tmp_path, "other"))
        for certificates in ((), (stranger.der,)):
            request = FakeRequest(*self.HEADERS, certificates=certificates)
            assert user_of(self.proxy(ca).authenticate(request)) is None

    def test_name_that_is_not_allowed(self, tmp_path: Path, ca: Certificate) -> None:
        other = make_certificate(tmp_path, "other", ca)
        request = FakeRequest(*self.HEADERS, certificates=(other.der,))
        with pytest.raises(Rejected, match="not in the allowed list"):
            user_of(self.proxy(ca, "front").authenticate(request))


# Release 1.36


def test_a_certificate_may_have_a_uid_and_shows_its_fingerprint(
    tmp_path: Path, ca: Certificate
) -> None:
    gates = Gates(release=V1_36)
    method = ClientCertificates(authorities(ca), KUBERNETES, gates)
    leaf = make_certificate(tmp_path, "jane", ca, uids=("u1",))
    user = user_of(method.authenticate(FakeRequest(certificates=(leaf.der,))))
    fingerprint = sha256(leaf.der).hexdigest()
    extra = {"authentication.kubernetes.io/credential-id": (f"X509SHA256={fingerprint}",)}
    assert user == User("jane", "u1", ("system:authenticated",), extra)
    two = make_certificate(tmp_path, "joe", ca, uids=("u1", "u2"))
    with pytest.raises(Rejected, match="more than one UID"):
        method.authenticate(FakeRequest(certificates=(two.der,)))


def test_a_proxy_may_pass_the_uid(tmp_path: Path, ca: Certificate) -> None:
    front = make_certificate(tmp_path, "front", ca)
    headers = (("X-Remote-User", "jane"), ("X-Remote-Uid", "7"))
    request = FakeRequest(*headers, certificates=(front.der,))
    proxy = FrontProxy(authorities(ca), (), ["X-Remote-User"], uid_headers=["X-Remote-Uid"])
    user = user_of(proxy.authenticate(request))
    assert user == User("jane", "7", ("system:authenticated",))
