"""--encryption-provider-config: Secrets are encrypted in either store; keys can be exchanged."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest
import yaml
from support.etcd import Etcd, needs_etcd
from support.process import ServerProcess
from support.reference_store import value_at

SECRETS = "/api/v1/namespaces/default/secrets"
HIDDEN = base64.b64encode(b"a text that nobody else may read").decode()
SECRET = {"metadata": {"name": "s"}, "data": {"p": HIDDEN}}


def configured(server: ServerProcess, *providers: object) -> ServerProcess:
    """Have it start with these providers for Secrets from now on."""
    file = server.directory / "encryption.yaml"
    content = {
        "apiVersion": "apiserver.config.k8s.io/v1",
        "kind": "EncryptionConfiguration",
        "resources": [{"resources": ["secrets"], "providers": list(providers)}],
    }
    file.write_text(yaml.safe_dump(content))
    config = f"--encryption-provider-config={file}"
    server.flags = (*(flag for flag in server.flags if flag != config), config)
    return server


def keys(provider: str, *names: str) -> dict[str, object]:
    secrets = {name: base64.b64encode(name.encode().ljust(32)).decode() for name in names}
    listed = [{"name": name, "secret": secret} for name, secret in secrets.items()]
    return {provider: {"keys": listed}}


def on_disk(server: ServerProcess) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(server.data.glob("fairlead.db*")))


@pytest.fixture
def server(tmp_path: Path) -> ServerProcess:
    return ServerProcess(tmp_path, "kubernetes", ("--controllers=-*",))


def test_a_key_can_be_exchanged_for_another(server: ServerProcess) -> None:
    """Start with the new key first, write everything again, remove the old key."""
    configured(server, keys("aescbc", "old"), {"identity": {}}).start()
    try:
        client = server.client()
        assert client.post(SECRETS, SECRET).status == 201
        assert client.post(SECRETS.replace("secrets", "configmaps"), SECRET).status == 201
        server.stop()
        assert b"k8s:enc:aescbc:v1:old:" in on_disk(server)
        assert HIDDEN.encode() in on_disk(server)  # of the ConfigMap

        configured(server, keys("secretbox", "new"), keys("aescbc", "old")).start()
        client = server.client()
        read = client.get(f"{SECRETS}/s").body
        assert read["data"] == {"p": HIDDEN}
        again = client.put(f"{SECRETS}/s", read)
        assert again.version != read["metadata"]["resourceVersion"]
        assert client.put(f"{SECRETS}/s", again.body).version == again.version
        server.stop()

        configured(server, keys("secretbox", "new")).start()
        assert server.client().get(f"{SECRETS}/s").body["data"] == {"p": HIDDEN}
    finally:
        server.kill()


def test_a_server_without_the_key_does_not_start(server: ServerProcess) -> None:
    configured(server, keys("aesgcm", "k")).start()
    try:
        assert server.client().post(SECRETS, SECRET).status == 201
        server.stop()
        assert HIDDEN.encode() not in on_disk(server)
        configured(server, keys("aesgcm", "other"))
        with pytest.raises(AssertionError, match=r"secrets/default/s: is encrypted .*:k\) and no"):
            server.start()
        server.flags = ()
        with pytest.raises(AssertionError, match="--encryption-provider-config"):
            server.start()
    finally:
        server.kill()


def test_a_bad_configuration_stops_the_start(server: ServerProcess) -> None:
    configured(server, {"aescbc": {"keys": [{"name": "k", "secret": "c2hvcnQ="}]}})
    with pytest.raises(AssertionError, match=r"keys\[0\]\.secret: has 5 bytes, not 16 or 24 or 32"):
        server.start()


@needs_etcd
def test_values_in_etcd_are_sealed_as_the_reference_does(
    server: ServerProcess, tmp_path: Path
) -> None:
    etcd = Etcd(tmp_path / "etcd").start()
    server.flags = (*server.flags, "--storage=etcd", f"--etcd-servers={etcd.url}")
    configured(server, keys("aesgcm", "k"), {"identity": {}}).start()
    try:
        assert server.client().post(SECRETS, SECRET).status == 201
        raw = value_at(etcd, "/registry/secrets/default/s")
        assert raw.startswith(b"k8s:enc:aesgcm:v1:k:")
        assert value_at(etcd, "/registry/namespaces/default").startswith(b"k8s\0")
        assert server.client().get(f"{SECRETS}/s").body["data"] == {"p": HIDDEN}
    finally:
        server.kill()
        etcd.close()
