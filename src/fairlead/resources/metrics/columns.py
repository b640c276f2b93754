"""Columns of the kinds of the metrics group, as the metrics server has them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from fairlead.codec.types.quantity import Amount, amount
from fairlead.resources.columns.model import NAME, Column, Field, Object, Printer, Value, table
from fairlead.resources.metrics import NODE_METRICS, POD_METRICS

_NONE = Amount(amount("0").value)


def _of_node(resource: str) -> Value:
    return lambda value: value["usage"][resource]


def _of_pod(resource: str) -> Value:
    """The sum over the containers."""

    def cell(value: Object) -> str:
        total = _NONE
        for container in value["containers"]:
            total = total.plus(amount(container["usage"][resource]))
        return str(total)

    return cell


def _fields(usage: Callable[[str], Value]) -> tuple[Field, ...]:
    return (
        NAME,
        *(Field(Column(name, format="quantity"), usage(name)) for name in ("cpu", "memory")),
        Field(Column("Window", format="duration"), lambda value: value["window"]),
    )


PRINTERS: Mapping[str, Printer] = {
    NODE_METRICS: table(*_fields(_of_node)),
    POD_METRICS: table(*_fields(_of_pod)),
}
