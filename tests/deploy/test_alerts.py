"""deploy/prometheus: each alert fires on its fault, and none without one. What rules and dashboard
query is served, and a real Prometheus may scrape it and nothing else."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import urllib.request
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

import pytest
import yaml
from support.client import Client
from support.commands import run_words
from support.composed import DEPLOY
from support.etcd import Etcd, free_ports, needs_etcd
from support.process import FreshServer, ServerProcess
from support.waiting import eventually

ALERTS = DEPLOY / "prometheus" / "alerts.yaml"
CONFIGURATION = DEPLOY / "prometheus" / "prometheus.yaml"
DASHBOARD = DEPLOY / "grafana" / "fairlead.json"
needs_promtool = pytest.mark.skipif(
    shutil.which("promtool") is None, reason="there is no promtool (Debian: prometheus)"
)
needs_prometheus = pytest.mark.skipif(
    shutil.which("prometheus") is None, reason="there is no prometheus command"
)
MINUTES = 60


def rules() -> dict[str, dict[str, Any]]:
    groups = yaml.safe_load(ALERTS.read_text())["groups"]
    return {rule["alert"]: rule for group in groups for rule in group["rules"]}


# Series as promtool writes them: values of a minute each. `0+6x60` rises by 6 a minute for an hour.


def flat(value: float) -> str:
    return f"{value}+0x{MINUTES}"


def rising(by: float) -> str:
    return f"0+{by}x{MINUTES}"


def series(name: str, job: str, instance: str, /, **labels: str) -> str:
    shown = {"job": job, "instance": instance, **labels}
    return f"{name}{{{','.join(f'{key}={json.dumps(value)}' for key, value in shown.items())}}}"


def series_of(instance: str, name: str, /, **labels: str) -> str:
    return series(name, "fairlead", instance, **labels)


def of_server(name: str, /, **labels: str) -> str:
    return series(name, "fairlead", "a:6443", **labels)


def of_member(name: str, /, **labels: str) -> str:
    return series(name, "etcd", "e1:2381", **labels)


def durations(name: str, fast: float, slow: float, /, **labels: str) -> dict[str, str]:
    """A histogram on the first server: observations a minute of 5 ms and of some 20 s."""
    bucket = f"{name}_bucket"
    return {
        of_server(bucket, **labels, le="0.005"): rising(fast),
        of_server(bucket, **labels, le="15"): rising(fast),
        of_server(bucket, **labels, le="30"): rising(fast + slow),
        of_server(bucket, **labels, le="+Inf"): rising(fast + slow),
    }


REQUESTS, SECONDS = "apiserver_request_total", "apiserver_request_duration_seconds"
REJECTIONS = "apiserver_admission_webhook_rejection_count"
ENDED, TERMINATED = "fairlead_storage_watchers_ended_total", "apiserver_request_terminations_total"
LEADS, EXPIRES = (
    "leader_election_master_status",
    "fairlead_certificate_expiration_timestamp_seconds",
)
COMMITS, COMMIT_SECONDS = (
    "fairlead_storage_commits_total",
    "fairlead_storage_commit_duration_seconds",
)
RELOADS = "apiserver_authorization_config_controller_automatic_reloads_total"
UNAVAILABLE = "aggregator_unavailable_apiservice"
WAL = "etcd_disk_wal_fsync_duration_seconds_bucket"
GIB = float(1 << 30)


def healthy() -> dict[str, str]:
    """Two servers and three members without a fault; time begins at 0."""
    found: dict[str, str] = {}
    for instance in ("a:6443", "b:6443"):
        leads = flat(float(instance == "a:6443"))

        of = partial(series_of, instance)
        found |= {
            of("up"): flat(1),
            of("fairlead_ready"): flat(1),
            of("process_start_time_seconds"): flat(1),
            of(REQUESTS, verb="GET", code="200"): rising(6000),
            of(REQUESTS, verb="GET", code="404"): rising(600),
            of(REQUESTS, verb="GET", code="500"): rising(6),
            of(COMMITS, result="ok"): rising(600),
            of(COMMITS, result="failed"): flat(0),
            of("fairlead_data_directory_free_bytes"): flat(50 * GIB),
            of("fairlead_data_directory_size_bytes"): flat(100 * GIB),
            of("process_open_fds"): flat(200),
            of("process_max_fds"): flat(1000),
            of("apiserver_audit_error_total", plugin="log"): flat(0),
            of("apiserver_audit_requests_rejected_total"): flat(0),
            of(EXPIRES, certificate="serving"): flat(86400 * 90),
            of("fairlead_reload_failed", file="--token-auth-file"): flat(0),
            of(RELOADS, status="success"): rising(1),
            of(REJECTIONS, name="w", error_type="no_error"): rising(60),
            of("aggregator_unavailable_apiservice", name="v1.x"): flat(0),
            of(ENDED, reason="expired"): rising(60),
            of("workqueue_depth", name="garbagecollector"): flat(100),
            of("workqueue_longest_running_processor_seconds", name="job"): flat(1),
            of(LEADS, name="kube-controller-manager"): leads,
            of("fairlead_event_loop_stall_seconds_total"): rising(1),
        }
    found |= durations(SECONDS, 1000, 1, verb="GET")
    found |= durations(SECONDS, 1000, 1, verb="LIST")
    found |= durations(SECONDS, 1, 1000, verb="CONNECT")
    found |= durations(COMMIT_SECONDS, 1000, 1)
    for number in range(3):
        member = f"e{number}:2381"
        found |= {
            series("up", "etcd", member): flat(1),
            series("etcd_server_has_leader", "etcd", member): flat(1),
            series("etcd_mvcc_db_total_size_in_bytes", "etcd", member): flat(GIB),
            series("etcd_server_quota_backend_bytes", "etcd", member): flat(2 * GIB),
            series(WAL, "etcd", member, le="0.008"): rising(1000),
            series(WAL, "etcd", member, le="+Inf"): rising(1001),
        }
    return found


class Fault(NamedTuple):
    alert: str
    series: dict[str, str]  # in place of those of `healthy`, or in addition
    without: str = "nothing"  # pattern of series that are missing


def broken(alert: str, name: str, value: str, /, **labels: str) -> Fault:
    return Fault(alert, {of_server(name, **labels): value})


FAULTS = [
    broken("FairleadDown", "up", flat(0)),
    Fault("FairleadMissing", {}, 'job="fairlead"'),
    broken("FairleadNotReady", "fairlead_ready", flat(0)),
    broken("FairleadRestarts", "process_start_time_seconds", rising(60)),
    broken("FairleadErrors", REQUESTS, rising(600), verb="GET", code="500"),
    Fault("FairleadSlow", durations(SECONDS, 1000, 100, verb="GET")),
    Fault("FairleadSlowLists", durations(SECONDS, 1000, 100, verb="LIST")),
    broken("FairleadStalls", "fairlead_event_loop_stall_seconds_total", rising(6)),
    broken("FairleadRequestsTimeOut", TERMINATED, rising(60), verb="GET", code="504"),
    broken(
        "FairleadRequestsRejected",
        "apiserver_flowcontrol_rejected_requests_total",
        rising(60),
        priority_level="workload-low",
        reason="queue-full",
    ),
    broken("FairleadCommitsFail", COMMITS, rising(1), result="failed"),
    Fault("FairleadCommitsSlow", durations(COMMIT_SECONDS, 1000, 100)),
    broken("FairleadDiskFull", "fairlead_data_directory_free_bytes", flat(5 * GIB)),
    broken("FairleadDescriptorsShort", "process_open_fds", flat(900)),
    broken("FairleadAuditLost", "apiserver_audit_error_total", rising(1), plugin="log"),
    broken("FairleadAuditLost", "apiserver_audit_requests_rejected_total", rising(1)),
    broken("FairleadCertificateExpires", EXPIRES, flat(86400 * 10), certificate="serving"),
    broken("FairleadFileRefused", "fairlead_reload_failed", flat(1), file="--token-auth-file"),
    broken("FairleadFileRefused", RELOADS, rising(1), status="failure"),
    broken(
        "FairleadWebhookFails", REJECTIONS, rising(6), name="w", error_type="calling_webhook_error"
    ),
    broken(
        "FairleadWebhookFails", "apiserver_admission_webhook_fail_open_count", rising(6), name="w"
    ),
    broken(
        "FairleadExtensionUnavailable", "aggregator_unavailable_apiservice", flat(1), name="v1.x"
    ),
    broken("FairleadWatchersCutOff", ENDED, rising(60), reason="lagging"),
    broken(
        "FairleadFollowersFail",
        "fairlead_storage_follower_failures_total",
        rising(1),
        resource="core/pods",
    ),
    broken("FairleadControllerBehind", "workqueue_depth", flat(5000), name="garbagecollector"),
    broken(
        "FairleadControllerHangs",
        "workqueue_longest_running_processor_seconds",
        rising(60),
        name="job",
    ),
    broken("FairleadLeaders", LEADS, flat(0), name="kube-controller-manager"),
    Fault(
        "FairleadLeaders",
        {series(LEADS, "fairlead", "b:6443", name="kube-controller-manager"): flat(1)},
    ),
    broken("FairleadEtcdCallsFail", "fairlead_etcd_request_failures_total", rising(60), code="14"),
    broken(
        "FairleadEtcdUnreadable",
        "fairlead_etcd_unreadable_values_total",
        rising(1),
        resource="core/secrets",
    ),
    Fault("EtcdMemberDown", {of_member("up"): flat(0)}),
    Fault("EtcdNoLeader", {of_member("etcd_server_has_leader"): flat(0)}),
    Fault("EtcdDatabaseFull", {of_member("etcd_mvcc_db_total_size_in_bytes"): flat(1.9 * GIB)}),
    Fault(
        "EtcdDiskSlow",
        {of_member(WAL, le="+Inf"): rising(1100), of_member(WAL, le="8"): rising(1100)},
    ),
]


def run_promtool(directory: Path, given: dict[str, str], alerts: list[str]) -> str:
    """Compare the alerts that fire in the end with those expected; returns what differs."""
    case = {
        "interval": "1m",
        "input_series": [{"series": name, "values": values} for name, values in given.items()],
        "promql_expr_test": [
            {
                "expr": 'group by (alertname) (ALERTS{alertstate="firing"})',
                "eval_time": f"{MINUTES - 1}m",
                "exp_samples": [
                    {"labels": f'{{alertname="{alert}"}}', "value": 1} for alert in alerts
                ],
            }
        ],
    }
    tests = {"rule_files": [str(ALERTS)], "evaluation_interval": "1m", "tests": [case]}
    path = directory / "test.yaml"
    path.write_text(yaml.safe_dump(tests))
    ran = subprocess.run(
        ["promtool", "test", "rules", str(path)], capture_output=True, text=True, check=False
    )
    return "" if ran.returncode == 0 else ran.stdout + ran.stderr


@needs_promtool
def test_no_alert_fires_while_nothing_is_wrong(tmp_path: Path) -> None:
    assert run_promtool(tmp_path, healthy(), []) == ""


@needs_promtool
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.alert)
def test_an_alert_fires_on_its_fault_and_no_other_does(tmp_path: Path, fault: Fault) -> None:
    given = {
        name: values for name, values in healthy().items() if not re.search(fault.without, name)
    }
    assert run_promtool(tmp_path, given | fault.series, [fault.alert]) == ""


def test_every_alert_has_a_fault() -> None:
    assert {fault.alert for fault in FAULTS} == rules().keys()


@needs_promtool
def test_promtool_accepts_rules_and_configuration() -> None:
    assert promtool("check", "rules", str(ALERTS)).returncode == 0
    checked = promtool("check", "config", "--syntax-only", str(CONFIGURATION))
    assert checked.returncode == 0, checked.stderr


def promtool(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["promtool", *words], capture_output=True, text=True, check=False)


# What is queried is served.

_METRIC = re.compile(
    r"\b((?:aggregator|apiserver|authenticat|etcd|fairlead|leader|process|workqueue)[a-z]*_[a-z_]+)"
    r"(?:\{([^}]*)\})?"
)
_GROUPED_BY = re.compile(r"\b(?:by|without) \(([^)]*)\)")
_OF_HISTOGRAMS = ("_bucket", "_count", "_sum")
_ADDED = {"job", "instance", "le", "alertname"}


def expressions() -> Iterator[str]:
    yield from (str(rule["expr"]) for rule in rules().values())
    dashboard = json.loads(DASHBOARD.read_text())
    for panel in dashboard["panels"]:
        yield from (str(target["expr"]) for target in panel.get("targets", ()))
    for variable in dashboard["templating"]["list"]:
        if variable["type"] == "query":
            yield str(variable["query"]["query"])


def served_labels(text: str) -> dict[str, set[str]]:
    """The names of a page of metrics, with the labels that its samples have."""
    found: dict[str, set[str]] = {}
    for line in text.splitlines():
        if line.startswith("# TYPE "):
            _, _, name, kind = line.split()
            ends = _OF_HISTOGRAMS if kind == "histogram" else ("",)
            found |= {name + end: set() for end in ends}
        elif not line.startswith("#"):
            name, _, rest = line.partition("{")
            found.setdefault(name.split()[0], set()).update(re.findall(r'(\w+)="', rest))
    return found


def documented_labels() -> dict[str, set[str]]:
    """Labels of metrics without samples yet, from the page that is generated from the code."""
    page = (DEPLOY.parent / "docs/reference/metrics.md").read_text()
    rows = re.findall(r"^\| `(\w+)` \| (\w+) \| (.*?) \|", page, re.MULTILINE)
    return {
        name + end: set(re.findall(r"`(\w+)`", labels))
        for name, kind, labels in rows
        for end in (_OF_HISTOGRAMS if kind == "histogram" else ("",))
    }


@needs_etcd
def test_every_metric_and_label_in_rules_and_dashboard_is_served(
    server: ServerProcess, tmp_path: Path
) -> None:
    etcd = Etcd(tmp_path).start()
    try:
        with urllib.request.urlopen(f"{etcd.url}/metrics", timeout=10) as answer:
            of_etcd = served_labels(answer.read().decode())
    finally:
        etcd.close()
    client = server.client()
    own = served_labels(client.get("/metrics").text)
    client.close()
    described = documented_labels()
    served = of_etcd | {name: labels | described.get(name, set()) for name, labels in own.items()}
    matches = [match for text in expressions() for match in _METRIC.finditer(text)]
    assert len(matches) > len(rules())
    assert {match[1] for match in matches} - served.keys() == set()
    for match in matches:
        labels = set(re.findall(r"(\w+)\s*(?:=~|!~|!=|=)", match[2] or ""))
        assert labels <= served[match[1]] | _ADDED, match[0]
    for text in expressions():
        known = set().union(_ADDED, *(served[match[1]] for match in _METRIC.finditer(text)))
        for group in _GROUPED_BY.findall(text):
            assert set(re.findall(r"\w+", group)) <= known, text


# A real Prometheus


@needs_prometheus
def test_prometheus_scrapes_with_the_least_rights(
    fresh_server: FreshServer, tmp_path: Path
) -> None:
    server = fresh_server("--release", "1.36")
    config = ("--kubeconfig", str(server.data / "admin.kubeconfig"))
    rbac = str(DEPLOY / "prometheus" / "rbac.yaml")
    applied = run_words(*config, "apply", "-f", rbac)
    assert applied.code == 0, applied.errors
    words = (*config, "-n", "monitoring", "get", "secret", "prometheus", "-o")
    token = tmp_path / "token"

    def has_token() -> bool:
        token.write_text(run_words(*words, "go-template={{.data.token | base64decode}}").out)
        return token.read_text().startswith("ey")

    eventually(has_token, "the secret has a token")
    client = Client(server.address, server.ca, token.read_text())
    assert client.get("/metrics").status == 200
    assert client.get("/api/v1/namespaces").status == 403
    assert client.get("/metrics/slis").status == 403
    client.close()
    (port,) = free_ports(1)
    text = CONFIGURATION.read_text()
    changes = {
        '"server1:6443", "server2:6443"': server.address.removeprefix("https://"),
        "/etc/prometheus/alerts.yaml": str(ALERTS),
        "/etc/prometheus/fairlead.token": str(token),
        "/etc/prometheus/fairlead-ca.crt": str(server.ca),
        "15s": "1s",
    }
    for before, after in changes.items():
        assert before in text
        text = text.replace(before, after)
    (tmp_path / "prometheus.yaml").write_text(text)
    command = [
        "prometheus",
        f"--config.file={tmp_path / 'prometheus.yaml'}",
        f"--storage.tsdb.path={tmp_path / 'tsdb'}",
        f"--web.listen-address=127.0.0.1:{port}",
        "--log.level=warn",
    ]
    with (tmp_path / "prometheus.log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        ups = 'up{job="fairlead"} == 1'
        eventually(lambda: len(queried(port, ups)) == 1, "the server is scraped")
        eventually(lambda: len(evaluated(port)) == len(rules()), "every rule was evaluated")
        assert {rule["health"] for rule in evaluated(port)} == {"ok"}
    finally:
        process.terminate()
        process.wait(30)


def asked(port: int, path: str) -> Any:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/api/v1/{path}", timeout=10) as answer:
            return json.load(answer)["data"]
    except OSError:
        return {}


def queried(port: int, expression: str) -> list[Any]:
    found: list[Any] = asked(port, f"query?query={quote(expression)}").get("result", [])
    return found


def evaluated(port: int) -> list[dict[str, Any]]:
    groups = asked(port, "rules").get("groups", [])
    return [rule for group in groups for rule in group["rules"] if rule["health"] != "unknown"]
