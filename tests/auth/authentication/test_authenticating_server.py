"""Authentication of a whole server, through TLS and HTTP, attacks included."""

from __future__ import annotations

import http.client
import json
import os
import ssl
import stat
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import jwt
import pytest
from support.authentication import (
    SERVER,
    Certificate,
    JsonServer,
    OidcProvider,
    forged,
    make_ca,
    make_certificate,
    rsa_key,
    signed_with_public_key,
    token_of,
)
from support.client import Answer, Client
from support.process import ServerProcess, failed_start
from support.waiting import await_value

REVIEWS = "/apis/authentication.k8s.io/v1/tokenreviews"
NAMESPACE = "/api/v1/namespaces/default"
ACCOUNTS = f"{NAMESPACE}/serviceaccounts"
FreshServer = Callable[..., ServerProcess]


def request_token(client: Client, account: str = "default", **spec: Any) -> str:
    answer = client.post(f"{ACCOUNTS}/{account}/token", {"spec": spec})
    assert answer.status == 201, answer.text
    return str(answer.body["status"]["token"])


def who_is(client: Client) -> str:
    """Return the user that a TokenReview of our own token names."""
    answer = client.get("/api/v1/namespaces/none-of-us/secrets/none")
    assert answer.status == 403, answer.text
    return answer.message.split('"')[3]


def refused(answer: Answer) -> bool:
    return answer.status == 401 and answer.body["message"] == "Unauthorized"


def eventually_default_account(client: Client) -> None:
    await_value(lambda: client.get(f"{ACCOUNTS}/default").status == 200)


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    created = ServerProcess(
        tmp_path_factory.mktemp("authn"),
        "kubernetes",
        ("--enable-bootstrap-token-auth", "--service-account-max-token-expiration", "2h"),
    ).start()
    eventually_default_account(created.client())
    yield created
    created.stop()


@pytest.fixture
def admin(running: ServerProcess) -> Client:
    return running.client()


class TestServiceAccounts:
    def test_token_of_an_account(self, running: ServerProcess, admin: Client) -> None:
        token = request_token(admin)
        assert who_is(running.client(token)) == "system:serviceaccount:default:default"
        answer = admin.post(REVIEWS, {"spec": {"token": token}})
        assert answer.body["status"]["authenticated"] is True
        assert answer.body["status"]["audiences"] == ["https://kubernetes.default.svc"]

    def test_others_can_check_it(self, admin: Client) -> None:
        token = request_token(admin, audiences=["vault"])
        configuration = admin.get("/.well-known/openid-configuration").body
        assert configuration["jwks_uri"].endswith("/openid/v1/jwks")
        keys = jwt.PyJWKSet.from_dict(admin.get("/openid/v1/jwks").body)
        key = keys[jwt.get_unverified_header(token)["kid"]]
        claims = jwt.decode(token, key, audience="vault", issuer=configuration["issuer"])
        assert claims["sub"] == "system:serviceaccount:default:default"

    def test_who_asked_owns_what_was_asked(self, admin: Client) -> None:
        body = {"spec": {"audiences": ["api"]}}
        answer = admin.post(f"{ACCOUNTS}/default/token", body)
        (entry,) = answer.body["metadata"]["managedFields"]
        assert entry["apiVersion"] == "authentication.k8s.io/v1"
        assert entry["subresource"] == "token"
        assert entry["fieldsV1"] == {"f:spec": {"f:audiences": {}, "f:expirationSeconds": {}}}

    def test_longest_life(self, admin: Client) -> None:
        body = {"spec": {"expirationSeconds": 36000}}
        answer = admin.post(f"{ACCOUNTS}/default/token", body)
        assert answer.body["spec"]["expirationSeconds"] == 7200
        assert "shortened to 7200 seconds" in answer.warnings[0]

    @pytest.mark.parametrize("bound", [False, True], ids=["account", "secret"])
    def test_revoked_within_a_second(
        self, running: ServerProcess, admin: Client, bound: bool
    ) -> None:
        name = f"robot-{bound}".lower()
        admin.post(ACCOUNTS, {"metadata": {"name": name}})
        admin.post(f"{NAMESPACE}/secrets", {"metadata": {"name": name}})
        spec = {"boundObjectRef": {"kind": "Secret", "name": name}} if bound else {}
        user = running.client(request_token(admin, name, **spec))
        assert user.get(f"{NAMESPACE}/pods").status == 403
        collection = "secrets" if bound else "serviceaccounts"
        assert admin.request("DELETE", f"{NAMESPACE}/{collection}/{name}").status == 200
        assert refused(user.get(f"{NAMESPACE}/pods"))
        admin.post(f"{NAMESPACE}/{collection}", {"metadata": {"name": name}})
        assert refused(user.get(f"{NAMESPACE}/pods"))

    def test_legacy_token(self, running: ServerProcess, admin: Client) -> None:
        admin.post(ACCOUNTS, {"metadata": {"name": "old"}})
        secret = {
            "metadata": {
                "name": "old-token",
                "annotations": {"kubernetes.io/service-account.name": "old"},
            },
            "type": "kubernetes.io/service-account-token",
        }
        admin.post(f"{NAMESPACE}/secrets", secret)

        def token() -> str | None:
            data = admin.get(f"{NAMESPACE}/secrets/old-token").body.get("data") or {}
            return data.get("token")

        from base64 import b64decode

        user = running.client(b64decode(await_value(token)).decode())
        assert who_is(user) == "system:serviceaccount:default:old"
        admin.request("DELETE", f"{NAMESPACE}/secrets/old-token")
        assert refused(user.get("/api"))


class TestAttacks:
    @pytest.fixture
    def claims(self, admin: Client) -> dict[str, Any]:
        text = jwt.decode(request_token(admin), options={"verify_signature": False})
        return dict(text)

    def test_forged_tokens(
        self, running: ServerProcess, admin: Client, claims: dict[str, Any]
    ) -> None:
        key_id = admin.get("/openid/v1/jwks").body["keys"][0]["kid"]
        key = rsa_key()
        for token in (
            forged({"alg": "none"}, claims),
            forged({"alg": "none", "kid": key_id}, claims),
            signed_with_public_key(claims, key, key_id),
            token_of(claims, key, "RS256", key_id),
            token_of(claims, key, "RS256"),
            token_of({**claims, "iss": "https://evil.example"}, key, "RS256"),
        ):
            assert refused(running.client(token).get("/healthz"))
            review = admin.post(REVIEWS, {"spec": {"token": token}}).body["status"]
            assert "authenticated" not in review
            assert token not in review["error"]

    def test_token_in_the_query(self, running: ServerProcess) -> None:
        nobody = running.client(None)
        for name in ("token", "access_token", "authorization", "bearer"):
            answer = nobody.get(f"{NAMESPACE}/secrets?{name}=admin-token")
            assert answer.status == 403
            assert "system:anonymous" in answer.message

    def test_headers_of_a_proxy_that_is_none(self, running: ServerProcess) -> None:
        headers = {"X-Remote-User": "admin", "X-Remote-Group": "system:masters"}
        assert running.client(None).get(f"{NAMESPACE}/secrets", headers=headers).status == 403
        answer = running.client("alice-token").get(f"{NAMESPACE}/secrets", headers=headers)
        assert 'User "alice"' in answer.message

    def test_impersonation_without_rights(self, running: ServerProcess) -> None:
        alice = running.client("alice-token")
        for headers in (
            {"Impersonate-User": "admin"},
            {"impersonate-user": "alice", "Impersonate-Group": "system:masters"},
            {"IMPERSONATE-USER": "system:serviceaccount:default:default"},
        ):
            answer = alice.get("/api", headers=headers)
            assert answer.status == 403
            assert "cannot impersonate resource" in answer.message
        assert alice.get("/api", headers={"Impersonate-Group": "system:masters"}).status == 400
        nobody = running.client(None)
        assert nobody.get("/healthz", headers={"Impersonate-User": "admin"}).status == 403

    def test_impersonation_gives_no_more_than_its_target_has(self, admin: Client) -> None:
        answer = admin.get(f"{NAMESPACE}/secrets", headers={"Impersonate-User": "carol"})
        assert answer.status == 403
        assert 'User "carol"' in answer.message

    def test_oversized_head(self, running: ServerProcess) -> None:
        connection = running.client().connect()
        connection.putrequest("GET", "/api")
        connection.putheader("Authorization", "Bearer " + "x" * 2_000_000)
        try:
            connection.endheaders()
            assert connection.getresponse().status in (431, 400)
        except (OSError, http.client.HTTPException):
            pass  # closed while we were still sending
        finally:
            connection.close()
        assert running.client().get("/healthz").status == 200

    def test_large_but_allowed_token(self, running: ServerProcess) -> None:
        assert refused(running.client("x" * 60_000).get("/healthz"))

    @pytest.mark.parametrize("scheme", ["Basic", "Token", "Negotiate"])
    def test_other_schemes_are_anonymous(self, running: ServerProcess, scheme: str) -> None:
        nobody = running.client(None)
        headers = {"Authorization": f"{scheme} admin-token"}
        assert nobody.get("/healthz", headers=headers).status == 200
        assert nobody.get(f"{NAMESPACE}/secrets", headers=headers).status == 403

    def test_second_space(self, running: ServerProcess) -> None:
        headers = {"Authorization": "Bearer  admin-token"}
        answer = running.client(None).get(f"{NAMESPACE}/secrets", headers=headers)
        assert answer.status == 403
        assert "extra space before the bearer token" in answer.warnings[0]

    def test_bad_token_is_refused_everywhere(self, running: ServerProcess) -> None:
        for path in ("/healthz", "/version", "/metrics", "/none", "/api/v1/pods"):
            assert refused(running.client("wrong").get(path))


class TestBootstrapTokens:
    def test_token(self, running: ServerProcess, admin: Client) -> None:
        secret = {
            "metadata": {"name": "bootstrap-token-abcdef"},
            "type": "bootstrap.kubernetes.io/token",
            "stringData": {
                "token-id": "abcdef",
                "token-secret": "0123456789abcdef",
                "usage-bootstrap-authentication": "true",
            },
        }
        path = "/api/v1/namespaces/kube-system/secrets"
        user = running.client("abcdef.0123456789abcdef")
        assert refused(user.get("/api"))
        assert admin.post(path, secret).status == 201
        assert who_is(user) == "system:bootstrap:abcdef"
        assert refused(running.client("abcdef.fedcba9876543210").get("/api"))
        admin.request("DELETE", f"{path}/bootstrap-token-abcdef")
        assert refused(user.get("/api"))


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("certificates")


@pytest.fixture(scope="module")
def clients(place: Path) -> Certificate:
    return make_ca(place, "clients")


@pytest.fixture(scope="module")
def proxies(place: Path) -> Certificate:
    return make_ca(place, "proxies")


@pytest.fixture(scope="module")
def guarded(place: Path, clients: Certificate, proxies: Certificate) -> Iterator[ServerProcess]:
    bundle = place / "bundle.crt"
    bundle.write_text(clients.pem)
    created = ServerProcess(
        place,
        "kubernetes",
        (
            *("--client-ca-file", str(bundle)),
            *("--requestheader-client-ca-file", str(proxies.files[0])),
            *("--requestheader-username-headers", "X-Remote-User"),
            *("--requestheader-group-headers", "X-Remote-Group"),
            *("--requestheader-extra-headers-prefix", "X-Remote-Extra-"),
            *("--requestheader-allowed-names", "front"),
        ),
    ).start()
    yield created
    created.stop()


class TestCertificates:
    def user_of(self, guarded: ServerProcess, certificate: Certificate) -> str:
        return str(who_is(guarded.client(None, certificate.files)))

    def is_refused(self, guarded: ServerProcess, certificate: Certificate) -> bool:
        """401, or a TLS alert."""
        try:
            return refused(guarded.client(None, certificate.files).get("/healthz"))
        except (ssl.SSLError, ConnectionError, http.client.HTTPException):
            return True

    def test_user(self, guarded: ServerProcess, place: Path, clients: Certificate) -> None:
        jane = make_certificate(place, "jane", clients, organizations=("dev",))
        assert self.user_of(guarded, jane) == "jane"
        master = make_certificate(place, "root", clients, organizations=("system:masters",))
        assert guarded.client(None, master.files).get("/api/v1/secrets").status == 200

    def test_own_admin_certificate(self, guarded: ServerProcess) -> None:
        pki = guarded.data / "pki"
        client = guarded.client(None, (pki / "admin.crt", pki / "admin.key"))
        assert client.get("/api/v1/secrets").status == 200

    def test_intermediate_authority(
        self, guarded: ServerProcess, place: Path, clients: Certificate
    ) -> None:
        middle = make_certificate(place, "middle", clients, is_ca=True)
        jane = make_certificate(place, "jane", middle)
        assert self.user_of(guarded, jane) == "jane"

    def test_bad_certificates(
        self, guarded: ServerProcess, place: Path, clients: Certificate
    ) -> None:
        for certificate in (
            make_certificate(place, "jane", clients, end=timedelta(minutes=-1)),
            make_certificate(place, "jane", clients, start=timedelta(minutes=5)),
            make_certificate(place, "jane", clients, usage=SERVER),
            make_certificate(place, "jane", make_ca(place, "unknown")),
            make_certificate(place, "jane"),
        ):
            assert self.is_refused(guarded, certificate)

    def test_without_a_certificate(self, guarded: ServerProcess) -> None:
        assert guarded.client(None).get("/healthz").status == 200
        assert guarded.client("admin-token").get("/api/v1/secrets").status == 200

    def test_expires_on_an_open_connection(
        self, guarded: ServerProcess, place: Path, clients: Certificate
    ) -> None:
        brief = make_certificate(place, "jane", clients, end=timedelta(seconds=2))
        client = guarded.client(None, brief.files)
        assert client.get("/healthz").status == 200
        time.sleep(2.1)
        assert refused(client.get("/healthz"))

    def test_proxy(self, guarded: ServerProcess, place: Path, proxies: Certificate) -> None:
        front = make_certificate(place, "front", proxies)
        client = guarded.client(None, front.files)
        assert refused(client.get("/healthz"))  # the proxy itself is nobody
        answer = client.get("/api/v1/secrets", headers={"X-Remote-User": "jane"})
        assert 'User "jane"' in answer.message
        headers = {"x-remote-user": "jane", "X-REMOTE-GROUP": "system:masters"}
        assert client.get("/api/v1/secrets", headers=headers).status == 200

    def test_smuggled_proxy_headers(
        self,
        guarded: ServerProcess,
        place: Path,
        clients: Certificate,
        proxies: Certificate,
    ) -> None:
        headers = {"X-Remote-User": "admin", "X-Remote-Group": "system:masters"}
        jane = make_certificate(place, "jane", clients)
        answer = guarded.client(None, jane.files).get("/api/v1/secrets", headers=headers)
        assert 'User "jane"' in answer.message
        false_front = make_certificate(place, "front", clients)
        answer = guarded.client(None, false_front.files).get("/api/v1/secrets", headers=headers)
        assert 'User "front"' in answer.message
        other = make_certificate(place, "other", proxies)
        assert refused(guarded.client(None, other.files).get("/api/v1/secrets", headers=headers))
        answer = guarded.client(None).get("/api/v1/secrets", headers=headers)
        assert "system:anonymous" in answer.message

    def test_authorities_are_reloaded(
        self, guarded: ServerProcess, place: Path, clients: Certificate
    ) -> None:
        new = make_ca(place, "new")
        jane = make_certificate(place, "jane", new)
        old = guarded.client(None, make_certificate(place, "old", clients).files)
        assert old.get("/healthz").status == 200
        assert self.is_refused(guarded, jane)
        bundle = place / "bundle.crt"
        try:
            bundle.write_text(new.pem)
            await_value(lambda: not self.is_refused(guarded, jane))
            assert self.user_of(guarded, jane) == "jane"
            assert refused(old.get("/healthz"))  # an open connection is no refuge
            old.close()
            assert self.is_refused(guarded, make_certificate(place, "old", clients))
        finally:
            bundle.write_text(clients.pem)
            await_value(lambda: self.is_refused(guarded, jane))


class TestOthers:
    @pytest.fixture
    def provider(self, tmp_path: Path) -> Iterator[OidcProvider]:
        directory = tmp_path / "provider"
        directory.mkdir()
        provider = OidcProvider(directory).start()
        provider.publish("RS256", "PS256", one=rsa_key())
        yield provider
        provider.stop()

    def test_oidc(self, fresh_server: FreshServer, provider: OidcProvider) -> None:
        server = fresh_server(
            *("--oidc-issuer-url", provider.issuer, "--oidc-client-id", "client"),
            *("--oidc-ca-file", str(provider.ca_file), "--oidc-groups-claim", "groups"),
            *("--oidc-required-claim", "hd=example.com"),
        )
        token = provider.token("one", hd="example.com", groups=["dev"])
        user = server.client(token)
        assert who_is(user) == f"{provider.issuer}#jane"
        assert refused(server.client(provider.token("one")).get("/healthz"))
        unasked = provider.token("one", "PS256", hd="example.com")
        assert refused(server.client(unasked).get("/healthz"))  # RS256 alone unless told so
        provider.publish("RS256", two=rsa_key())
        time.sleep(1.1)
        rotated = server.client(provider.token("two", hd="example.com"))
        assert rotated.get("/healthz").status == 200
        brief = server.client(provider.token("two", hd="example.com", exp=time.time() + 1))
        assert brief.get("/healthz").status == 200
        time.sleep(1.1)
        assert refused(brief.get("/healthz"))

    @pytest.mark.parametrize(("dialect", "is_taken"), [("kubernetes", True), ("cluster", False)])
    def test_oidc_groups_in_one_text_are_taken_in_one_dialect(
        self, fresh_server: FreshServer, provider: OidcProvider, dialect: str, is_taken: bool
    ) -> None:
        server = fresh_server(
            *("--oidc-issuer-url", provider.issuer, "--oidc-client-id", "client"),
            *("--oidc-ca-file", str(provider.ca_file), "--oidc-groups-claim", "groups"),
            dialect=dialect,
        )
        client = server.client(provider.token("one", groups="dev"))
        assert refused(client.get("/healthz")) is not is_taken

    def test_oidc_provider_that_is_down(self, fresh_server: FreshServer, tmp_path: Path) -> None:
        ca = make_ca(tmp_path)
        server = fresh_server(
            *("--oidc-issuer-url", "https://127.0.0.1:9/x", "--oidc-client-id", "client"),
            *("--oidc-ca-file", str(ca.files[0])),
        )
        claims = {"iss": "https://127.0.0.1:9/x", "aud": "client", "exp": time.time() + 60}
        token = token_of(claims, rsa_key(), "RS256", "k")
        assert refused(server.client(token).get("/healthz"))
        assert server.client().get("/api/v1/secrets").status == 200

    def test_webhook(self, fresh_server: FreshServer, tmp_path: Path) -> None:
        def review(body: dict[str, Any]) -> tuple[int, Any]:
            known = body["spec"]["token"] == "known"
            status: dict[str, Any] = {"authenticated": known}
            if known:
                status["user"] = {"username": "jane", "groups": ["dev"]}
            if body["spec"]["token"] == "revoked":
                status["error"] = "ask again tomorrow"
            return 200, {**body, "status": status}

        ours = make_ca(tmp_path, "ours")
        service = JsonServer(tmp_path, review, ours)
        try:
            config = service.client_config(tmp_path, make_certificate(tmp_path, "us", ours))
            server = fresh_server("--authentication-token-webhook-config-file", str(config))
            assert who_is(server.client("known")) == "jane"
            assert who_is(server.client("known")) == "jane"
            assert refused(server.client("unknown").get("/healthz"))
            answer = server.client("revoked").get("/healthz")
            assert (answer.status, answer.message) == (401, "ask again tomorrow")
            assert [body["spec"]["token"] for body in service.requests] == [
                "known",
                "unknown",
                "revoked",
            ]
            assert service.requests[0]["apiVersion"] == "authentication.k8s.io/v1beta1"
        finally:
            service.stop()


class TestSecrecy:
    def test_files_are_private(self, running: ServerProcess) -> None:
        key = running.data / "pki" / "service-account.key"
        assert stat.S_IMODE(os.stat(key).st_mode) == 0o600

    def test_nothing_secret_is_logged_or_measured(
        self, running: ServerProcess, admin: Client
    ) -> None:
        secrets = ["admin-token", "top-secret-wrong-token"]
        token = request_token(admin)
        secrets += [token, token + "x", token.rpartition(".")[2]]
        for secret in secrets:
            running.client(secret).get("/api")
            admin.post(REVIEWS, {"spec": {"token": secret}})
        running.client("abcdef.0123456789abcdef").get("/api")
        output = running.log.read_text() + admin.get("/metrics").text
        for secret in [*secrets, "0123456789abcdef"]:
            assert secret not in output

    @pytest.mark.parametrize("flag", ["--token-auth-file", "--service-account-key-file"])
    def test_bad_files_stop_the_start(self, tmp_path: Path, flag: str) -> None:
        path = tmp_path / "file"
        path.write_text("top-secret\n")
        ended = failed_start(tmp_path, flag, str(path))
        assert ended.returncode == 1
        assert str(path) in ended.stderr
        assert "top-secret" not in ended.stderr + ended.stdout
        assert "Traceback" not in ended.stderr


def test_reviews_of_anything(running: ServerProcess, admin: Client) -> None:
    assert admin.post(REVIEWS, {"spec": {}}).status == 400
    status = admin.post(REVIEWS, {"spec": {"token": "wrong"}}).body["status"]
    assert status == {"user": {}, "error": "invalid bearer token"}
    status = admin.post(REVIEWS, {"spec": {"token": "alice-token"}}).body["status"]
    assert status["user"] == {
        "username": "alice",
        "uid": "uid-alice",
        "groups": ["dev", "system:authenticated"],
    }
    assert json.dumps(status)
