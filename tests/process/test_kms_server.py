"""A server whose Secrets a kms plugin protects: on disk, in health checks, and when keys change."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from support.client import Client
from support.etcd import Etcd, needs_etcd
from support.kms import Plugin
from support.process import ServerProcess, failed_start
from support.waiting import eventually

OFTEN = "from fairlead.storage.encryption import kms; kms.CHECK_SECONDS = kms.RETRY_SECONDS = 0.1"
SECRETS = "/api/v1/namespaces/default/secrets"
WORD = "eHl6enktaW4tdGhlLWNsZWFy"  # xyzzy-in-the-clear


@pytest.fixture
def plugin(tmp_path: Path) -> Iterator[Plugin]:
    plugin = Plugin(tmp_path / "kms.sock").start()
    yield plugin
    plugin.stop()


def provider(plugin: Plugin, version: str = "v2", name: str = "hsm") -> dict[str, Any]:
    fields = {"apiVersion": version, "name": name, "endpoint": plugin.endpoint}
    return {"kms": {**fields, "timeout": "2s"}}


def configure(directory: Path, *providers: dict[str, Any]) -> tuple[str, ...]:
    """Write the configuration; return the flags for it."""
    file = directory / "encryption.yaml"
    value = {
        "apiVersion": "apiserver.config.k8s.io/v1",
        "kind": "EncryptionConfiguration",
        "resources": [{"resources": ["secrets"], "providers": list(providers)}],
    }
    (directory / "encryption.new").write_text(yaml.safe_dump(value))
    (directory / "encryption.new").replace(file)
    return ("--encryption-provider-config", str(file), "--release", "1.36")


def create(client: Client, name: str) -> str:
    """Create a Secret; return its resourceVersion."""
    answer = client.post(SECRETS, {"metadata": {"name": name}, "data": {"word": WORD}})
    assert answer.status == 201, answer.text
    return answer.version


def replace(client: Client, name: str) -> str:
    """Write a Secret as it is; return its resourceVersion."""
    value = client.get(f"{SECRETS}/{name}").body
    answer = client.put(f"{SECRETS}/{name}", value)
    assert answer.status == 200, answer.text
    return answer.version


def database(server: ServerProcess) -> bytes:
    return b"".join(path.read_bytes() for path in server.data.glob("fairlead.db*"))


@pytest.fixture
def server(tmp_path: Path, plugin: Plugin) -> Iterator[ServerProcess]:
    flags = (
        *configure(tmp_path, provider(plugin)),
        "--encryption-provider-config-automatic-reload",
    )
    server = ServerProcess(tmp_path, "kubernetes", flags, prelude=OFTEN).start()
    yield server
    server.stop()


def test_secret_is_encrypted_by_the_plugin_and_read_after_a_restart(
    server: ServerProcess, plugin: Plugin
) -> None:
    create(server.client(), "hidden")
    assert b"k8s:enc:kms:v2:hsm:" in database(server)
    assert WORD.encode() not in database(server)
    server.stop()
    server.start()
    assert server.client().get(f"{SECRETS}/hidden").body["data"] == {"word": WORD}


def test_write_without_changes_is_stored_after_a_rotation_and_only_then(
    server: ServerProcess, plugin: Plugin
) -> None:
    client = server.client()
    first = create(client, "rotated")
    assert replace(client, "rotated") == first
    plugin.key_id = "key-2"
    eventually(lambda: replace(client, "rotated") != first, "the value is written again")
    again = client.get(f"{SECRETS}/rotated").version
    assert replace(client, "rotated") == again
    assert client.get(f"{SECRETS}/rotated").body["data"] == {"word": WORD}


def test_health_check_tells_whether_the_plugin_works(server: ServerProcess, plugin: Plugin) -> None:
    client = server.client()
    assert client.get("/healthz/kms-providers").text == "ok"
    plugin.refuses = True
    eventually(lambda: client.get("/healthz/kms-providers").status == 500, "the check fails")
    assert "[-]kms-providers failed" in client.get("/readyz", verbose=None).text
    plugin.refuses = False
    eventually(lambda: client.get("/readyz/kms-providers").status == 200, "the check passes")


def test_metrics_count_the_calls_of_the_plugin(server: ServerProcess, plugin: Plugin) -> None:
    create(server.client(), "counted")
    text = server.client().get("/metrics").text
    lines = [line for line in text.splitlines() if 'provider_name="hsm"' in line]
    names = {
        line.partition("{")[0].removeprefix("apiserver_envelope_encryption_") for line in lines
    }
    assert names >= {
        *("kms_operations_latency_seconds_count", "key_id_hash_total", "dek_source_cache_size"),
        *("key_id_hash_last_timestamp_seconds", "key_id_hash_status_last_timestamp_seconds"),
    }


def test_other_provider_is_used_after_a_reload_of_the_file(
    tmp_path: Path, server: ServerProcess, plugin: Plugin
) -> None:
    client = server.client()
    first = create(client, "moved")
    key = {"name": "local", "secret": "a2tra2tra2tra2tra2tra2tra2tra2tra2tra2tra2s="}
    configure(tmp_path, {"aesgcm": {"keys": [key]}}, provider(plugin))
    eventually(lambda: replace(client, "moved") != first, "the value is written again")
    assert b"k8s:enc:aesgcm:v1:local:" in database(server)
    (tmp_path / "encryption.yaml").write_text("nothing")
    name = "apiserver_encryption_config_controller_automatic_reloads_total"
    failed = f'{name}{{status="failure"}} 1'
    eventually(lambda: failed in client.get("/metrics").text, "the refusal is counted")
    create(client, "after")


def test_server_does_not_start_without_the_plugin_that_it_needs(
    tmp_path: Path, server: ServerProcess, plugin: Plugin
) -> None:
    create(server.client(), "hidden")
    server.stop()
    plugin.stop()
    done = failed_start(tmp_path, *server.flags)
    assert done.returncode == 1
    error = done.stderr if isinstance(done.stderr, str) else done.stderr.decode()
    assert "the kms provider" in error
    assert "cannot connect" in error
    assert "Traceback" not in error
    plugin.start()
    server.start()
    assert server.client().get(f"{SECRETS}/hidden").status == 200


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="there is no kubectl")
def test_kubectl_replace_writes_all_secrets_again(server: ServerProcess, plugin: Plugin) -> None:
    client = server.client()
    before = {name: create(client, name) for name in ("a", "b", "c")}
    plugin.key_id = "key-2"
    program = ["kubectl", "--kubeconfig", str(server.data / "admin.kubeconfig")]

    def replaced() -> bool:
        call = [*program, "get", "secrets", "-A", "-o", "json"]
        listed = subprocess.run(call, capture_output=True, check=True, timeout=60).stdout
        subprocess.run(
            [*program, "replace", "-f", "-"], input=listed, check=True, timeout=60,
            capture_output=True,
        )  # fmt: skip
        items = json.loads(listed)["items"]
        now = {item["metadata"]["name"]: item["metadata"]["resourceVersion"] for item in items}
        return all(now[name] != version for name, version in before.items())

    eventually(replaced, "all are written again")


@needs_etcd
@pytest.mark.parametrize("version", ["v1", "v2"])
def test_servers_on_etcd_read_what_the_other_encrypted(tmp_path: Path, version: str) -> None:
    plugin = Plugin(tmp_path / "kms.sock", "v1beta1" if version == "v1" else "v2").start()
    etcd = Etcd(tmp_path / "etcd").start()
    flags = (
        *configure(tmp_path, provider(plugin, version)),
        *("--storage", "etcd", "--etcd-servers", etcd.url, "--feature-gates", "KMSv1=true"),
    )
    servers: list[ServerProcess] = []
    try:
        for name in ("one", "two"):
            (tmp_path / name).mkdir()
            if servers:  # they share an authority
                shutil.copytree(servers[0].data / "pki", tmp_path / name / "data" / "pki")
            servers.append(
                ServerProcess(tmp_path / name, "kubernetes", flags, prelude=OFTEN).start()
            )
        first, second = (server.client() for server in servers)
        create(first, "shared")
        assert second.get(f"{SECRETS}/shared").body["data"] == {"word": WORD}
        plugin.key_id = "key-1"
        create(second, "back")
        assert first.get(f"{SECRETS}/back").body["data"] == {"word": WORD}
        assert first.get("/healthz/kms-provider-0").text == "ok"
    finally:
        for server in servers:
            server.stop()
        etcd.close()
        plugin.stop()
