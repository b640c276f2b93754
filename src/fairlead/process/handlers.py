"""Builds the application that answers the requests of a server."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from fairlead.api import build_metrics, component_pages, discovery
from fairlead.api.app import Application
from fairlead.api.chain import Handler as Handler  # tests put another one here
from fairlead.api.flow_control.setup import build_gate, place_gate
from fairlead.api.health import CheckCounts, Health, Progress, named_checks
from fairlead.api.history.handler import add_history
from fairlead.api.metrics import Metrics
from fairlead.api.openapi import OpenApi
from fairlead.api.pages import Pages
from fairlead.api.testing import setup as testing_setup
from fairlead.base.metrics import CONTENT_TYPE
from fairlead.console.handler import add_console
from fairlead.process.assembly import Assembly
from fairlead.process.backup.page import add_backup_page
from fairlead.process.metrics import show_disk, show_readiness
from fairlead.process.verbosity import log_requests

if TYPE_CHECKING:
    from fairlead.api.audit.auditor import Auditor
    from fairlead.process.workers.worker import Worker
    from fairlead.storage.store import Store


def build_application(
    options: argparse.Namespace,
    assembly: Assembly,
    address: str,
    progress: Progress,
    is_stopping: Callable[[], bool],
    worker: Worker | None,
    auditor: Auditor | None,
) -> Application:
    """Return the application for an address. `progress` and `is_stopping` feed its health
    checks."""
    api, powers = assembly.api, _powers(options, assembly)
    handler = Handler(api, address) if powers is None else powers.handler(address)
    handler.groups = assembly.api_services.groups
    metrics = _metrics(assembly, worker)
    show_disk(options.data_dir)
    if powers is not None:
        powers.under_way = metrics.under_way
    counts = CheckCounts() if api.gates["HealthCheckMetrics"] else None
    _add_health(handler, options, assembly, progress, is_stopping, worker, counts)
    advertised = options.advertised_version or api.resources.release.advertised
    metrics_type = CONTENT_TYPE
    if counts is not None:
        metrics_type = f"{CONTENT_TYPE}; escaping=underscores"
        version = discovery.version(api.resources.release, advertised)
        metrics.unchanging = build_metrics.build_families(version, api.gates)
        _add_component_pages(handler, options, counts, advertised, metrics_type)
    Pages(handler, metrics, address, advertised, metrics_type).add()
    openapi = OpenApi(api.resources, advertised)
    openapi.find_others = lambda: assembly.aggregation.descriptions.others
    handler.prefixes["/openapi"] = openapi.answer
    add_backup_page(handler)
    process = (worker.worker_slot.number, worker.workers) if worker is not None else (0, 1)
    add_console(handler, options, metrics, *process)
    add_history(handler)
    assembly.aggregation.attach(handler)
    gate = build_gate(options, api, assembly.follow)
    if gate is not None:
        place_gate(gate, handler)
    application = Application(
        handler,
        metrics,
        options.max_requests_inflight,
        options.max_mutating_requests_inflight,
        None,
        auditor,
        worker.slot if worker is not None else None,
        powers.record.end if powers is not None else None,
        gate,
    )
    log_requests(options.verbosity, api, application)
    return application


def _powers(options: argparse.Namespace, assembly: Assembly) -> testing_setup.Powers | None:
    if not options.testing:
        return None
    return testing_setup.Powers(assembly.api)


def _metrics(assembly: Assembly, worker: Worker | None) -> Metrics:
    (store, *others), has_later_names = assembly.api.stores, assembly.api.gates["LaterMetricNames"]
    if worker is None:
        return Metrics(store, has_later_names=has_later_names, others=others)
    started = worker.worker_slot.started
    metrics = Metrics(store, worker.gather, started, has_later_names=has_later_names)
    worker.answer_for(metrics)
    return metrics


def _add_component_pages(
    handler: Handler,
    options: argparse.Namespace,
    counts: CheckCounts,
    advertised: str,
    metrics_type: str,
) -> None:
    flags = {name.replace("_", "-"): value for name, value in vars(options).items()}
    component_pages.ComponentPages(handler, flags, counts, advertised, metrics_type).add()


def _is_healthy(store: Store) -> bool:
    return store.healthy


def _add_health(
    handler: Handler,
    options: argparse.Namespace,
    assembly: Assembly,
    progress: Progress,
    is_stopping: Callable[[], bool],
    worker: Worker | None,
    counts: CheckCounts | None,
) -> None:
    api = assembly.api
    checks_by_name = named_checks(
        progress,
        lambda: api.store.healthy and (worker is None or worker.store_is_healthy),
        is_stopping,
        options.livez_grace_period,
        api.resources.release,
        fair=options.enable_priority_and_fairness,
        of_store=assembly.store_checks,
        overrides_are_healthy=[partial(_is_healthy, store) for store in api.stores[1:]],
    )
    show_readiness(checks_by_name["readyz"])
    for name, checks in checks_by_name.items():
        handler.prefixes[f"/{name}"] = Health(api.dialect, name, checks, counts).answer
