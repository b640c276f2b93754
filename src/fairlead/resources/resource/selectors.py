"""The expressions by which classes and claims select devices."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from fairlead.base import meter
from fairlead.base.caches import BoundedCache
from fairlead.base.release import Release
from fairlead.codec.cel.compile import Program, compile_expression
from fairlead.codec.cel.environment import environment
from fairlead.codec.cel.errors import CompileError, ConstantProblem, CostExceeded, EvaluationError
from fairlead.codec.cel.quantities import Quantity
from fairlead.codec.cel.types import BOOL, DYN, QUANTITY, STRING, MapType, ObjectType
from fairlead.codec.cel.versions import parse_version
from fairlead.codec.types.model import Object
from fairlead.codec.types.quantity import quantity

MAX_COST = 1_000_000
MAX_LENGTH = 10 * 1024
MAX_ATTRIBUTES = 32  # attributes and capacities of a device
_STEPS_PER_CHARACTER = 50  # budget of compiling an expression

_DOMAIN, _ID = STRING.sized(63), STRING.sized(32)


def _by_domain(value: Any) -> MapType:
    return MapType(_DOMAIN, MapType(_ID, value, MAX_ATTRIBUTES), MAX_ATTRIBUTES)


_DEVICE = ObjectType(
    "kubernetes.DRADevice",
    {
        "driver": _DOMAIN,
        "allowMultipleAllocations": BOOL,
        "attributes": _by_domain(DYN.sized(64)),
        "capacity": _by_domain(QUANTITY),
    },
)
_DOMAIN_INDEX = re.compile(r"\b(attributes|capacity)\[\s*(['\"])(.*?)\2\s*\]")


class SelectorError(ValueError):
    """An expression that does not compile, or does not evaluate to a boolean."""


class Selector:
    """A compiled expression."""

    def __init__(self, program: Program, text: str) -> None:
        self._program = program
        # A domain without attributes is an empty map, not an error.
        self._domains = {(kind, name) for kind, _, name in _DOMAIN_INDEX.findall(text)}

    @property
    def is_too_complex(self) -> bool:
        return self._program.estimate().maximum > MAX_COST

    def matches(self, device: Object, limit: int = MAX_COST) -> tuple[bool, int]:
        """Whether a device, as `device_value` returns it, is selected, and the cost of the
        evaluation; raises SelectorError, also if it would cost more than the limit."""
        value = {**device, "attributes": {**device["attributes"]}}
        value["capacity"] = {**device["capacity"]}
        for kind, name in self._domains:
            value[kind].setdefault(name, {})
        try:
            result, cost = self._program.evaluate({"device": value}, min(limit, MAX_COST))
        except (EvaluationError, CostExceeded) as error:
            raise SelectorError(str(error)) from None
        if not isinstance(result, bool):
            raise SelectorError("the result of the expression is not a boolean")
        return result, cost


_programs: BoundedCache[tuple[str, str], Selector | str] = BoundedCache(
    256, longest=1024, per_byte=100, name="selectors of devices"
)


def _compiled(text: str, release: Release) -> Selector | str:
    """The selector, or why there is none; cached."""
    key = release.name, text
    compiled = _programs.get(key)
    if compiled is None:
        compiled = _compile(text, release)
        _programs.keep(key, compiled, len(text))
    return compiled


def _compile(text: str, release: Release) -> Selector | str:
    try:
        program = compile_expression(text, {"device": _DEVICE}, None, environment(release))
    except (CompileError, ConstantProblem) as error:
        return str(error)
    if program.result_type not in (BOOL, DYN):
        return f"must evaluate to bool or the unknown type, not {program.result_type}"
    return Selector(program, text)


def compile_selector(text: str, release: Release) -> Selector:
    """Compile an expression; raises SelectorError."""
    meter.spend(len(text) * _STEPS_PER_CHARACTER)
    compiled = _compiled(text, release)
    if isinstance(compiled, str):
        raise SelectorError(compiled)
    return compiled


def device_value(driver: str, device: Object) -> Object:
    """A device of a slice as expressions see it. Names without a domain are in the driver's."""
    return {
        "driver": driver,
        "allowMultipleAllocations": bool(device.get("allowMultipleAllocations")),
        "attributes": _grouped(driver, device.get("attributes") or {}, attribute_value),
        "capacity": _grouped(
            driver,
            device.get("capacity") or {},
            lambda capacity: Quantity(quantity(capacity["value"])),
        ),
    }


def _grouped(driver: str, values: Mapping[str, Object], read: Any) -> Object:
    grouped: Object = {}
    for name, value in values.items():
        domain, _, identifier = name.rpartition("/")
        grouped.setdefault(domain or driver, {})[identifier] = read(value)
    return grouped


def attribute_value(attribute: Object) -> Any:
    """The value of an attribute: a number, a boolean, a text or a version."""
    for kind in ("int", "bool", "string"):
        if attribute.get(kind) is not None:
            return attribute[kind]
    return parse_version(attribute.get("version") or "0.0.0")
