"""Backups of running servers over their API: one revision, despite concurrent writes."""

from __future__ import annotations

import http.client
import shutil
from base64 import b64encode
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from random import Random

import pytest
from support.audited import Audited
from support.backups import (
    admin_config,
    archive,
    everything,
    refusal,
    succeed,
    token_config,
)
from support.client_configs import cluster_of, configuration, write
from support.namespaces import Space
from support.plugin_programs import Plugin
from support.process import FreshServer, ServerProcess
from support.waiting import eventually

from fairlead.process.backup import PATH

LARGE, SECRETS = 700_000, 12  # more than connections hold on the way

WIDGETS = {
    "group": "example.com",
    "scope": "Namespaced",
    "names": {"plural": "widgets", "kind": "Widget"},
    "versions": [
        {
            "name": "v1",
            "served": True,
            "storage": True,
            "schema": {
                "openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
            },
        }
    ],
}


def fill(server: ServerProcess) -> None:
    """Something of every sort: plain, changed, secret, custom, in deletion."""
    space = Space(server, server.client())
    space.config_maps.create("changed", data={"a": "1"})
    space.config_maps.label("changed", b="2")
    space.secrets.create("secret", data={"key": "AAEC/w=="})
    space.secrets.create("held", metadata={"finalizers": ["example.com/hold"]})
    space.secrets.delete("held")
    pods = {"containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "0.1"}}}]}
    space.collection("pods").create("pod", spec=pods)
    if server.dialect.name == "kubernetes":
        definitions = space.everywhere("customresourcedefinitions", "apiextensions.@")
        definitions.create("widgets.example.com", spec=WIDGETS)
        widgets = space.collection("widgets", "example.com")
        eventually(lambda: widgets.list().status == 200, "widgets are served")
        answer = widgets.client.post(
            widgets.path,
            {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}, "n": 1.5},
        )
        assert answer.status == 201, answer.text


@pytest.mark.parametrize("dialect", ["kubernetes", "cluster"])
def test_every_object_comes_back_as_it_was(
    fresh_server: FreshServer, tmp_path: Path, dialect: str
) -> None:
    old = fresh_server(dialect=dialect)
    fill(old)
    before = everything(old.client())
    succeed("backup", tmp_path / "file", "--kubeconfig", admin_config(old))
    assert old.stop() == 0
    revived = ServerProcess(tmp_path / "revived", dialect)
    revived.directory.mkdir()
    succeed("restore", tmp_path / "file", "--data-dir", revived.data)
    shutil.copytree(old.data / "pki", revived.data / "pki")
    revived.start()
    after = everything(revived.client())
    own = [place for place in before if place[2:] == ("default", old.dialect.own_service)]
    for place in own:  # they tell the address, which is another one
        assert before.pop(place)["metadata"]["uid"] == after.pop(place)["metadata"]["uid"]
    assert len(own) == 3
    assert after == before
    watched = revived.client().watch("/api/v1/secrets", resourceVersion="5")
    assert watched.next().object["code"] == 410
    watched.close()
    revived.stop()


@pytest.fixture
def large(kubernetes: Space) -> Iterator[Space]:
    """A namespace with more in it than a connection holds on its way."""
    data = b64encode(Random(1).randbytes(LARGE)).decode()
    for number in range(SECRETS):
        kubernetes.secrets.create(f"s{number}", data={"data": data})
    yield kubernetes
    kubernetes.client.delete(kubernetes.secrets.path)


@contextmanager
def begun(space: Space) -> Iterator[http.client.HTTPResponse]:
    """The answer to a request for a backup, of which nothing was read yet."""
    connection = space.client.connect()
    connection.request("GET", PATH, headers=space.client.head_of())
    with closing(connection), connection.getresponse() as answer:
        yield answer


def test_what_is_written_meanwhile_is_not_in_it(large: Space) -> None:
    with begun(large) as answer:
        first = answer.read(1000)
        large.secrets.label("s0", changed="yes")
        large.secrets.remove("s1")
        large.secrets.create("new")
        large.client.delete(large.secrets.path, labelSelector="!changed")
        result = archive(first + answer.read())
    assert result.verify()
    exact = {"resourceVersion": str(result.header.revision), "resourceVersionMatch": "Exact"}
    listed = large.secrets.list(**exact).body["items"]
    there = [
        (row.key.removeprefix(f"{large.name}/"), str(row.revision))
        for row in result.rows()
        if row.resource == "core/secrets" and row.key.startswith(f"{large.name}/")
    ]
    assert len(there) == SECRETS
    assert there == [
        (item["metadata"]["name"], item["metadata"]["resourceVersion"]) for item in listed
    ]


def test_two_can_be_read_at_once_and_who_leaves_makes_room(large: Space) -> None:
    with begun(large) as responses:
        assert responses.read(1000)
        with begun(large) as another:
            assert another.read(1000)
            refused = large.client.get(PATH)
            assert (refused.status, refused.body["reason"]) == (429, "TooManyRequests")
        eventually(lambda: large.client.request("HEAD", PATH).status == 200, "there is room again")


@pytest.mark.parametrize(("token", "status"), [("alice-token", 403), ("unknown", 401), (None, 403)])
def test_nobody_else_gets_one(any_server: ServerProcess, token: str | None, status: int) -> None:
    answer = any_server.client(token).get(PATH)
    assert (answer.status, answer.body["kind"]) == (status, "Status")


def test_who_is_given_the_path_gets_one(kubernetes: Space, tmp_path: Path) -> None:
    rules = [{"nonResourceURLs": [PATH], "verbs": ["get"]}]
    kubernetes.everywhere("clusterroles", "rbac.authorization.@").create("backup", rules=rules)
    config = token_config(kubernetes.server, tmp_path / "config", "alice-token")
    error = refusal("backup", tmp_path / "file", "--kubeconfig", config)
    assert 'User "alice" cannot get path' in error
    assert not (tmp_path / "file").exists()
    bindings = kubernetes.everywhere("clusterrolebindings", "rbac.authorization.@")
    group = kubernetes.dialect.group_name("rbac.authorization.@")
    bindings.create(
        "backup",
        roleRef={"apiGroup": group, "kind": "ClusterRole", "name": "backup"},
        subjects=[{"kind": "User", "name": "alice", "apiGroup": group}],
    )
    succeed("backup", tmp_path / "file", "--kubeconfig", config, "--context", "it")
    bindings.remove("backup")


def test_it_has_a_media_type_of_its_own(any_server: ServerProcess) -> None:
    answer = any_server.client().request("HEAD", PATH)
    assert answer.headers["Content-Type"] == "application/vnd.fairlead.backup"


def test_it_can_only_be_read(any_server: ServerProcess) -> None:
    for method in ("POST", "PUT", "PATCH", "DELETE"):
        assert any_server.client().request(method, PATH).status == 405


def test_the_audit_log_tells_who_took_one(audited: Audited) -> None:
    answer = audited.client.get(PATH)
    assert archive(answer.raw).verify()
    event = audited.wait_for(answer.headers["Audit-Id"], "ResponseComplete")
    assert (event["requestURI"], event["user"]["username"]) == (PATH, "admin")
    assert event["responseStatus"]["code"] == 200


def test_a_server_that_is_not_trusted_is_not_asked(server: ServerProcess, tmp_path: Path) -> None:
    other = tmp_path / "other.crt"
    config = token_config(server, tmp_path / "config", "admin-token")
    make_other_authority(other)
    config.write_text(config.read_text().replace(str(server.ca), str(other)))
    error = refusal("backup", tmp_path / "file", "--kubeconfig", config)
    assert "certificate" in error


def make_other_authority(path: Path) -> None:
    from datetime import UTC, datetime, timedelta

    from fairlead.process.certificates.issue import make_authority

    path.write_bytes(make_authority("other", datetime.now(UTC), timedelta(days=1)).certificate)


@pytest.mark.parametrize(
    ("context", "message"),
    [
        ("nowhere", 'context "nowhere" does not exist'),
        ("it", 'the context "it" names the cluster "gone"'),
    ],
)
def test_a_configuration_that_cannot_be_used_is_told(
    tmp_path: Path, context: str, message: str
) -> None:
    config = tmp_path / "config"
    config.write_text('{"contexts": [{"name": "it", "context": {"cluster": "gone"}}]}')
    words = ("backup", tmp_path / "file", "--kubeconfig", config, "--context", context)
    assert message in refusal(*words)


def test_the_environment_may_name_several_files(
    server: ServerProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = token_config(server, tmp_path / "config", "admin-token")
    monkeypatch.setenv("KUBECONFIG", f"{tmp_path}/none:{config}")
    succeed("backup", tmp_path / "file")


@pytest.mark.both_dialects
def test_credentials_may_come_from_a_plugin(any_server: ServerProcess, tmp_path: Path) -> None:
    plugin = Plugin(tmp_path / "bin", any_server.dialect)
    plugin.gives(token="admin-token")
    value = configuration(cluster_of(any_server), plugin.entry())
    succeed("backup", tmp_path / "file", "--kubeconfig", write(tmp_path / "config", value))


def test_a_backup_is_not_made_as_another_user(server: ServerProcess, tmp_path: Path) -> None:
    value = configuration(cluster_of(server), {"token": "admin-token", "as": "alice"})
    config = write(tmp_path / "config", value)
    assert "with impersonation" in refusal("backup", tmp_path / "file", "--kubeconfig", config)
