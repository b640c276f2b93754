"""Generates deploy/grafana/fairlead.json, a dashboard for Grafana, from the tables below."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, NamedTuple

TARGET = Path(__file__).resolve().parent.parent / "deploy" / "grafana" / "fairlead.json"
_WIDTH, _HEIGHT = 24, 8
_RATE = "[$__rate_interval]"
_OURS, _OF_ETCD = 'job="fairlead", instance=~"$instance"', 'job="etcd"'


class Panel(NamedTuple):
    """Curves. `OURS`, `ETCD` and `RATE` in expressions stand for selectors and the interval."""

    title: str
    unit: str
    curves: dict[str, str]  # expression by legend
    kind: str = "timeseries"


def quantile(share: str, metric: str, by: str, selector: str = "OURS") -> str:
    inner = f"sum by ({by}, le) (rate({metric}_bucket{{{selector}}}RATE))"
    return f"histogram_quantile({share}, {inner})"


_REQUESTS = 'apiserver_request_duration_seconds_bucket{OURS, verb!="CONNECT"}'

_WAL = "etcd_disk_wal_fsync_duration_seconds"

ROWS: dict[str, list[Panel]] = {
    "At a glance": [
        Panel("Servers ready", "none", {"{{instance}}": "fairlead_ready{OURS}"}, "stat"),
        Panel("Leader", "none", {"{{instance}}": "leader_election_master_status{OURS}"}, "stat"),
        Panel(
            "Certificates expire in",
            "s",
            {
                "{{instance}} {{certificate}}": (
                    "fairlead_certificate_expiration_timestamp_seconds{OURS} - time()"
                )
            },
            "stat",
        ),
    ],
    "Requests": [
        Panel(
            "Requests by verb",
            "reqps",
            {"{{verb}}": "sum by (verb) (rate(apiserver_request_total{OURS}RATE))"},
        ),
        Panel(
            "Errors by code",
            "reqps",
            {"{{code}}": 'sum by (code) (rate(apiserver_request_total{OURS, code=~"[45].."}RATE))'},
        ),
        Panel(
            "Duration of 99 of 100 requests",
            "s",
            {"{{verb}}": (f"histogram_quantile(0.99, sum by (verb, le) (rate({_REQUESTS}RATE)))")},
        ),
        Panel(
            "Requests at work",
            "none",
            {
                "{{request_kind}}": (
                    "sum by (request_kind) (apiserver_current_inflight_requests{OURS})"
                ),
                "waiting": "sum(apiserver_flowcontrol_current_inqueue_requests{OURS})",
            },
        ),
        Panel(
            "Rejected by flow control",
            "reqps",
            {
                "{{priority_level}}": (
                    "sum by (priority_level)"
                    " (rate(apiserver_flowcontrol_rejected_requests_total{OURS}RATE))"
                )
            },
        ),
        Panel(
            "Calls to webhooks, 99 of 100",
            "s",
            {
                "{{name}}": quantile(
                    "0.99", "apiserver_admission_webhook_admission_duration_seconds", "name"
                )
            },
        ),
    ],
    "Watches": [
        Panel(
            "Open watches",
            "none",
            {"{{instance}}": "sum by (instance) (apiserver_longrunning_requests{OURS})"},
        ),
        Panel(
            "Watches that the server closed",
            "cps",
            {
                "{{reason}}": (
                    "sum by (reason) (rate(fairlead_storage_watchers_ended_total{OURS}RATE))"
                )
            },
        ),
        Panel(
            "From commit to delivery, 99 of 100",
            "s",
            {"{{instance}}": quantile("0.99", "fairlead_storage_feed_lag_seconds", "instance")},
        ),
    ],
    "Store": [
        Panel(
            "Commits",
            "cps",
            {"{{result}}": "sum by (result) (rate(fairlead_storage_commits_total{OURS}RATE))"},
        ),
        Panel(
            "Duration of a commit",
            "s",
            {
                "median": quantile("0.5", "fairlead_storage_commit_duration_seconds", "job"),
                "99 of 100": quantile("0.99", "fairlead_storage_commit_duration_seconds", "job"),
            },
        ),
        Panel(
            "Objects",
            "none",
            {"{{resource}}": "topk(10, max by (resource) (apiserver_storage_objects{OURS}))"},
        ),
        Panel(
            "Store and free disk",
            "bytes",
            {
                "store of {{instance}}": "apiserver_storage_db_total_size_in_bytes{OURS}",
                "free at {{instance}}": "fairlead_data_directory_free_bytes{OURS}",
            },
        ),
    ],
    "Processes": [
        Panel("CPU", "percentunit", {"{{instance}}": "rate(process_cpu_seconds_total{OURS}RATE)"}),
        Panel("Memory", "bytes", {"{{instance}}": "process_resident_memory_bytes{OURS}"}),
        Panel(
            "Time in which nobody was answered",
            "percentunit",
            {"{{instance}}": "rate(fairlead_event_loop_stall_seconds_total{OURS}RATE)"},
        ),
        Panel(
            "Queues of controllers",
            "none",
            {"{{name}}": "topk(10, max by (name) (workqueue_depth{OURS}))"},
        ),
    ],
    "etcd": [
        Panel(
            "Members with a leader",
            "none",
            {"{{instance}}": "etcd_server_has_leader{ETCD}"},
            "stat",
        ),
        Panel(
            "Database",
            "bytes",
            {
                "{{instance}}": "etcd_mvcc_db_total_size_in_bytes{ETCD}",
                "quota": "min(etcd_server_quota_backend_bytes{ETCD})",
            },
        ),
        Panel(
            "Calls of the servers, 99 of 100",
            "s",
            {"{{method}}": quantile("0.99", "fairlead_etcd_request_duration_seconds", "method")},
        ),
        Panel(
            "Syncs to disk, 99 of 100",
            "s",
            {
                "{{instance}}": quantile(
                    "0.99", "etcd_disk_wal_fsync_duration_seconds", "instance", "ETCD"
                )
            },
        ),
    ],
}
_SOURCE = {"type": "prometheus", "uid": "${datasource}"}


def _expression(text: str) -> str:
    return text.replace("OURS", _OURS).replace("ETCD", _OF_ETCD).replace("RATE", _RATE)


def _panel(number: int, panel: Panel, place: dict[str, int]) -> dict[str, Any]:
    targets = [
        {
            "datasource": _SOURCE,
            "expr": _expression(text),
            "legendFormat": legend,
            "refId": chr(ord("A") + index),
        }
        for index, (legend, text) in enumerate(panel.curves.items())
    ]
    return {
        "id": number,
        "type": panel.kind,
        "title": panel.title,
        "datasource": _SOURCE,
        "gridPos": place,
        "fieldConfig": {"defaults": {"unit": panel.unit, "min": 0}, "overrides": []},
        "targets": targets,
    }


def _panels() -> list[dict[str, Any]]:
    """Each row has its panels side by side, at most four in a line."""
    made: list[dict[str, Any]] = []
    top = 0
    for title, panels in ROWS.items():
        place = {"h": 1, "w": _WIDTH, "x": 0, "y": top}
        made.append({"id": len(made) + 1, "type": "row", "title": title, "gridPos": place})
        top += 1
        in_line = 3 if len(panels) % 3 == 0 else 4
        width = _WIDTH // in_line
        for index, panel in enumerate(panels):
            line, column = divmod(index, in_line)
            place = {"h": _HEIGHT, "w": width, "x": column * width, "y": top + line * _HEIGHT}
            made.append(_panel(len(made) + 1, panel, place))
        top += -(-len(panels) // in_line) * _HEIGHT
    return made


def dashboard() -> str:
    variables: list[dict[str, Any]] = [
        {"name": "datasource", "label": "Data source", "type": "datasource", "query": "prometheus"},
        {
            "name": "instance",
            "label": "Server",
            "type": "query",
            "datasource": _SOURCE,
            "query": {"query": 'label_values(fairlead_ready{job="fairlead"}, instance)'},
            "refresh": 2,
            "multi": True,
            "includeAll": True,
            "allValue": ".*",
            "current": {"text": "All", "value": "$__all"},
        },
    ]
    content = {
        "uid": "fairlead",
        "title": "Fairlead",
        "tags": ["fairlead"],
        "schemaVersion": 38,
        "editable": True,
        "time": {"from": "now-1h", "to": "now"},
        "refresh": "30s",
        "templating": {"list": variables},
        "panels": _panels(),
    }
    return json.dumps(content, indent=1) + "\n"


if __name__ == "__main__":
    TARGET.write_text(dashboard())
    sys.exit(0)
