"""--read-only: stored objects are served, and nothing is written."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from support.client import JSON, MERGE_PATCH, Client
from support.etcd import Etcd, needs_etcd
from support.process import ServerProcess
from support.reference_store import DEFINITION, WIDGET, fill, revision, value_at

DEFAULT = "/api/v1/namespaces/default"
REVIEW = {"spec": {"resourceAttributes": {"verb": "get", "resource": "pods"}}}


class Store:
    """The interface of the stores that the tests read."""

    def __init__(self, client: Client) -> None:
        self.client = client

    def fingerprint(self) -> object:
        raise NotImplementedError


class Files(Store):
    def __init__(self, running: ServerProcess) -> None:
        super().__init__(running.client())
        self._data = running.data

    def fingerprint(self) -> object:
        return [path.read_bytes() for path in sorted(self._data.glob("fairlead.db*"))]


class InEtcd(Store):
    def __init__(self, running: ServerProcess, etcd: Etcd) -> None:
        super().__init__(running.client())
        self.etcd = etcd

    def fingerprint(self) -> object:
        return revision(self.etcd)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Files]:
    """A data directory with a ConfigMap, served after the server that wrote it ended."""
    running = ServerProcess(tmp_path_factory.mktemp("files")).start()
    kept = {"metadata": {"name": "kept"}}
    assert running.client().post(f"{DEFAULT}/configmaps", kept).status == 201
    running.stop()
    running.flags = ("--read-only",)
    running.start()
    yield Files(running)
    running.kill()


@pytest.fixture(scope="module")
def in_etcd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[InEtcd]:
    """An etcd that the reference has written to."""
    directory = tmp_path_factory.mktemp("etcd")
    etcd = Etcd(directory).start()
    fill(etcd)
    flags = ("--read-only", "--storage=etcd", f"--etcd-servers={etcd.url}")
    running = ServerProcess(directory, "kubernetes", flags).start()
    yield InEtcd(running, etcd)
    running.kill()
    etcd.close()


@pytest.fixture(params=["files", pytest.param("in_etcd", marks=needs_etcd)])
def store(request: pytest.FixtureRequest) -> Store:
    store: Store = request.getfixturevalue(request.param)
    return store


WRITES = [
    ("POST", f"{DEFAULT}/configmaps", {"metadata": {"name": "new"}}, 'configmaps "new"'),
    ("POST", "/api/v1/namespaces", {"metadata": {"name": "new"}}, 'namespaces "new"'),
    ("PATCH", DEFAULT, {"metadata": {"labels": {"a": "b"}}}, 'namespaces "default"'),
    ("DELETE", DEFAULT, None, 'namespaces "default"'),
]


@pytest.mark.parametrize(("method", "path", "body", "what"), WRITES, ids=lambda value: str(value))
def test_every_write_is_forbidden(
    store: Store, method: str, path: str, body: dict[str, object] | None, what: str
) -> None:
    before = store.fingerprint()
    kind = {"Content-Type": MERGE_PATCH if method == "PATCH" else JSON}
    answer = store.client.request(method, path, body, headers=kind)
    assert answer.status == 403
    assert answer.body["reason"] == "Forbidden"
    assert answer.body["message"] == f"{what} is forbidden: the server is read-only"
    assert store.fingerprint() == before


def test_what_writes_nothing_is_answered(store: Store) -> None:
    before = store.fingerprint()
    reviews = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
    assert store.client.post(reviews, REVIEW).body["status"]["allowed"]
    new = {"metadata": {"name": "new"}}
    assert store.client.post(f"{DEFAULT}/configmaps", new, dryRun="All").status == 201
    assert store.client.get("/readyz").status == 200
    assert store.fingerprint() == before


@needs_etcd
def test_the_server_adds_nothing_of_its_own(in_etcd: InEtcd) -> None:
    assert in_etcd.client.get("/api/v1/namespaces").names == ["default"]
    roles = "/apis/rbac.authorization.k8s.io/v1/clusterroles"
    assert in_etcd.client.get(roles).body["items"] == []


def test_the_files_of_another_server_are_served(files: Files) -> None:
    assert files.client.get(f"{DEFAULT}/configmaps/kept").status == 200


def test_a_directory_without_a_store_is_refused(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="holds no store that could be read"):
        ServerProcess(tmp_path, "kubernetes", ("--read-only",)).start()


@needs_etcd
class TestAStoreOfTheReference:
    """Its values, read as they lie there."""

    def test_built_in_objects_are_served(self, in_etcd: InEtcd) -> None:
        service = in_etcd.client.get("/api/v1/namespaces/kube-system/services/kube-dns").body
        assert service["spec"]["clusterIP"] == "10.96.0.10"
        assert service["metadata"]["resourceVersion"]

    def test_custom_objects_are_served_by_their_definition(self, in_etcd: InEtcd) -> None:
        widget = in_etcd.client.get("/apis/example.com/v1/namespaces/default/widgets/w").body
        assert widget["spec"] == WIDGET["spec"]
        assert widget["kind"] == "Widget"

    def test_definitions_are_shown_in_the_version_that_is_served(self, in_etcd: InEtcd) -> None:
        path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.example.com"
        definition = in_etcd.client.get(path).body
        (version,) = definition["spec"]["versions"]
        assert version["schema"] == DEFINITION["spec"]["validation"]

    def test_what_cannot_be_read_is_left_out(self, in_etcd: InEtcd) -> None:
        assert in_etcd.client.get("/api/v1/pods").body["items"] == []

    def test_what_lies_there_stays_as_it_is(self, in_etcd: InEtcd) -> None:
        raw = value_at(in_etcd.etcd, "/registry/example.com/widgets/default/w")
        assert json.loads(raw) == WIDGET


@pytest.fixture
def scratch() -> Iterator[Path]:
    """An empty directory of a short name, as that of a socket has to be."""
    with TemporaryDirectory() as directory:
        yield Path(directory)


@pytest.mark.parametrize("workers", ["1", "2"])
def test_the_copy_that_is_served_goes_away_with_the_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, scratch: Path, workers: str
) -> None:
    running = ServerProcess(tmp_path).start()
    running.stop()
    monkeypatch.setenv("TMPDIR", str(scratch))
    running.flags = ("--read-only", "--workers", workers)
    running.start()
    assert list(scratch.rglob("fairlead.db"))
    assert running.stop() == 0
    assert not list(scratch.iterdir())
