"""Allocates the addresses and ports of a service from a reservation."""

from __future__ import annotations

from fairlead.base.errors import internal, invalid
from fairlead.base.quotes import quote
from fairlead.resources.behaviour import Object
from fairlead.resources.causes import new_causes
from fairlead.resources.context import Context
from fairlead.resources.core.services.allocation import AllocationError, Reservation
from fairlead.resources.core.services.families import keeps_preference, resolve_families
from fairlead.resources.core.services.fields import (
    HEADLESS,
    addresses,
    families,
    gives_node_ports,
    needs_address,
    needs_health_port,
    needs_node_ports,
    node_ports,
    ports,
    set_addresses,
)
from fairlead.resources.go_values import go_list_or_nil as go_list
from fairlead.resources.registry import Resource


class Refusal(Exception):
    """A value that cannot be allocated: an invalid field, or an internal error."""

    def __init__(self, trouble: str, field: str = "", value: object = None) -> None:
        super().__init__(trouble)
        self.trouble = trouble
        self.field = field
        self.value = value


def grant(resource: Resource, service: Object, old: Object | None, context: Context) -> None:
    """Set families, addresses and ports of a service that is created (no `old`) or changed.
    `context.roll_back` releases the reservation; a dry run releases it at once. Raises StatusError.
    Does nothing without allocators."""
    if context.allocators is None:
        return
    spec = service["spec"]
    old_spec = old["spec"] if old is not None else None
    is_likeness = context.dry_run and not context.dialect.dry_runs_allocate
    reservation: Reservation = context.allocators.reserve(dry_run=is_likeness)
    context.undo.append(reservation.release)
    name = service["metadata"].get("name", "")
    causes = new_causes(context.gates)
    resolve_families(spec, old_spec, context.allocators.families, causes)
    if causes:
        context.roll_back()
        raise invalid(resource.kind_ref(name), causes)
    try:
        if old_spec is None:
            _grant_addresses(spec, reservation)
            _grant_new_ports(spec, reservation)
        else:
            _update_addresses(spec, old_spec, reservation)
            _update_ports(spec, old_spec, reservation)
        _grant_health_port(spec, old_spec, reservation)
    except Refusal as refusal:
        context.roll_back()
        if not refusal.field:
            trouble = refusal.trouble
            if context.gates["MultiCIDRServiceAllocator"]:
                of_service = f"a serviceIP for Service {quote(name)}:"
                trouble = trouble.replace("a serviceIP:", of_service, 1)
            raise internal(trouble) from None
        causes.invalid(refusal.field, refusal.value, refusal.trouble)
        raise invalid(resource.kind_ref(name), causes) from None
    if context.dry_run:
        reservation.release()
    else:
        context.claims += context.allocators.claims(reservation, service)


def _grant_addresses(spec: Object, reservation: Reservation) -> None:
    if not needs_address(spec) or addresses(spec)[:1] == [HEADLESS]:
        return
    requested = addresses(spec)
    granted = [
        _grant_address(
            family, requested[index] if index < len(requested) else "", requested, reservation
        )
        for index, family in enumerate(families(spec))
    ]
    set_addresses(spec, granted)
    spec["clusterIP"] = granted[0]


def _grant_address(family: str, text: str, requested: list[str], reservation: Reservation) -> str:
    try:
        return reservation.address(family, text)
    except AllocationError as error:
        if not text:
            raise Refusal(f"failed to allocate a serviceIP: {error}") from None
        shown, detail = go_list("string", requested), f"failed to allocate IP {text}: {error}"
        raise Refusal(detail, "spec.clusterIPs", shown) from None


def _update_addresses(spec: Object, old: Object, reservation: Reservation) -> None:
    if keeps_preference(spec, old):
        return
    if needs_address(spec) and not needs_address(old):
        _grant_addresses(spec, reservation)
        return
    if not needs_address(spec) or addresses(old)[:1] == [HEADLESS]:
        return
    if len(families(old)) == 1 and len(families(spec)) == 2:
        ips = addresses(spec)
        requested = ips[1] if len(ips) > 1 else ""
        second = _grant_address(families(spec)[1], requested, ips, reservation)
        set_addresses(spec, [*ips[:1], second])


def _grant_new_ports(spec: Object, reservation: Reservation) -> None:
    """Ports with the same number share a node port, unless they request different ones."""
    if not needs_node_ports(spec):
        return
    shared: dict[int, int] = {}
    requested_ports = _requested_node_ports(spec)
    for index, port in enumerate(ports(spec)):
        requested = port.get("nodePort", 0)
        if not requested and not gives_node_ports(spec):
            continue
        common = shared.get(port["port"], 0)
        if not common:
            first = requested_ports.get(port["port"], 0)
            port["nodePort"] = shared[port["port"]] = _grant_port(index, first, reservation)
        elif not requested:
            port["nodePort"] = common
        elif requested != common:
            _grant_port(index, requested, reservation)


def _requested_node_ports(spec: Object) -> dict[int, int]:
    """The first requested node port, by port number."""
    requested: dict[int, int] = {}
    for port in ports(spec):
        if port.get("nodePort", 0):
            requested.setdefault(port["port"], port["nodePort"])
    return requested


def _grant_port(index: int, requested: int, reservation: Reservation) -> int:
    try:
        return reservation.port(requested)
    except AllocationError as error:
        if not requested:
            raise Refusal(f"failed to allocate a nodePort: {error}") from None
        raise Refusal(str(error), f"spec.ports[{index}].nodePort", requested) from None


def _update_ports(spec: Object, old: Object, reservation: Reservation) -> None:
    if not needs_node_ports(spec):
        return
    old_ports = set(node_ports(old))
    used: set[tuple[str, int]] = set()
    for index, port in enumerate(ports(spec)):
        requested = port.get("nodePort", 0)
        if not requested and not gives_node_ports(spec):
            continue
        if requested not in old_ports:
            requested = port["nodePort"] = _grant_port(index, requested, reservation)
            old_ports.add(requested)
        pair = (port.get("protocol", ""), requested)
        if pair in used:
            detail = f"duplicate nodePort: {{{pair[0]} {pair[1]}}}"
            raise Refusal(detail, f"spec.ports[{index}].nodePort", requested)
        used.add(pair)


def _grant_health_port(spec: Object, old: Object | None, reservation: Reservation) -> None:
    if not needs_health_port(spec) or (old is not None and needs_health_port(old)):
        return
    requested = spec.get("healthCheckNodePort", 0)
    try:
        spec["healthCheckNodePort"] = reservation.port(requested)
    except AllocationError as error:
        noun = (
            f"requested HealthCheck NodePort {requested}"
            if requested
            else "a HealthCheck NodePort 0"
        )
        raise Refusal(f"failed to allocate {noun}: {error}") from None
