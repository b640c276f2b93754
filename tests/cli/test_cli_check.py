"""`fairlead check`: what it finds in data directories, in etcd and in running servers."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from support.backups import admin_config, token_config
from support.etcd import Etcd, needs_etcd
from support.process import FreshServer, ServerProcess

from fairlead.cli import main
from fairlead.cli.checks.directory import check_files
from fairlead.cli.checks.findings import Weight
from fairlead.cli.checks.objects import ObjectCheck
from fairlead.cli.checks.server import metric_findings
from fairlead.storage.sqlite import format as file_format
from fairlead.storage.sqlite.directory import Acknowledged

NOW = datetime(2026, 3, 1, tzinfo=UTC)
DAY = timedelta(days=1)


@pytest.fixture
def stopped(fresh_server: FreshServer) -> Path:
    """The data directory of a server that was stopped."""
    server = fresh_server()
    server.stop()
    return server.data


class Checked:
    """The exit code and the output of the command."""

    def __init__(self, capsys: pytest.CaptureFixture[str], *words: object) -> None:
        self.code = main(["check", *map(str, words)])
        self.lines = capsys.readouterr().out.splitlines()

    def line(self, start: str) -> str:
        found = [line for line in self.lines if line.startswith(start)]
        assert found, self.lines
        return found[0]


def test_a_whole_directory_has_nothing_wrong(
    stopped: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    checked = Checked(capsys, "--data-dir", stopped)
    assert checked.code == 0
    assert checked.lines[-1].startswith(f"{stopped}: nothing is wrong (revision ")


def test_a_directory_in_use_is_checked_and_left_alone(
    fresh_server: FreshServer, capsys: pytest.CaptureFixture[str]
) -> None:
    server = fresh_server()
    checked = Checked(capsys, "--data-dir", server.data)
    assert checked.code == 0, checked.lines
    assert server.client().get("/readyz").status == 200
    assert server.stop() == 0


def test_what_a_server_writes_during_the_check_is_not_taken_for_lost(
    fresh_server: FreshServer, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    server = fresh_server()
    check_pages = file_format.check_pages

    def written_meanwhile(db: sqlite3.Connection, path: Path) -> None:
        check_pages(db, path)
        maps = "/api/v1/namespaces/default/configmaps"
        assert server.client().post(maps, {"metadata": {"name": "late"}}).status == 201

    monkeypatch.setattr(file_format, "check_pages", written_meanwhile)
    checked = Checked(capsys, "--data-dir", server.data)
    assert checked.code == 0, checked.lines


def test_a_damaged_row_is_an_error_at_its_revision(
    stopped: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with closing(sqlite3.connect(stopped / "fairlead.db")) as db:
        revision = db.execute("SELECT max(revision) FROM log").fetchone()[0]
        db.execute("UPDATE log SET value = x'7b7d' WHERE revision = ?", (revision,))
        db.commit()
    checked = Checked(capsys, "--data-dir", stopped)
    assert checked.code == 1
    assert f"1 rows are damaged, the first at revision {revision}" in checked.line("ERROR")


def test_lost_writes_are_an_error(stopped: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Acknowledged(stopped).write(10**9)
    assert "lost writes that were acknowledged" in Checked(capsys, "--data-dir", stopped).line(
        "ERROR"
    )


def test_a_file_that_is_no_store_is_an_error(
    stopped: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (stopped / "fairlead.db").write_bytes(b"no database" * 500)
    assert "SQLite cannot read it" in Checked(capsys, "--data-dir", stopped).line("ERROR")


def test_files_that_others_can_read_are_warned_of(
    stopped: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = stopped / "admin.kubeconfig"
    config.chmod(0o644)
    warned = Checked(capsys, "--data-dir", stopped).line("WARNING")
    assert "has mode 0644" in warned
    assert f"chmod go-rwx {config}" in warned


def test_expired_certificates_are_errors_in_front_of_the_others(stopped: Path) -> None:
    findings = list(check_files(stopped, datetime.now(UTC) + 700 * DAY))
    assert {finding.weight for finding in findings} == {Weight.ERROR}
    assert any("the serving certificate expired on" in finding.text for finding in findings)


def test_a_report_is_also_json(stopped: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (stopped / "fairlead.db.new").touch(mode=0o600)
    assert main(["check", "--data-dir", str(stopped), "-o", "json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert [finding["weight"] for finding in report["findings"]] == ["note"]
    assert report["findings"][0]["remedy"] == "Delete it"


def test_a_directory_that_is_not_there_is_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    where = tmp_path / "none"
    assert main(["check", "--data-dir", str(where)]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines == [f"ERROR: {where}: is not a directory", f"{where}: 1 error"]


def test_one_place_has_to_be_named(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("KUBECONFIG", raising=False)
    for words in ([], ["--data-dir", "x", "--kubeconfig", "y"]):
        with pytest.raises(SystemExit) as ended:
            main(["check", *words])
        assert ended.value.code == 2
    assert "says what to check" in capsys.readouterr().err


# Objects


def findings_of(*objects: tuple[str, str, Any], built_in: tuple[str, ...] = ()) -> list[str]:
    check = ObjectCheck(NOW, built_in)
    for resource, key, value in objects:
        check.add(resource, key, value)
    return [finding.line() for finding in check.findings()]


def hook(**fields: Any) -> dict[str, Any]:
    service = {"namespace": "ns", "name": "hook"}
    return {
        "webhooks": [
            {
                "name": "a.b.c",
                "failurePolicy": "Fail",
                "clientConfig": {"service": service},
                "rules": [{"resources": ["pods"]}],
                **fields,
            }
        ]
    }


HOOKS = "admissionregistration.k8s.io/validatingwebhookconfigurations"


def test_a_webhook_without_its_service_blocks_writes() -> None:
    assert findings_of((HOOKS, "h", hook())) == [
        "ERROR: webhook a.b.c of h: the service ns/hook does not exist:"
        " every write of pods that it selects is refused"
    ]
    assert findings_of((HOOKS, "h", hook()), ("core/services", "ns/hook", {})) == []
    assert findings_of((HOOKS, "h", hook(failurePolicy="Ignore")))[0].startswith("NOTE")


def test_a_bundle_that_is_no_certificate_is_warned_of() -> None:
    client = {"url": "https://x", "caBundle": "bm8gY2VydGlmaWNhdGU="}
    found = findings_of((HOOKS, "h", hook(clientConfig=client)))
    assert "its caBundle cannot be read" in found[0]


def test_what_waits_after_its_deletion_names_who_holds_it() -> None:
    def deleted(minutes: int) -> dict[str, Any]:
        moment = (NOW - timedelta(minutes=minutes)).isoformat()[:19] + "Z"
        return {"metadata": {"deletionTimestamp": moment, "finalizers": ["a/b"]}}

    found = findings_of(("core/pods", "n/a", deleted(60)), ("core/pods", "n/b", deleted(1)))
    assert len(found) == 1
    assert found[0].startswith("WARNING: core/pods n/a: waits for a/b since it was deleted")


def test_objects_without_their_definition_are_warned_of() -> None:
    found = findings_of(
        ("example.com/things", "n/a", {}), ("core/pods", "n/a", {}), built_in=("core",)
    )
    assert found == [
        "WARNING: example.com/things: 1 objects are stored that no definition serves."
        " Create the definition again to reach them"
    ]


def test_a_stored_version_that_is_gone_is_an_error() -> None:
    definition = {
        "spec": {"versions": [{"name": "v2"}]},
        "status": {"storedVersions": ["v1", "v2"]},
    }
    resource = "apiextensions.k8s.io/customresourcedefinitions"
    assert "may be stored in v1" in findings_of((resource, "x", definition))[0]


def test_metrics_above_zero_say_what_happened() -> None:
    text = (
        'fairlead_storage_commits_total{result="ok"} 9\n'
        'fairlead_storage_commits_total{result="failed"} 2\n'
        "process_open_fds 90\nprocess_max_fds 100\n"
        'workqueue_depth{name="jobs"} 5000\n'
    )
    assert [(finding.weight.name, finding.text) for finding in metric_findings(text)] == [
        ("ERROR", "2 commits failed since it started"),
        ("WARNING", "a controller is 5,000 keys behind"),
        ("WARNING", "90 of 100 files are open"),
    ]


# Running servers


@pytest.fixture(scope="module")
def open_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """A server on which everybody may do everything."""
    server = ServerProcess(tmp_path_factory.mktemp("open")).start()
    group = "rbac.authorization.k8s.io"
    body = {
        "metadata": {"name": "open"},
        "subjects": [{"kind": "Group", "apiGroup": group, "name": "system:unauthenticated"}],
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": "cluster-admin"},
    }
    path = f"/apis/{group}/v1/clusterrolebindings"
    assert server.client().post(path, body).status == 201
    yield server
    server.stop()


def test_rights_of_everybody_are_an_error(
    open_server: ServerProcess, capsys: pytest.CaptureFixture[str]
) -> None:
    checked = Checked(capsys, "--kubeconfig", admin_config(open_server))
    assert checked.code == 1
    assert "gives cluster-admin to system:unauthenticated" in checked.line("ERROR")


def test_what_the_user_may_not_read_is_named(
    server: ServerProcess, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = token_config(server, tmp_path / "alice", "alice-token")
    checked = Checked(capsys, "--kubeconfig", config)
    assert "not allowed to read: /metrics" in checked.lines[-1]


def test_a_server_that_is_away_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], fresh_server: FreshServer
) -> None:
    server = fresh_server()
    config = admin_config(server)
    server.kill()
    assert main(["check", "--kubeconfig", str(config)]) == 1
    assert capsys.readouterr().err.count("\n") == 1


@needs_etcd
def test_a_member_that_is_away_is_told_by_its_address(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    etcd = Etcd(tmp_path / "etcd").start()
    try:
        away = "http://127.0.0.1:1"
        checked = Checked(capsys, "--storage", "etcd", "--etcd-servers", f"{etcd.url},{away}")
    finally:
        etcd.close()
    assert checked.code == 1
    assert checked.line(f"ERROR: {away}: does not answer: ")
    assert checked.lines[-1].endswith("(2 members; revision 1, 0 objects)")
