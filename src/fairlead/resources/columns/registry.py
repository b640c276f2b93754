"""The printer of each resource."""

from __future__ import annotations

from functools import cache
from importlib import import_module

from fairlead.base.dialect import CLUSTER, Dialect
from fairlead.base.release import V1_25, Release
from fairlead.resources.autoscaling.columns import SCALE
from fairlead.resources.columns.cell_text import field
from fairlead.resources.columns.model import NAME, Column, Field, Object, Printer, table
from fairlead.resources.custom import columns
from fairlead.resources.registry import Resource

# Each module has PRINTERS, or `printers(dialect)` if dialects differ.
_MODULES = (
    "fairlead.resources.admissionregistration.columns",
    "fairlead.resources.apiregistration.api_services",
    "fairlead.resources.apps.columns",
    "fairlead.resources.autoscaling.columns",
    "fairlead.resources.batch.columns",
    "fairlead.resources.certificates.signing_requests",
    "fairlead.resources.coordination.leases",
    "fairlead.resources.core.columns",
    "fairlead.resources.discovery.endpoint_slices",
    "fairlead.resources.events.columns",
    "fairlead.resources.flowcontrol.columns",
    "fairlead.resources.networking.columns",
    "fairlead.resources.node.runtime_classes",
    "fairlead.resources.core.nodes",
    "fairlead.resources.core.pods.columns",
    "fairlead.resources.policy.disruption_budgets",
    "fairlead.resources.policy.security_policies",
    "fairlead.resources.rbac.bindings",
    "fairlead.resources.resource.columns",
    "fairlead.resources.scheduling.priority_classes",
    "fairlead.resources.core.service_columns",
    "fairlead.resources.storage.columns",
    "fairlead.resources.core.volume_columns",
)
# Of groups that few servers have; loaded for the first Table of the group.
_OPTIONAL = {"metrics": "fairlead.resources.metrics.columns"}
_NO_TIME = "0001-01-01T00:00:00Z"
_SAME_OBJECT = frozenset({"status", "approval", "ephemeralcontainers", "finalize"})


def _created(obj: Object) -> str:
    return field(obj, "metadata.creationTimestamp") or _NO_TIME


DEFAULT = table(
    NAME,
    Field(
        Column("Created At", "date", description="When the object was created"),
        _created,
    ),
)


@cache
def _printers(dialect: Dialect, release: Release) -> dict[str, Printer]:
    printers: dict[str, Printer] = {}
    for module in map(import_module, _MODULES):
        build = getattr(module, "printers", None)
        printers.update(module.PRINTERS if build is None else build(dialect))
    return {key: printer.of(release) for key, printer in printers.items()}


def printer_of(resource: Resource) -> Printer:
    """The printer of a resource: from its definition if it is custom, else from the tables."""
    custom = resource.main.custom
    if custom is None or resource.is_scale:
        return printer_for(resource.key, resource.dialect, resource.release)
    if custom.printer is None:
        custom.printer = columns.custom_printer(custom, resource.dialect)
    return custom.printer


def printer_for(resource_key: str, dialect: Dialect = CLUSTER, release: Release = V1_25) -> Printer:
    """The printer of `group/version/resource`, with the short name of the group.

    A subresource that returns its object has the columns of that object, `…/scale` those of a
    Scale. The default is name and creation time.
    """
    group, version, resource, *rest = [*resource_key.split("/"), "", "", ""]
    subresource = rest[0]
    if subresource == "scale":
        return SCALE
    if subresource and subresource not in _SAME_OBJECT:
        return DEFAULT
    if group in _OPTIONAL:
        optional: dict[str, Printer] = import_module(_OPTIONAL[group]).PRINTERS
        return optional[f"{group}/{version}/{resource}"]
    return _printers(dialect, release).get(f"{group}/{version}/{resource}", DEFAULT)
