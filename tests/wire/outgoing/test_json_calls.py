"""The client configuration file, and POSTs of JSON to another server."""

from __future__ import annotations

import asyncio
import base64
import socket
import ssl
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from support.answering import Answering

from fairlead.process.certificates.authority import Pki, ensure_pki
from fairlead.wire.outgoing import json_calls as client_module
from fairlead.wire.outgoing.client_config import ClientConfig, ClientConfigError, load_client_config
from fairlead.wire.outgoing.json_calls import JsonPoster
from fairlead.wire.outgoing.response import CallError

Object = dict[str, Any]


def config(cluster: Object, user: Object | None = None, **more: Any) -> Object:
    value: Object = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "c", "cluster": cluster}],
        "contexts": [{"name": "x", "context": {"cluster": "c"}}],
        "current-context": "x",
        **more,
    }
    if user is not None:
        value["users"] = [{"name": "u", "user": user}]
        value["contexts"][0]["context"]["user"] = "u"
    return value


def load(directory: Path, value: Any) -> ClientConfig:
    path = directory / "config"
    path.write_text(value if isinstance(value, str) else yaml.safe_dump(value))
    return load_client_config(path)


def test_client_config_reads_all_fields(tmp_path: Path) -> None:
    for name in ("ca", "crt", "key", "token"):
        (tmp_path / name).write_text(f"the {name}\n")
    result = load(
        tmp_path,
        config(
            {"server": "https://s/x", "certificate-authority": "ca", "tls-server-name": "n",
             "proxy-url": "http://p"},
            {"client-certificate": str(tmp_path / "crt"), "client-key": "key",
             "tokenFile": "token"},
        ),
    )  # fmt: skip
    assert (result.server, result.server_name, result.proxy) == ("https://s/x", "n", "http://p")
    assert (result.ca, result.certificate, result.key) == (b"the ca\n", b"the crt\n", b"the key\n")
    assert result.bearer_token() == "the token"
    (tmp_path / "token").write_text("renewed")
    assert result.bearer_token() == "renewed"


def test_client_config_prefers_inline_data_to_files(tmp_path: Path) -> None:
    data = base64.b64encode(b"PEM").decode()
    cluster = {
        "server": "https://s",
        "certificate-authority": "/no/such",
        "certificate-authority-data": data,
    }
    assert load(tmp_path, config(cluster, {"token": "t"})).ca == b"PEM"


SERVER = {"server": "https://s"}


@pytest.mark.parametrize(
    ("value", "error"),
    [
        ("{", "is not YAML"),
        ("[]", "is not a client configuration"),
        ({**config(SERVER), "current-context": "y"}, "there is no context named 'y'"),
        (config(SERVER, clusters=[]), "there is no cluster named 'c'"),
        (config({}), "is not an http or https URL"),
        (config({"server": "ftp://x"}), "is not an http or https URL"),
        (config({"server": 1}), "server must be text"),
        (config({**SERVER, "certificate-authority": "gone"}), "cannot read"),
        (config({**SERVER, "certificate-authority-data": "!"}), "is not base64"),
        (config(SERVER, {"client-certificate-data": "eA=="}), "go together"),
        (config(SERVER, {"exec": {"command": "x"}}), "needs exec"),
    ],
)
def test_client_config_that_cannot_be_used_is_refused(
    tmp_path: Path, value: Any, error: str
) -> None:
    with pytest.raises(ClientConfigError, match=error) as raised:
        load(tmp_path, value)
    assert str(tmp_path / "config") in str(raised.value)


def test_client_config_names_a_missing_file() -> None:
    with pytest.raises(ClientConfigError, match="cannot read /no/such"):
        load_client_config(Path("/no/such"))


@pytest.fixture
def answering() -> Iterator[Callable[..., Answering]]:
    answerings: list[Answering] = []

    def start(context: ssl.SSLContext | None = None) -> Answering:
        answerings.append(Answering(context))
        return answerings[-1]

    yield start
    for server in answerings:
        server.close()


def post(config: ClientConfig, *, patient: bool = False, timeout: float = 5.0) -> Object:
    async def run() -> Object:
        poster = JsonPoster(config)
        try:
            call = poster.post_with_retries if patient else poster.post
            return await call({"sent": 1}, timeout)
        finally:
            await poster.close()

    return asyncio.run(run())


def test_json_call_posts_and_reads_json(answering: Callable[..., Answering]) -> None:
    server = answering()
    server.answers = [(200, b'{"got": 2}'), (201, b"{}")]
    address = f"http://127.0.0.1:{server.port}/path"
    assert post(ClientConfig(address, token="t")) == {"got": 2}
    headers, body = server.seen[0]
    assert body == {"sent": 1}
    assert headers["authorization"] == "Bearer t"
    assert headers["content-type"] == "application/json"
    assert post(ClientConfig(address, username="u", password="p")) == {}
    assert server.seen[1][0]["authorization"] == f"Basic {base64.b64encode(b'u:p').decode()}"


@pytest.mark.parametrize(
    ("code", "content", "error", "retryable"),
    [
        (403, b"no", "answered 403: no", False),
        (500, b"oops", "answered 500: oops", True),
        (429, b"", "answered 429", True),
        (302, b"", "answered 302", False),
        (200, b"<html>", "the answer is not JSON", False),
        (200, b"[]", "the answer is not a JSON object", False),
    ],
)
def test_json_call_answers_that_are_errors(
    answering: Callable[..., Answering], code: int, content: bytes, error: str, retryable: bool
) -> None:
    server = answering()
    server.answers = [(code, content)]
    with pytest.raises(CallError, match=error) as raised:
        post(ClientConfig(f"http://127.0.0.1:{server.port}"))
    assert raised.value.retryable is retryable


def test_json_call_without_a_server_is_an_error() -> None:
    with pytest.raises(CallError) as raised:
        post(ClientConfig("http://127.0.0.1:9"))
    assert raised.value.retryable


def test_json_call_is_retried_after_server_errors(
    answering: Callable[..., Answering], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client_module, "_FIRST_PAUSE", 0.01)
    server = answering()
    server.answers = [(500, b""), (503, b""), (200, b"{}")]
    address = ClientConfig(f"http://127.0.0.1:{server.port}")
    assert post(address, patient=True) == {}
    server.answers = [(403, b""), (200, b"{}")]
    with pytest.raises(CallError):
        post(address, patient=True)
    server.answers = [(500, b"")] * 6
    with pytest.raises(CallError):
        post(address, patient=True)
    assert len(server.answers) == 1


def test_json_call_that_is_not_answered_is_not_retried() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = ClientConfig(f"http://127.0.0.1:{silent.getsockname()[1]}")
        with pytest.raises(CallError, match="no answer within"):
            post(address, patient=True, timeout=0.1)
        silent.settimeout(0)
        silent.accept()[0].close()
        with pytest.raises(BlockingIOError):
            silent.accept()


@pytest.fixture(scope="module")
def pki(tmp_path_factory: pytest.TempPathFactory) -> Pki:
    return ensure_pki(tmp_path_factory.mktemp("pki"), ["127.0.0.1", "localhost"])


def test_json_call_over_tls_with_a_client_certificate(
    answering: Callable[..., Answering], pki: Pki
) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pki.serving.certificate, pki.serving.key)
    context.load_verify_locations(pki.ca.certificate)
    context.verify_mode = ssl.CERT_REQUIRED
    server = answering(context)
    server.answers = [(200, b"{}")] * 3
    address, ca = f"https://127.0.0.1:{server.port}", pki.ca.certificate.read_bytes()
    pair: Any = {
        "certificate": pki.admin.certificate.read_bytes(),
        "key": pki.admin.key.read_bytes(),
    }
    assert post(ClientConfig(address, ca, **pair)) == {}
    assert post(ClientConfig(address, insecure=True, **pair)) == {}
    assert post(ClientConfig(address, ca, server_name="localhost", **pair)) == {}
    with pytest.raises(CallError):
        post(ClientConfig(address, ca))
    with pytest.raises(CallError, match="x509: certificate signed by unknown authority") as raised:
        post(ClientConfig(address, **pair))
    assert not raised.value.retryable
    with pytest.raises(CallError):
        post(ClientConfig(address, ca, server_name="elsewhere", **pair))
