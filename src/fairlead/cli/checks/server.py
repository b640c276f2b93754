"""Checks a running server by its API, with what the user may read."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from fairlead.cli.checks.findings import Finding, error, note, warning
from fairlead.cli.checks.objects import READ, ObjectCheck, short_name
from fairlead.client import ApiError, Client, ResourceType
from fairlead.client.errors import Forbidden, NotFound
from fairlead.client.resources import METADATA_LIST
from fairlead.client.session import JSON
from fairlead.process.certificates.validity import validity_of

Weigh = Callable[..., Finding]

_SAMPLE = re.compile(r"^(\w+)(?:\{(.*)\})? ([0-9.eE+-]+)$", re.MULTILINE)
_FAILED = re.compile(r"^\[-\](\S+) failed", re.MULTILINE)
_NOT_FOR_ME = (403, 404, 405)
_SOON = timedelta(days=14)
_DEEP = 1_000  # keys in a queue of a controller
_MOST_FILES = 0.8


class Rule(NamedTuple):
    """What a metric above 0 says. `label` is a part of its labels that must be there."""

    metric: str
    label: str
    weigh: Weigh
    text: str  # {value}: the sum
    remedy: str = ""


_RULES = (
    Rule(
        "fairlead_storage_commits_total",
        'result="failed"',
        error,
        "{value} commits failed since it started",
        "Its log says why: a full disk, or a lost etcd",
    ),
    Rule("fairlead_storage_follower_failures_total", "", error, "{value} followers failed"),
    Rule("fairlead_etcd_unreadable_values_total", "", error, "{value} values cannot be read"),
    Rule("apiserver_audit_error_total", "", error, "{value} audit events were lost"),
    Rule(
        "fairlead_event_loop_stalls_total",
        "",
        warning,
        "{value} times it answered nobody for more than 100 ms",
        "Its log names the requests",
    ),
    Rule(
        "apiserver_admission_webhook_rejection_count",
        'error_type="calling_webhook_error"',
        warning,
        "{value} writes were refused because a webhook could not be called",
    ),
    Rule(
        "apiserver_admission_webhook_fail_open_count",
        "",
        warning,
        "{value} writes passed without the webhooks that could not be called",
    ),
    Rule(
        "apiserver_flowcontrol_rejected_requests_total",
        "",
        warning,
        "{value} requests were rejected, because their priority level was full",
    ),
    Rule("fairlead_etcd_member_switches_total", "", note, "{value} times it changed the member"),
    Rule(
        "apiserver_requested_deprecated_apis", "", note, "{value} deprecated resources are in use"
    ),
)


class ServerCheck:
    """One look at a server. `left_out` names what the user may not read."""

    def __init__(self, client: Client, now: datetime) -> None:
        self._client = client
        self._now = now
        self.objects = ObjectCheck(now)
        self.left_out: list[str] = []

    async def findings(self) -> list[Finding]:
        """Raises Unreachable and AccessError."""
        found = [*await self._check_health(), *await self._check_certificate()]
        found += await self._check_metrics()
        await self._read_objects()
        return [*found, *self.objects.findings()]

    async def _check_health(self) -> list[Finding]:
        try:
            await self._client.raw("GET", "/readyz?verbose")
        except Forbidden:
            self.left_out.append("/readyz")
        except ApiError as answer:
            failed = _FAILED.findall(answer.message)
            return [error("readyz", f"{name} fails") for name in failed or ["the server"]]
        return []

    async def _check_certificate(self) -> list[Finding]:
        """The certificate of the user; that of the server was verified when it was called."""
        proof = await self._client.access.credentials.proof()
        if not proof.certificate:
            return []
        end = validity_of(proof.certificate).end
        if end - self._now > _SOON:
            return []
        return [warning("your client certificate", f"expires on {end:%Y-%m-%d}", "Get a new one")]

    async def _check_metrics(self) -> list[Finding]:
        try:
            text = (await self._client.raw("GET", "/metrics")).decode(errors="replace")
        except (Forbidden, NotFound):
            self.left_out.append("/metrics")
            return []
        return list(metric_findings(text))

    async def _read_objects(self) -> None:
        for type in await self._client.discovery.all_resources():
            if "list" not in type.verbs or "/" in type.name:
                continue
            try:
                await self._read(type)
            except ApiError as refusal:
                if refusal.code not in _NOT_FOR_ME:
                    raise
                self.left_out.append(type.qualified)

    async def _read(self, type: ResourceType) -> None:
        name = f"{type.group or 'core'}/{type.name}"
        accept = JSON if short_name(name) in READ else METADATA_LIST
        async for page in self._client.of(type).pages("", accept=accept):
            for item in page.get("items") or ():
                self.objects.add(name, _key(item["metadata"]), item)


def metric_findings(text: str) -> Iterator[Finding]:
    """What the metrics of a server say."""
    samples = [(name, labels, float(value)) for name, labels, value in _SAMPLE.findall(text)]
    for rule in _RULES:
        total = sum(
            value
            for name, labels, value in samples
            if name == rule.metric and (not rule.label or rule.label in labels)
        )
        if total > 0:
            yield rule.weigh(rule.metric, rule.text.format(value=f"{total:,.0f}"), rule.remedy)
    for name, labels, value in samples:
        if name == "workqueue_depth" and value > _DEEP:
            yield warning(f"{name}{{{labels}}}", f"a controller is {value:,.0f} keys behind")
    values = {name: value for name, _, value in samples}
    most, used = values.get("process_max_fds", 0), values.get("process_open_fds", 0)
    if most and used > most * _MOST_FILES:
        remedy = "Raise the limit (ulimit -n, LimitNOFILE)"
        yield warning("process_open_fds", f"{used:,.0f} of {most:,.0f} files are open", remedy)


def _key(metadata: dict[str, Any]) -> str:
    space, name = metadata.get("namespace") or "", metadata["name"]
    return f"{space}/{name}" if space else str(name)
