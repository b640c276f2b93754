"""The file of --encryption-provider-config, and errors that stop the start."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest
import yaml

from fairlead.base.dialect import CLUSTER, DIALECTS, KUBERNETES
from fairlead.base.release import RELEASES
from fairlead.storage.encryption.configuration import EncryptionError, read_encryption

PATH = "/registry/secrets/default/a"


def secret(size: int = 32) -> str:
    return base64.b64encode(b"k" * size).decode()


def key(name: str = "key1", size: int = 32) -> dict[str, str]:
    return {"name": name, "secret": secret(size)}


def entry(*providers: object, resources: Any = ("secrets",)) -> dict[str, Any]:
    return {"resources": list(resources), "providers": list(providers)}


AESCBC = {"aescbc": {"keys": [key()]}}


def configuration(*entries: object, **more: object) -> dict[str, Any]:
    head = {"apiVersion": "apiserver.config.k8s.io/v1", "kind": "EncryptionConfiguration"}
    return {**head, "resources": list(entries), **more}


def written(directory: Path, content: object) -> Path:
    file = directory / "encryption.yaml"
    file.write_text(content if isinstance(content, str) else yaml.safe_dump(content))
    return file


@pytest.mark.parametrize("provider", ["aescbc", "aesgcm", "secretbox"])
def test_the_first_provider_seals(tmp_path: Path, provider: str) -> None:
    file = written(tmp_path, configuration(entry({provider: {"keys": [key()]}}, {"identity": {}})))
    sealing = read_encryption(file, KUBERNETES)
    stored = sealing.seal("core/secrets", PATH, b"value")
    assert stored.startswith(f"k8s:enc:{provider}:v1:key1:".encode())
    assert sealing.unseal("core/secrets", PATH, stored) == b"value"
    assert sealing.unseal("core/secrets", PATH, b"plain") == b"plain"


def test_resources_are_named_with_their_group(tmp_path: Path) -> None:
    names = ("secrets", "deployments.apps", "widgets.example.com")
    sealing = read_encryption(
        written(tmp_path, configuration(entry(AESCBC, resources=names))), KUBERNETES
    )
    assert sealing.resources == ["core/secrets", "apps/deployments", "example.com/widgets"]


def test_each_entry_has_its_own_keys(tmp_path: Path) -> None:
    other = entry({"aescbc": {"keys": [key("other")]}}, resources=("configmaps",))
    file = written(tmp_path, configuration(entry(AESCBC), other))
    sealing = read_encryption(file, KUBERNETES)
    assert sealing.seal("core/secrets", PATH, b"").startswith(b"k8s:enc:aescbc:v1:key1:")
    assert sealing.seal("core/configmaps", PATH, b"").startswith(b"k8s:enc:aescbc:v1:other:")


@pytest.mark.parametrize("dialect", DIALECTS.values(), ids=lambda dialect: dialect.name)
def test_the_group_is_the_one_of_the_dialect(tmp_path: Path, dialect: Any) -> None:
    version = f"apiserver.config.{dialect.group_domain}/v1"
    read_encryption(written(tmp_path, configuration(entry(AESCBC), apiVersion=version)), dialect)


def test_the_name_of_old_documentation_is_read(tmp_path: Path) -> None:
    old = configuration(entry(AESCBC), apiVersion="v1", kind="EncryptionConfig")
    assert read_encryption(written(tmp_path, old), CLUSTER).resources == ["core/secrets"]


def test_a_secret_may_be_broken_into_lines(tmp_path: Path) -> None:
    broken = {"name": "a", "secret": f"{secret()[:20]}\n{secret()[20:]}\n"}
    read_encryption(
        written(tmp_path, configuration(entry({"aescbc": {"keys": [broken]}}))), KUBERNETES
    )


def with_keys(*keys: object, provider: str = "aescbc") -> dict[str, Any]:
    return configuration(entry({provider: {"keys": list(keys)}}))


def with_kms(**fields: object) -> dict[str, Any]:
    return configuration(entry({"kms": fields}))


KEYS = "resources[0].providers[0].aescbc.keys"
FAULTS: list[tuple[object, str]] = [
    ("a: [", "yaml:"),
    ("", "is not a mapping"),
    ("- a", "is not a mapping"),
    ("a: 1\na: 2", 'key "a" already set'),
    (configuration(), "resources: there are none"),
    (configuration(entry(AESCBC), apiVersion="v2"), "apiVersion: "),
    (configuration(entry(AESCBC), kind="Secret"), "kind: "),
    (configuration(entry(AESCBC), other=1), "other: unknown field"),
    (configuration({**entry(AESCBC), "x": 1}), "resources[0].x: unknown field"),
    (configuration(entry({"rot13": {}})), "resources[0].providers[0].rot13: unknown field"),
    (configuration(entry(AESCBC, resources=())), "resources[0].resources: at least one"),
    (configuration(entry(AESCBC, resources=("*",))), 'resources[0].resources[0]: "*" is no'),
    (configuration(entry(AESCBC, resources=("a/b",))), "resources[0].resources[0]: "),
    (configuration(entry(AESCBC, resources=("a.",))), "resources[0].resources[0]: "),
    (configuration(entry(AESCBC, resources="secrets")), "resources[0].resources"),
    (configuration(entry()), "resources[0].providers: at least one"),
    (configuration(entry({})), "resources[0].providers[0]: names no provider"),
    (configuration(entry({"identity": None})), "resources[0].providers[0]: names no provider"),
    (configuration(entry({**AESCBC, "identity": {}})), "providers[0]: names 2 providers"),
    (with_kms(name="x"), "providers[0].kms.endpoint: is required"),
    (with_kms(endpoint="unix:///s"), "providers[0].kms.name: is required"),
    (with_kms(name="a:b", endpoint="unix:///s"), "kms.name: may not hold a colon"),
    (with_kms(name="x", endpoint="tcp://s"), 'kms.endpoint: "tcp://s" has an unsupported scheme'),
    (with_kms(name="x", endpoint="unix://"), 'kms.endpoint: "unix://" is no address'),
    (
        with_kms(name="x", endpoint="unix:///s", apiVersion="v3"),
        'kms.apiVersion: "v3" is not known',
    ),
    (with_kms(name="x", endpoint="unix:///s", timeout="0s"), "kms.timeout: must be more than 0"),
    (with_kms(name="x", endpoint="unix:///s", timeout="soon"), "kms.timeout: time: invalid"),
    (with_kms(name="x", endpoint="unix:///s", cachesize=0), "kms.cachesize: must not be 0"),
    (
        with_kms(name="x", endpoint="unix:///s", apiVersion="v2", cachesize=5),
        "kms.cachesize: is not supported with version v2",
    ),
    (configuration(entry({"aescbc": {}})), f"{KEYS}: at least one"),
    (with_keys({"secret": secret()}), f"{KEYS}[0].name: is required"),
    (with_keys(key("a:b")), f"{KEYS}[0].name: may not hold a colon"),
    (with_keys({"name": "a"}), f"{KEYS}[0].secret: is required"),
    (with_keys({"name": "a", "secret": "!!!!"}), f"{KEYS}[0].secret: is not base64"),
    (with_keys({"name": "a", "secret": "ä"}), f"{KEYS}[0].secret: is not base64"),
    (with_keys(key(size=20)), f"{KEYS}[0].secret: has 20 bytes, not 16 or 24 or 32"),
    (with_keys(key(size=16), provider="secretbox"), "keys[0].secret: has 16 bytes, not 32"),
    (with_keys(key(), key()), f'{KEYS}[1].name: "key1" is the name of another key'),
    (configuration(entry(AESCBC), entry(AESCBC)), "resources[1].resources[0]: has a key"),
]


@pytest.mark.parametrize(("content", "message"), FAULTS, ids=lambda value: str(value)[:60])
def test_a_fault_names_file_and_field(tmp_path: Path, content: object, message: str) -> None:
    file = written(tmp_path, content)
    with pytest.raises(EncryptionError) as error:
        read_encryption(file, KUBERNETES)
    assert f"--encryption-provider-config: {file}: " in str(error.value)
    assert message in str(error.value)
    assert secret() not in str(error.value)


KMS = {"name": "x", "endpoint": "unix:///run/kms.sock"}


@pytest.mark.parametrize(
    ("release", "version", "gate"), [("1.25", "v2", "KMSv2"), ("1.36", "v1", "KMSv1")]
)
def test_version_of_kms_needs_its_gate(
    tmp_path: Path, release: str, version: str, gate: str
) -> None:
    file = written(tmp_path, with_kms(**KMS, apiVersion=version))
    with pytest.raises(EncryptionError, match=rf"kms: .*--feature-gates={gate}=true"):
        read_encryption(file, KUBERNETES, RELEASES[release], lambda name: False)
    read_encryption(file, KUBERNETES, RELEASES[release], gate.__eq__)


@pytest.mark.parametrize(("release", "version"), [("1.25", "v1"), ("1.36", "v2")])
def test_version_of_kms_that_is_usual_needs_no_gate(
    tmp_path: Path, release: str, version: str
) -> None:
    file = written(tmp_path, with_kms(**KMS, apiVersion=version))
    read_encryption(file, KUBERNETES, RELEASES[release], lambda name: False)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(EncryptionError, match=r"none\.yaml: cannot be read: No such file"):
        read_encryption(tmp_path / "none.yaml", KUBERNETES)
