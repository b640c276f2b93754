"""Which printer a resource has."""

from __future__ import annotations

from functools import cache

from fairlead.dialect import CLUSTER, Dialect
from fairlead.kinds.printing import (
    admissionregistration,
    apiregistration,
    apps,
    autoscaling,
    batch,
    certificates,
    coordination,
    core,
    discovery,
    events,
    flowcontrol,
    networking,
    node,
    nodes,
    pods,
    policy,
    rbac,
    scheduling,
    services,
    storage,
    volumes,
)
from fairlead.kinds.printing.model import NAME, Column, Field, Object, Printer, table
from fairlead.kinds.printing.words import field
from fairlead.kinds.resources import Resource

_ALIKE = (
    admissionregistration,
    apiregistration,
    apps,
    batch,
    certificates,
    coordination,
    core,
    discovery,
    events,
    flowcontrol,
    networking,
    node,
    pods,
    policy,
    rbac,
    scheduling,
    services,
)
_BY_DIALECT = (autoscaling, nodes, storage, volumes)
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
def _printers(dialect: Dialect) -> dict[str, Printer]:
    found: dict[str, Printer] = {}
    for module in _ALIKE:
        found.update(module.PRINTERS)
    for maker in _BY_DIALECT:
        found.update(maker.printers(dialect))
    return found


def printer_of(resource: Resource) -> Printer:
    """The printer of a resource: of its definition if it has one, else of the tables."""
    custom = resource.main.custom
    if custom is None or resource.is_scale:
        return printer_for(resource.key, resource.dialect)
    if custom.printer is None:
        from fairlead.kinds.custom.columns import custom_printer

        custom.printer = custom_printer(custom, resource.dialect)
    return custom.printer


def printer_for(resource_key: str, dialect: Dialect = CLUSTER) -> Printer:
    """The printer of `group/version/resource`, groups by their short names.

    A subresource that answers with its object shows as that object does, `…/scale` as a Scale;
    whatever has no columns of its own shows name and creation.
    """
    group, version, resource, *rest = [*resource_key.split("/"), "", "", ""]
    subresource = rest[0]
    if subresource == "scale":
        return autoscaling.SCALE
    if subresource and subresource not in _SAME_OBJECT:
        return DEFAULT
    return _printers(dialect).get(f"{group}/{version}/{resource}", DEFAULT)
