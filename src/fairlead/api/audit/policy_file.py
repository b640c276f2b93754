"""`--audit-policy-file`: reads and validates the policy."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from fairlead.api.audit.policy import LEVELS, STAGES, Policy, api_version
from fairlead.base.dialect import Dialect
from fairlead.base.files import text_beside
from fairlead.base.logs import Logger
from fairlead.codec.bodies import BodyError, TooDeep, parse_yaml
from fairlead.codec.types.decode import decoder, unknown_paths
from fairlead.codec.types.mismatch import DecodeError
from fairlead.codec.types.model import Object, Struct
from fairlead.codec.types.names import dns_subdomain
from fairlead.codec.types.notation import parse

logger = Logger("fairlead")

FLAG = "--audit-policy-file"


class PolicyError(ValueError):
    """An invalid policy; the message names the file and the field."""


def read_policy(path: Path, dialect: Dialect) -> Policy:
    """Read the policy; raises PolicyError. Unknown fields are ignored with a warning."""
    try:
        value, repeated = parse_yaml(path.read_bytes())
    except OSError as error:
        raise _error(path, "", f"cannot be read: {error.strerror}") from None
    except (BodyError, TooDeep) as error:
        raise _error(path, "", str(error)) from None
    if not isinstance(value, dict):
        raise _error(path, "", "is not a mapping of fields")
    for text in repeated:
        logger.warning("an audit policy has a repeated field", flag=FLAG, file=path, field=text)
    return Policy(_checked(path, _decoded(path, value, dialect)))


def _error(path: Path, field: str, message: str) -> PolicyError:
    location = f"{path}: {field}" if field else str(path)
    return PolicyError(f"{FLAG}: {location}: {message}")


def _decoded(path: Path, value: Object, dialect: Dialect) -> Object:
    expected_values = {"apiVersion": api_version(dialect), "kind": "Policy"}
    for name, expected in expected_values.items():
        actual = value.pop(name, None)
        if actual != expected:
            actual_text = "nothing" if actual is None else f'"{actual}"'
            raise _error(path, name, f"{actual_text} is not known, only {expected}")
    struct = _struct()
    unknown: list[str] = []
    try:
        decoded: Object = decoder(struct)(value, unknown)
    except DecodeError as error:
        raise _error(path, ".".join(reversed(error.fields)), str(error)) from None
    for name in unknown_paths(struct, value) if unknown else ():
        logger.warning("an audit policy has an unknown field", flag=FLAG, file=path, field=name)
    return decoded


def _checked(path: Path, value: Object) -> Object:
    if not value.get("rules"):
        raise _error(path, "rules", "there are none, so that nothing would be recorded")
    for field, message in _faults(value):
        raise _error(path, field, message)
    return value


def _faults(value: Object) -> Iterator[tuple[str, str]]:
    """Yield invalid fields with error messages."""
    yield from _unsupported("omitStages", value.get("omitStages"), STAGES)
    for index, rule in enumerate(value["rules"]):
        path = f"rules[{index}]"
        yield from _unsupported(f"{path}.level", [rule.get("level", "")], LEVELS)
        yield from _unsupported(f"{path}.omitStages", rule.get("omitStages"), STAGES)
        paths = rule.get("nonResourceURLs") or ()
        for number, pattern in enumerate(paths):
            if message := _pattern_fault(pattern):
                yield f"{path}.nonResourceURLs[{number}]", f'"{pattern}": {message}'
        if paths and (rule.get("resources") or rule.get("namespaces")):
            message = "rules cannot apply to both regular resources and non-resource URLs"
            yield f"{path}.nonResourceURLs", message
        for number, resources in enumerate(rule.get("resources") or ()):
            yield from _resource_faults(f"{path}.resources[{number}]", resources)


def _unsupported(path: str, values: Any, supported: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    for value in values or ():
        if value not in supported:
            yield path, f'unsupported value "{value}": only {", ".join(supported)}'


def _pattern_fault(pattern: str) -> str:
    if pattern == "*":
        return ""
    if not pattern.startswith("/"):
        return "non-resource URL rules must begin with a '/' character"
    if "*" in pattern[:-1]:
        return "non-resource URL wildcards '*' must be the final character of the rule"
    return ""


def _resource_faults(path: str, resources: Object) -> Iterator[tuple[str, str]]:
    group = resources.get("group") or ""
    if group and dns_subdomain(group):
        yield f"{path}.group", f'"{group}": {dns_subdomain(group)[0]}'
    if resources.get("resourceNames") and not resources.get("resources"):
        yield f"{path}.resourceNames", "using resourceNames requires at least one resource"


@cache
def _struct() -> Struct:
    text = text_beside(__file__, "policy.types")
    return parse("policy", text, lambda _: {})["Policy"]
