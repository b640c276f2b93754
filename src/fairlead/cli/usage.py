"""What the commands `top` show: measured usage of processors and memory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Decimal
from math import ceil
from typing import Any, NamedTuple

from fairlead.cli.arguments import ArgumentReader
from fairlead.cli.errors import CommandError
from fairlead.cli.invocation import Invocation
from fairlead.client import Resource, UnknownResource
from fairlead.codec.types.quantity import QuantityError, quantity

Object = dict[str, Any]
UNKNOWN = "<unknown>"
_GROUP = "metrics.@"
_ORDERS = ("cpu", "memory")
_MEBI = 1024 * 1024


class Usage(NamedTuple):
    """Processors and bytes."""

    cpu: Decimal = Decimal(0)
    memory: Decimal = Decimal(0)

    def plus(self, other: Usage) -> Usage:
        return Usage(self.cpu + other.cpu, self.memory + other.memory)

    def cells(self) -> tuple[str, str]:
        return f"{ceil(self.cpu * 1000)}m", f"{ceil(self.memory) // _MEBI}Mi"

    def cells_with_shares(self, whole: Usage) -> tuple[str, ...]:
        """The cells, each with the percentage of what there is."""
        shares = (
            f"{int(used * 100 / available)}%" if available else "0%"
            for used, available in zip(self, whole, strict=True)
        )
        return tuple(text for pair in zip(self.cells(), shares, strict=True) for text in pair)


def usage_of(resources: Any) -> Usage:
    """The usage in a map of quantities."""
    values: Mapping[str, Any] = resources if isinstance(resources, dict) else {}
    return Usage(_amount(values.get("cpu")), _amount(values.get("memory")))


def _amount(text: Any) -> Decimal:
    try:
        return quantity(str(text)) if text is not None else Decimal(0)
    except QuantityError:
        return Decimal(0)


def total(usages: Iterable[Usage]) -> Usage:
    result = Usage()
    for usage in usages:
        result = result.plus(usage)
    return result


def add_usage_flags(parser: ArgumentReader) -> None:
    parser.add_label_selector()
    parser.add_argument(
        "--sort-by",
        metavar="cpu|memory",
        default="",
        help="show the largest first, by processors or memory",
    )
    parser.add_switch("--no-headers", help="omit the header line")
    parser.add_without_effect("--use-protocol-buffers")


def one_name(invocation: Invocation) -> str:
    """The name in the words, or ""; raises CommandError."""
    options = invocation.options
    if len(options.words) > 1:
        raise CommandError("give at most one name")
    name = options.words[0] if options.words else ""
    if name and options.selector:
        raise CommandError("a name and a selector (-l) contradict each other: give one of them")
    if options.sort_by and options.sort_by not in _ORDERS:
        raise CommandError("--sort-by takes cpu or memory")
    return str(name)


async def measured(invocation: Invocation, plural: str) -> Resource:
    """The metrics of pods or nodes; raises CommandError if the server has none."""
    dialect = await invocation.client.discovery.dialect()
    try:
        return await invocation.client.resource(f"{plural}.{dialect.group_name(_GROUP)}")
    except UnknownResource:
        raise CommandError(
            "the server has no metrics API: install a metrics server, or simulate nodes"
        ) from None


def order(invocation: Invocation, usage: Usage, *names: str) -> tuple[Any, ...]:
    """A sort key: the largest first with --sort-by, else by name."""
    wanted = invocation.options.sort_by
    return (-getattr(usage, wanted) if wanted else 0, *names)
