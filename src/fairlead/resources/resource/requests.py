"""Rules of what claims and classes request: selectors, counts, tolerations, configuration."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Sequence
from typing import Any

import orjson

from fairlead.base.release import Release
from fairlead.codec.types.model import Object
from fairlead.codec.types.names import dns_label, dns_subdomain, label_value, qualified_name
from fairlead.resources.causes import Causes
from fairlead.resources.core.volumes.sources import csi_driver_name
from fairlead.resources.resource import selectors

MAX_REQUESTS = 32  # also the results of an allocation
MAX_CONSTRAINTS = 32
MAX_CONFIG = 32
MAX_SELECTORS = 32
MAX_SELECTOR_BYTES = 128 * 1024  # of all different expressions; compiling them takes 2 s
MAX_ALTERNATIVES = 8
MAX_PARAMETERS = 10 * 1024  # bytes of opaque configuration
MAX_IDENTIFIER = 32
OPERATORS = ("Equal", "Exists")
EFFECTS = ("NoExecute", "NoSchedule", "None")
MODES = ("All", "ExactCount")
_IDENTIFIER_ERROR = (
    "a valid C identifier must start with alphabetic character or '_', followed by a string of"
    " alphanumeric characters or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName', regex used for"
    " validation is '[A-Za-z_][A-Za-z0-9_]*')"
)
_ONE_REQUEST = (
    "must be the name of a request in the claim or the name of a request and a subrequest separated"
    " by '/'"
)

Check = Callable[[Any, str], None]
Names = dict[str, Collection[str]]  # of requests, with those of their alternatives


def check_items(
    items: Sequence[Any] | None, limit: int, check: Check, path: str, causes: Causes
) -> bool:
    """Check each item, unless there are too many; returns whether they were checked."""
    items = items or []
    if limit >= 0 and len(items) > limit:
        causes.too_many(path, len(items), limit)
        return False
    for index, item in enumerate(items):
        check(item, f"{path}[{index}]")
    return True


def check_set(
    items: Sequence[Any] | None,
    limit: int,
    check: Check,
    key: Callable[[Any], Hashable],
    path: str,
    causes: Causes,
    shown: Callable[[Any], Any] | None = None,
) -> None:
    """Like `check_items`, for items with unique keys."""
    if not check_items(items, limit, check, path, causes):
        return
    seen = set()
    for index, item in enumerate(items or ()):
        if key(item) in seen:
            causes.duplicate(f"{path}[{index}]", (shown or key)(item))
        seen.add(key(item))


class ClaimRules:
    """The rules of the spec of a claim."""

    def __init__(self, causes: Causes, release: Release) -> None:
        self._causes = causes
        self._selectors = SelectorRules(causes, release)

    def check(self, spec: Object, path: str) -> None:
        devices, field_path, causes = spec["devices"], f"{path}.devices", self._causes
        names = request_names(spec)
        check_set(
            devices["requests"],
            MAX_REQUESTS,
            self._check_request,
            lambda request: request["name"],
            f"{field_path}.requests",
            causes,
        )
        check_items(
            devices.get("constraints"),
            MAX_CONSTRAINTS,
            lambda constraint, place: self._check_constraint(constraint, place, names),
            f"{field_path}.constraints",
            causes,
        )
        check_items(
            devices.get("config"),
            MAX_CONFIG,
            lambda config, place: check_claim_config(config, place, names, causes),
            f"{field_path}.config",
            causes,
        )

    def _check_request(self, request: Object, path: str) -> None:
        causes = self._causes
        causes.invalid_each(f"{path}.name", request["name"], dns_label(request["name"]))
        exactly, alternatives = request.get("exactly"), request.get("firstAvailable")
        detail = "exactly one of `exactly` or `firstAvailable` is required"
        if exactly is None and not alternatives:
            causes.required(path, detail)
        elif exactly is not None and alternatives:
            causes.invalid(path, None, f"{detail}, but multiple fields are set")
        elif alternatives:
            check_set(
                alternatives,
                MAX_ALTERNATIVES,
                self._check_alternative,
                lambda alternative: alternative["name"],
                f"{path}.firstAvailable",
                causes,
            )
        elif exactly is not None:
            self._check_exact(exactly, f"{path}.exactly")

    def _check_alternative(self, request: Object, path: str) -> None:
        name = request["name"]
        self._causes.invalid_each(f"{path}.name", name, dns_label(name))
        self._check_exact(request, path)

    def _check_exact(self, request: Object, path: str) -> None:
        causes, name = self._causes, request["deviceClassName"]
        if not name:
            causes.required(f"{path}.deviceClassName")
        else:
            causes.invalid_each(f"{path}.deviceClassName", name, dns_subdomain(name))
        self._selectors.check(request.get("selectors"), f"{path}.selectors")
        mode, count = request.get("allocationMode", ""), request.get("count", 0)
        if mode == "All" and count:
            detail = "must not be specified when allocationMode is 'All'"
            causes.invalid(f"{path}.count", count, detail)
        elif mode == "ExactCount" and count <= 0:
            causes.invalid(f"{path}.count", count, "must be greater than zero")
        elif mode not in MODES:
            causes.unsupported(f"{path}.allocationMode", mode, MODES)
        for index, toleration in enumerate(request.get("tolerations") or ()):
            _check_toleration(toleration, f"{path}.tolerations[{index}]", causes)

    def _check_constraint(self, constraint: Object, path: str, names: Names) -> None:
        causes = self._causes
        check_request_names(constraint.get("requests"), f"{path}.requests", names, causes)
        match, distinct = constraint.get("matchAttribute"), constraint.get("distinctAttribute")
        if match is not None:
            _check_attribute_name(match, f"{path}.matchAttribute", causes)
        elif distinct is not None:
            _check_attribute_name(distinct, f"{path}.distinctAttribute", causes)
        else:
            one = 'exactly one of "matchAttribute" or "distinctAttribute" is required'
            causes.required(path, f"{one}, but multiple fields are set")


def request_names(spec: Object) -> Names:
    return {
        request["name"]: [
            alternative["name"] for alternative in request.get("firstAvailable") or ()
        ]
        for request in spec["devices"]["requests"] or ()
    }


class SelectorRules:
    """The rules of all selectors of one object."""

    def __init__(self, causes: Causes, release: Release) -> None:
        self._causes = causes
        self._release = release
        self._left = MAX_SELECTOR_BYTES
        self._problems: dict[str, tuple[str, bool]] = {}

    def check(self, items: Sequence[Object] | None, path: str) -> None:
        check_items(items, MAX_SELECTORS, self._check, path, self._causes)

    def _check(self, selector: Object, path: str) -> None:
        causes = self._causes
        if selector.get("cel") is None:
            causes.required(f"{path}.cel")
            return
        text, place = selector["cel"]["expression"], f"{path}.cel.expression"
        length = len(text.encode())
        if length > selectors.MAX_LENGTH:
            causes.too_long(place, selectors.MAX_LENGTH)
            return
        if text not in self._problems:
            if self._left < 0:
                return
            self._left -= length
            if self._left < 0:
                detail = f"different selectors may have {MAX_SELECTOR_BYTES} bytes in total"
                causes.forbidden(place, f"too long, {detail}")
                return
            self._problems[text] = self._problem(text)
        problem, is_too_complex = self._problems[text]
        if problem:
            causes.invalid(place, text, problem)
        elif is_too_complex:
            causes.forbidden(place, "too complex, exceeds cost limit")

    def _problem(self, text: str) -> tuple[str, bool]:
        """Why an expression does not compile, and whether it costs too much."""
        try:
            return "", selectors.compile_selector(text, self._release).is_too_complex
        except selectors.SelectorError as error:
            return str(error), False


def _check_toleration(toleration: Object, path: str, causes: Causes) -> None:
    key, operator = toleration.get("key", ""), toleration.get("operator", "")
    value, effect = toleration.get("value", ""), toleration.get("effect", "")
    if key:
        causes.invalid_each(f"{path}.key", key, qualified_name(key))
    if operator == "Exists":
        if value:
            causes.invalid(f"{path}.value", value, "must be empty for operator `Exists`")
    elif operator == "Equal":
        causes.invalid_each(f"{path}.value", value, label_value(value))
    elif not operator:
        causes.required(f"{path}.operator")
    else:
        causes.unsupported(f"{path}.operator", operator, OPERATORS)
    if effect and effect not in EFFECTS:
        causes.unsupported(f"{path}.effect", effect, EFFECTS)


def check_request_names(
    names: Sequence[str] | None, path: str, known: Names, causes: Causes
) -> None:
    def check(name: str, field_path: str) -> None:
        check_request_name(name, field_path, known, causes)

    check_set(names, MAX_REQUESTS, check, lambda name: name, path, causes)


def check_request_name(name: str, path: str, known: Names, causes: Causes) -> None:
    parts = name.split("/")
    if len(parts) <= 2:
        for part in parts:
            causes.invalid_each(path, part, dns_label(part))
    is_known = parts[0] in known and (len(parts) == 1 or parts[1] in known[parts[0]])
    if len(parts) > 2 or not is_known:
        causes.invalid(path, name, _ONE_REQUEST)


def check_claim_config(config: Object, path: str, names: Names, causes: Causes) -> None:
    check_request_names(config.get("requests"), f"{path}.requests", names, causes)
    check_config(config, path, causes)


def check_config(config: Object, path: str, causes: Causes) -> None:
    opaque = config.get("opaque")
    if opaque is None:
        causes.required(f"{path}.opaque")
        return
    csi_driver_name(opaque["driver"], f"{path}.opaque.driver", causes)
    check_raw(opaque.get("parameters"), f"{path}.opaque.parameters", MAX_PARAMETERS, causes)


def check_raw(value: Any, path: str, limit: int, causes: Causes) -> None:
    """Check embedded data, which must be an object."""
    if value is None:
        causes.required(path)
    elif len(orjson.dumps(value)) > limit:
        causes.too_long(path, limit)
    elif not isinstance(value, dict):
        causes.invalid(path, "<value omitted>", "must be a valid JSON object")


def check_qualified_name(name: str, path: str, causes: Causes) -> None:
    """Check the name of an attribute or a capacity: `[domain/]identifier`."""
    parts = name.split("/")
    if len(parts) == 1:
        _check_identifier(parts[0], path, causes)
    elif len(parts) == 2:
        if not parts[0]:
            causes.invalid(path, "", "the domain must not be empty")
        else:
            csi_driver_name(parts[0], path, causes)
        if not parts[1]:
            causes.invalid(path, "", "the name must not be empty")
        else:
            _check_identifier(parts[1], path, causes)


def _check_attribute_name(name: str, path: str, causes: Causes) -> None:
    check_qualified_name(name, path, causes)
    if "/" not in name:
        detail = "a fully qualified name must be a domain and a name separated by a slash"
        causes.invalid(path, name, detail)


def _check_identifier(text: str, path: str, causes: Causes) -> None:
    if len(text) > MAX_IDENTIFIER:
        causes.too_long(path, MAX_IDENTIFIER)
    if not (text.isascii() and text.isidentifier()):
        causes.invalid(path, text, _IDENTIFIER_ERROR)


def check_pool_name(name: str, path: str, causes: Causes) -> None:
    if not name:
        causes.required(path)
        return
    if len(name) > 253:
        causes.too_long(path, 253)
    for part in name.split("/"):
        causes.invalid_each(path, part, dns_subdomain(part))
