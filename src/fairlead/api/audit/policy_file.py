"""`--audit-policy-file`: reads and validates the policy."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from fairlead.api.audit.policy import LEVELS, STAGES, Policy, api_version
from fairlead.base.dialect import Dialect
from fairlead.base.files import text_beside
from fairlead.codec.bodies import BodyError, TooDeep, parse_yaml
from fairlead.codec.types.decode import decoder, unknown_paths
from fairlead.codec.types.mismatch import DecodeError
from fairlead.codec.types.model import Object, Struct
from fairlead.codec.types.names import dns_subdomain
from fairlead.codec.types.notation import parse

logger = logging.getLogger("fairlead")

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
        logger.warning("%s: %s: %s", FLAG, path, text)
    return Policy(_checked(path, _decoded(path, value, dialect)))


def _error(path: Path, place: str, why: str) -> PolicyError:
    where = f"{path}: {place}" if place else str(path)
    return PolicyError(f"{FLAG}: {where}: {why}")


def _decoded(path: Path, value: Object, dialect: Dialect) -> Object:
    wanted = {"apiVersion": api_version(dialect), "kind": "Policy"}
    for name, only in wanted.items():
        found = value.pop(name, None)
        if found != only:
            shown = "nothing" if found is None else f'"{found}"'
            raise _error(path, name, f"{shown} is not known, only {only}")
    struct = _struct()
    unknown: list[str] = []
    try:
        decoded: Object = decoder(struct)(value, unknown)
    except DecodeError as error:
        raise _error(path, ".".join(reversed(error.fields)), str(error)) from None
    for name in unknown_paths(struct, value) if unknown else ():
        logger.warning("%s: %s: %s: unknown field", FLAG, path, name)
    return decoded


def _checked(path: Path, value: Object) -> Object:
    if not value.get("rules"):
        raise _error(path, "rules", "there are none, so that nothing would be recorded")
    for place, why in _faults(value):
        raise _error(path, place, why)
    return value


def _faults(value: Object) -> Iterator[tuple[str, str]]:
    """Yield invalid fields with error messages."""
    yield from _unsupported("omitStages", value.get("omitStages"), STAGES)
    for index, rule in enumerate(value["rules"]):
        place = f"rules[{index}]"
        yield from _unsupported(f"{place}.level", [rule.get("level", "")], LEVELS)
        yield from _unsupported(f"{place}.omitStages", rule.get("omitStages"), STAGES)
        paths = rule.get("nonResourceURLs") or ()
        for number, pattern in enumerate(paths):
            if why := _pattern_fault(pattern):
                yield f"{place}.nonResourceURLs[{number}]", f'"{pattern}": {why}'
        if paths and (rule.get("resources") or rule.get("namespaces")):
            why = "rules cannot apply to both regular resources and non-resource URLs"
            yield f"{place}.nonResourceURLs", why
        for number, resources in enumerate(rule.get("resources") or ()):
            yield from _resource_faults(f"{place}.resources[{number}]", resources)


def _unsupported(place: str, found: Any, known: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    for one in found or ():
        if one not in known:
            yield place, f'unsupported value "{one}": only {", ".join(known)}'


def _pattern_fault(pattern: str) -> str:
    if pattern == "*":
        return ""
    if not pattern.startswith("/"):
        return "non-resource URL rules must begin with a '/' character"
    if "*" in pattern[:-1]:
        return "non-resource URL wildcards '*' must be the final character of the rule"
    return ""


def _resource_faults(place: str, resources: Object) -> Iterator[tuple[str, str]]:
    group = resources.get("group") or ""
    if group and dns_subdomain(group):
        yield f"{place}.group", f'"{group}": {dns_subdomain(group)[0]}'
    if resources.get("resourceNames") and not resources.get("resources"):
        yield f"{place}.resourceNames", "using resourceNames requires at least one resource"


@cache
def _struct() -> Struct:
    text = text_beside(__file__, "policy.types")
    return parse("policy", text, lambda _: {})["Policy"]
