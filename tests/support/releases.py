"""Stores of earlier releases: how they are written, packed, and served again.

`tools/upgrade_fixture.py` runs a release's own server to write them into `tests/data/upgrades`.
"""

from __future__ import annotations

import base64
import io
import json
import shutil
import subprocess
import tarfile
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from fairlead.base.dialect import DIALECTS, Dialect
from support.backups import everything
from support.client import Client, Object
from support.etcd import Etcd
from support.process import ServerProcess
from support.waiting import eventually

PREVIOUS = "f8ab9a98"  # the commit of the previous release
STORES = Path(__file__).resolve().parent.parent / "data" / "upgrades"
SPACE, LEAVING = "shop", "leaving"
MAPS = f"/api/v1/namespaces/{SPACE}/configmaps"
SECRETS = f"/api/v1/namespaces/{SPACE}/secrets"
ACCOUNTS = f"/api/v1/namespaces/{SPACE}/serviceaccounts"
DEPLOYMENTS = f"/apis/apps/v1/namespaces/{SPACE}/deployments"
APPLY = "application/apply-patch+yaml"
CENTURY = 100 * 365 * 86400
_GROUP = "example.com"
WIDGETS = f"/apis/{_GROUP}/{{version}}/namespaces/{SPACE}/widgets"
# Listed objects that are not stored, or only for a time.
_PASSING = {"events", "componentstatuses"}


class Store(NamedTuple):
    """The name of a packed store has three parts: release, dialect and storage."""

    release: str
    dialect: str
    storage: str

    @classmethod
    def all(cls) -> list[Store]:
        names = sorted(path.name.removesuffix(".tar.xz") for path in STORES.glob("*.tar.xz"))
        return [cls(*name.rsplit("-", 2)) for name in names]

    def __str__(self) -> str:
        return "-".join(self)

    @property
    def file(self) -> Path:
        return STORES / f"{self}.tar.xz"


def objects_of(client: Client) -> list[Object]:
    """Every stored object, in the order of its place."""
    return [item for place, item in sorted(everything(client).items()) if place[1] not in _PASSING]


def settings(manager: str, value: str) -> Object:
    """The configuration that a manager applies to the ConfigMap `settings`."""
    metadata = {"name": "settings", "namespace": SPACE}
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": metadata,
        "data": {manager: value},
    }


def deployment(image: str) -> Object:
    """The configuration that the manager `deployer` applies."""
    container = {"name": "web", "image": image, "ports": [{"containerPort": 80}]}
    labels = {"app": "web"}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": SPACE},
        "spec": {
            "replicas": 2,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
        },
    }


def apply(client: Client, path: str, value: Object, manager: str) -> Any:
    name = value["metadata"]["name"]
    return client.patch(f"{path}/{name}", value, kind=APPLY, fieldManager=manager)


# Writing


class Writer:
    """Writes the objects of a store through the API of the release under test."""

    def __init__(self, client: Client, dialect: Dialect) -> None:
        self._client = client
        self._dialect = dialect

    def create(self, path: str, name: str, **fields: Any) -> Object:
        metadata = {"name": name, **fields.pop("metadata", {})}
        answer = self._client.post(path, {"metadata": metadata, **fields})
        assert answer.status == 201, answer.text
        created: Object = answer.body
        return created

    def _base(self, group: str) -> str:
        return f"/apis/{self._dialect.group_name(group)}/v1"

    def write_first(self) -> str:
        """Write what is compacted later; return the revision at which history will not be kept."""
        client = self._client
        for name in (SPACE, LEAVING):
            self.create("/api/v1/namespaces", name)
            accounts = f"/api/v1/namespaces/{name}/serviceaccounts/default"
            eventually(lambda: client.get(accounts).status == 200, "controllers work")  # noqa: B023
        self.create(MAPS, "gone-before")
        for value in ("red", "green"):
            assert apply(client, MAPS, settings("alice", value), "alice").status in (200, 201)
        revision = client.get(MAPS).version
        assert client.delete(f"{MAPS}/gone-before").status == 200
        self.create(SECRETS, "plain", data={"p": base64.b64encode(b"not encrypted").decode()})
        self._write_widgets()
        return str(revision)

    def _write_widgets(self) -> None:
        definitions = f"{self._base('apiextensions.@')}/customresourcedefinitions"
        marker = self._dialect.marked("x-@-preserve-unknown-fields")
        schema = {"type": "object", marker: True}
        versions = [
            {"name": name, "served": True, "storage": name == "v1beta1"}
            | {"schema": {"openAPIV3Schema": schema}}
            for name in ("v1beta1", "v1")
        ]
        names = {"plural": "widgets", "kind": "Widget"}
        spec = {"group": _GROUP, "scope": "Namespaced", "names": names, "versions": versions}
        self.create(definitions, f"widgets.{_GROUP}", spec=spec)
        for version in ("v1beta1", "v1"):
            path = WIDGETS.format(version=version)
            eventually(lambda: self._client.get(path).status == 200, "widgets are served")  # noqa: B023
        self.create_widget("old", "v1beta1")
        item = f"{definitions}/widgets.{_GROUP}"
        body = self._client.get(item).body
        for version in body["spec"]["versions"]:
            version["storage"] = version["name"] == "v1"
        assert self._client.put(item, body).status == 200
        self.create_widget("new", "v1")

    def create_widget(self, name: str, version: str) -> None:
        kind = {"apiVersion": f"{_GROUP}/{version}", "kind": "Widget"}
        self.create(WIDGETS.format(version=version), name, spec={"size": 3}, **kind)

    def write_rest(self) -> Object:
        """Write everything else; return what is to be expected besides the objects."""
        client = self._client
        self.create(MAPS, "gone", data={"k": "v"})
        assert apply(client, MAPS, settings("bob", "blue"), "bob").status == 200
        listed = client.get(MAPS)
        assert client.delete(f"{MAPS}/gone").status == 200
        assert apply(client, MAPS, settings("alice", "yellow"), "alice").status == 200
        self.create(SECRETS, "sealed", data={"p": base64.b64encode(b"encrypted").decode()})
        tokens = self._write_accounts()
        self._write_workloads()
        self._write_pending_deletions()
        return {"then": {"revision": listed.version, "items": listed.body["items"]}, **tokens}

    def _write_accounts(self) -> Object:
        self.create(ACCOUNTS, "robot")
        rules = [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list"]}]
        roles = self._base("rbac.authorization.@")
        subject = {"kind": "ServiceAccount", "name": "robot", "namespace": SPACE}
        for kind, path in (
            ("Role", f"{roles}/namespaces/{SPACE}"),
            ("ClusterRole", roles),
        ):
            self.create(f"{path}/{kind.lower()}s", "reader", rules=rules)
            group = self._dialect.group_name("rbac.authorization.@")
            reference = {"apiGroup": group, "kind": kind, "name": "reader"}
            bindings = f"{path}/{kind.lower()}bindings"
            self.create(bindings, "robot", roleRef=reference, subjects=[subject])
        label = self._dialect.label
        name = label("@/service-account.name")
        kind = label("@/service-account-token")
        self.create(SECRETS, "robot", metadata={"annotations": {name: "robot"}}, type=kind)
        eventually(lambda: "token" in self._secret("robot"), "the Secret has a token")
        lasting = base64.b64decode(self._secret("robot")["token"]).decode()
        request = {"spec": {"expirationSeconds": min(CENTURY, 2**32 - 1)}}
        answer = self._client.post(f"{ACCOUNTS}/robot/token", request)
        assert answer.status == 201, answer.text
        return {"tokens": [lasting, answer.body["status"]["token"]]}

    def _secret(self, name: str) -> Object:
        data: Object = self._client.get(f"{SECRETS}/{name}").body.get("data") or {}
        return data

    def _write_workloads(self) -> None:
        client = self._client
        assert apply(client, DEPLOYMENTS, deployment("nginx:1"), "deployer").status == 201
        pods = f"/api/v1/namespaces/{SPACE}/pods"
        eventually(lambda: len(client.get(pods).names) == 2, "the deployment has pods")
        self.create(pods, "alone", spec={"containers": [{"name": "c", "image": "i"}]})
        ports = [{"port": 80, "nodePort": 30123}]
        spec = {"type": "NodePort", "selector": {"app": "web"}, "ports": ports}
        self.create(f"/api/v1/namespaces/{SPACE}/services", "web", spec=spec)
        leases = f"{self._base('coordination.@')}/namespaces/{SPACE}/leases"
        self.create(leases, "lock", spec={"holderIdentity": "a", "leaseDurationSeconds": 15})

    def _write_pending_deletions(self) -> None:
        for namespace in (SPACE, LEAVING):
            path = f"/api/v1/namespaces/{namespace}/configmaps"
            self.create(path, "held", metadata={"finalizers": ["example.com/wait"]})
        for path in (f"{MAPS}/held", f"/api/v1/namespaces/{LEAVING}"):
            assert self._client.delete(path).status == 200
        # The controller reports what is left of the namespace, and then waits.
        path = f"/api/v1/namespaces/{LEAVING}"
        eventually(
            lambda: "NamespaceFinalizersRemaining" in self._true_conditions(path), "it waits"
        )

    def _true_conditions(self, path: str) -> set[str]:
        conditions = self._client.get(path).body["status"].get("conditions") or []
        return {item["type"] for item in conditions if item["status"] == "True"}


def write_store(store: Store, environment: dict[str, str], file: Path) -> None:
    """Have a release write a store, and pack it. `environment` is that of its servers."""
    directory = Path(tempfile.mkdtemp(prefix="fairlead-upgrade-"))
    with ExitStack() as ending:
        ending.callback(shutil.rmtree, directory)
        etcd = None
        if store.storage == "etcd":
            etcd = Etcd(directory / "etcd").start()
            ending.callback(etcd.close)
        server = server_on(store, directory, etcd)
        server.environment = environment
        ending.callback(server.kill)
        expected = _write(server)
        if etcd is not None:
            etcd.snapshot(directory / "etcd.snapshot")
        (directory / "expected.json").write_text(json.dumps(expected))
        _pack(directory, file)


def _write(server: ServerProcess) -> Object:
    flags = server.flags
    server.flags = (*flags, "--history-retention=1s")
    server.start()
    client = server.client()
    revision = Writer(client, server.dialect).write_first()

    def is_compacted() -> bool:
        answer = client.get(MAPS, resourceVersion=revision, resourceVersionMatch="Exact")
        return answer.status == 410

    eventually(is_compacted, "history is compacted", 60)
    assert server.stop() == 0
    server.flags = (*flags, "--history-retention=1h", encryption(server))
    server.start()
    expected = Writer(server.client(), server.dialect).write_rest()
    assert server.stop() == 0
    server.flags = (*server.flags, "--read-only")
    server.start()
    client = server.client()
    newest = client.get(MAPS).version
    objects = objects_of(client)
    assert server.stop() == 0
    return {**expected, "compacted": revision, "newest": newest, "objects": objects}


def encryption(server: ServerProcess) -> str:
    """Return the flag for encryption of Secrets; plain ones are read too."""
    file = server.directory / "encryption.yaml"
    key = {"name": "k", "secret": base64.b64encode(b"k" * 32).decode()}
    providers = [{"aescbc": {"keys": [key]}}, {"identity": {}}]
    content = {
        "apiVersion": server.dialect.group_name("apiserver.config.@/v1"),
        "kind": "EncryptionConfiguration",
        "resources": [{"resources": ["secrets"], "providers": providers}],
    }
    file.write_text(yaml.safe_dump(content))
    return f"--encryption-provider-config={file}"


def _pack(directory: Path, file: Path) -> None:
    def private(entry: tarfile.TarInfo) -> tarfile.TarInfo:
        entry.uid = entry.gid = 0
        entry.uname = entry.gname = ""
        return entry

    with tarfile.open(file, "w:xz", preset=9) as archive:
        for name in ("data", "expected.json", "etcd.snapshot"):
            if (directory / name).exists():
                archive.add(directory / name, name, filter=private)


# Serving

ROOT = STORES.parent.parent.parent


def sources_of(commit: str, directory: Path) -> Path:
    """Return the sources of an earlier commit, for PYTHONPATH. Skips the test where the history of
    the repository is missing, as in a source distribution or a shallow clone."""
    command = ("git", "-C", str(ROOT), "archive", "--format=tar", commit, "src")
    try:
        packed = subprocess.run(command, capture_output=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        pytest.skip(f"the sources of {commit} are not here: the history of the repository is")
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        archive.extractall(directory, filter="data")
    return directory / "src"


def server_on(store: Store, directory: Path, etcd: Etcd | None) -> ServerProcess:
    flags = ("--storage", "etcd", "--etcd-servers", etcd.url) if etcd is not None else ()
    return ServerProcess(directory, DIALECTS[store.dialect].name, flags)


class Unpacked:
    """A store of an earlier release, with an etcd if it needs one."""

    def __init__(self, store: Store, file: Path, directory: Path) -> None:
        with tarfile.open(file) as archive:
            archive.extractall(directory, filter="data")
        (directory / "data").chmod(0o700)
        self.store = store
        self.expected: Object = json.loads((directory / "expected.json").read_text())
        self.etcd: Etcd | None = None
        if store.storage == "etcd":
            self.etcd = Etcd(directory / "etcd")
            self.etcd.restore(directory / "etcd.snapshot").start()
        self.server = server_on(store, directory, self.etcd)
        self.server.flags += ("--history-retention=1h", encryption(self.server))
        self.kubeconfig: Object = yaml.safe_load((directory / "data/admin.kubeconfig").read_text())

    def credentials(self) -> tuple[Path, Path]:
        """Write the certificate and key of the kubeconfig that the earlier release wrote."""
        user = self.kubeconfig["users"][0]["user"]
        paths = self.server.directory / "admin.crt", self.server.directory / "admin.key"
        for path, name in zip(paths, ("certificate", "key"), strict=True):
            path.write_bytes(base64.b64decode(user[f"client-{name}-data"]))
        return paths

    def close(self) -> None:
        self.server.kill()
        if self.etcd is not None:
            self.etcd.close()
