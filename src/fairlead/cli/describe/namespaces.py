"""Layouts of namespaces, quotas and limit ranges."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import ROUND_CEILING

from fairlead.cli.describe.fields import Fields
from fairlead.cli.describe.layout import Layout, Subject
from fairlead.cli.describe.page import Page
from fairlead.cli.describe.parts.metadata import draw_cluster_head, draw_conditions_with_time
from fairlead.cli.describe.parts.quantities import amount_of, quantity_text
from fairlead.cli.describe.queries import LIMITS, QUOTAS, Queries, QueryResult
from fairlead.codec.types.quantity import format_quantity

_SCOPES = {
    "Terminating": "Pods with activeDeadlineSeconds: they are ended when that time is up.",
    "NotTerminating": "Pods without activeDeadlineSeconds, such as servers, which run on.",
    "BestEffort": "Pods that request nothing and have no limits.",
    "NotBestEffort": "Pods with a request or a limit.",
}
_LIMITS = {
    "Min": "min",
    "Max": "max",
    "Default Request": "defaultRequest",
    "Default Limit": "default",
    "Max Limit/Request Ratio": "maxLimitRequestRatio",
}
_LIMIT_HEAD = ("Type", "Resource", *_LIMITS)


async def _quotas(namespace: Subject, queries: Queries) -> QueryResult:
    return await queries.list(QUOTAS, namespace.name)


async def _limits(namespace: Subject, queries: Queries) -> QueryResult:
    return await queries.list(LIMITS, namespace.name)


def _draw_namespace(page: Page, namespace: Subject) -> None:
    draw_cluster_head(page, namespace)
    page.pair("Status", namespace.text("status.phase"))
    draw_conditions_with_time(page, namespace)
    for name, draw in (("quotas", _draw_quotas), ("limits", _draw_limits)):
        result = namespace.found(name)
        if result.error is None:
            page.write()
            draw(page, result.items)
        elif result.error.code != 404:
            page.write()
            page.write(f"Resource {name}: not authorized")


def _draw_quotas(page: Page, quotas: list[Fields]) -> None:
    page.write("Resource Quotas" if quotas else "No resource quota.")
    for quota in sorted(quotas, key=lambda quota: quota.text("metadata.name")):
        page.pair("Name", quota.text("metadata.name"), 1)
        _draw_scopes(page, quota, "* ", 1)
        rows = (
            (name, quantity_text(_used(quota, name)), quantity_text(hard))
            for name, hard in quota.parts("status.hard")
        )
        rules = ("--------", "---", "---")
        page.table(("Resource", "Used", "Hard"), rows, rules=rules)


def _draw_limits(page: Page, ranges: list[Fields]) -> None:
    if not ranges:
        page.write("No LimitRange resource.")
        return
    page.write("Resource Limits")
    head = (f" {_LIMIT_HEAD[0]}", *_LIMIT_HEAD[1:])
    rules = (" ----", *("-" * len(name) for name in _LIMIT_HEAD[1:]))
    rows = [row for limit_range in ranges for row in _limit_rows(limit_range)]
    page.table(head, ((f" {row[0]}", *row[1:]) for row in rows), 0, rules)


def _limit_rows(limit_range: Fields) -> Iterable[list[str]]:
    for limit in limit_range.items("spec.limits"):
        columns = {path: dict(limit.parts(path)) for path in _LIMITS.values()}
        for name in sorted({name for parts in columns.values() for name in parts}):
            values = [
                quantity_text(parts[name]) if name in parts else "-" for parts in columns.values()
            ]
            yield [limit.text("type"), name, *values]


def _used(quota: Fields, name: str) -> Fields:
    return dict(quota.parts("status.used")).get(name, Fields(None))


def _draw_scopes(page: Page, quota: Fields, mark: str, level: int) -> None:
    scopes = sorted(quota.texts("spec.scopes"))
    page.pairs_if(("Scopes", ", ".join(scopes)), level=level)
    for scope in scopes:
        if scope in _SCOPES:
            page.write(f"{mark}{_SCOPES[scope]}", level)


def _draw_quota(page: Page, quota: Subject) -> None:
    page.pairs(("Name", quota.name), ("Namespace", quota.namespace))
    _draw_scopes(page, quota, " * ", 0)
    rows = (
        (name, _used_as(quota, name, hard), quantity_text(hard))
        for name, hard in quota.parts("status.hard")
    )
    page.table(("Resource", "Used", "Hard"), rows, 0)


def _used_as(quota: Fields, name: str, hard: Fields) -> str:
    """The used amount; if its format differs from that of the limit, rounded up to a whole number
    in the limit's format."""
    used, kind = amount_of(_used(quota, name)), amount_of(hard).kind
    if used.kind == kind:
        return str(used)
    return format_quantity(used.value.to_integral_value(ROUND_CEILING), kind)


def _draw_limit_range(page: Page, limit_range: Subject) -> None:
    page.pairs(("Name", limit_range.name), ("Namespace", limit_range.namespace))
    page.table(_LIMIT_HEAD, _limit_rows(limit_range), 0)


NAMESPACE = Layout(_draw_namespace, {"quotas": _quotas, "limits": _limits}, events=None)
RESOURCE_QUOTA = Layout(_draw_quota, events=None)
LIMIT_RANGE = Layout(_draw_limit_range, events=None)
