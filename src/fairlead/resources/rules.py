"""Validation rules that many kinds share. Each takes a value, its path and the causes."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from fairlead.base.release import Reworded
from fairlead.codec.types.names import are_letters, is_dns_label, label_value, qualified_name
from fairlead.resources.behaviour import Object
from fairlead.resources.causes import Causes
from fairlead.resources.gates import Gates
from fairlead.resources.metadata import check_labels

NON_NEGATIVE: Final = "must be greater than or equal to 0"
POSITIVE: Final = "must be greater than 0"
ABOVE_ZERO: Final = "must be greater than zero"
NOT_AN_OPERATOR: Final = "not a valid selector operator"
PROTOCOLS: Final[tuple[str, ...]] = ("SCTP", "TCP", "UDP")
IMMUTABLE: Final = "field is immutable"
PORT_RANGE: Final = "must be between 1 and 65535, inclusive"
ENV_NAME_ERROR: Final = (
    "a valid environment variable name must consist of alphabetic characters, digits, '_', '-', or"
    " '.', and must not start with a digit (e.g. 'my.env-name',  or 'MY_ENV.NAME',  or"
    " 'MyEnvName1', regex used for validation is '[-._a-zA-Z][-._a-zA-Z0-9]*')"
)
CONFIG_KEY_ERROR: Final = (
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',"
    "  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')"
)
PERCENT_ERROR: Final = (
    "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or"
    " '93%', regex used for validation is '[0-9]+%')"
)

_PORT_LETTERS: Final = re.compile(r"\A[-a-z0-9]+\Z", re.ASCII)


def bounded_int(digits: str) -> int:
    """Parse digits with an optional sign, clamped to the first values beyond 64 bits. Python
    refuses to parse thousands of digits."""
    body = digits.lstrip("+-").lstrip("0") or "0"
    beyond = 2**63 + 1 if digits[:1] == "-" else 2**63
    value = min(int(body), beyond) if len(body) < 20 else beyond
    return -value if digits[:1] == "-" else value


def non_negative(value: int | None, path: str, causes: Causes) -> None:
    if value is not None and value < 0:
        causes.invalid(path, value, NON_NEGATIVE)


def positive(value: int | None, path: str, causes: Causes) -> None:
    if value is not None and value <= 0:
        causes.invalid(path, value, POSITIVE)


def port_number(value: int, path: str, causes: Causes) -> None:
    if not 1 <= value <= 65535:
        causes.invalid(path, value, PORT_RANGE)


def port_name(value: str, path: str, causes: Causes) -> None:
    causes.invalid_each(path, value, port_name_errors(value))


def is_usual_port_name(value: str) -> bool:
    """Whether a name is valid. Fast path: False also for valid names that begin with a digit."""
    return len(value) <= 15 and is_dns_label(value) and not value[0].isdigit() and "--" not in value


def port_name_errors(value: str) -> list[str]:
    if is_usual_port_name(value):
        return []
    errors = []
    if len(value) > 15:
        errors.append("must be no more than 15 characters")
    if not _PORT_LETTERS.match(value):
        errors.append("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)")
    if not re.search("[a-z]", value):
        errors.append("must contain at least one letter (a-z)")
    if "--" in value:
        errors.append("must not contain consecutive hyphens")
    if value[:1] == "-" or value[-1:] == "-":
        errors.append("must not begin or end with a hyphen")
    return errors


def port_or_name(value: int | str, path: str, causes: Causes) -> None:
    """Check a port number or a port name."""
    if isinstance(value, int):
        port_number(value, path, causes)
    else:
        port_name(value, path, causes)


def one_of(value: Any, supported: Sequence[str], path: str, causes: Causes) -> None:
    """Check a required enumeration value."""
    if not value:
        causes.required(path)
    elif value not in supported:
        causes.unsupported(path, value, supported)


def one_of_if_given(value: Any, supported: Sequence[str], path: str, causes: Causes) -> None:
    """Check a value that may be absent but not empty."""
    if value is not None and value not in supported:
        causes.unsupported(path, value, supported)


def one_of_if_set(value: Any, supported: Sequence[str], path: str, causes: Causes) -> None:
    if value and value not in supported:
        causes.unsupported(path, value, supported)


def immutable(value: Any, old: Any, path: str, causes: Causes) -> None:
    if value != old:
        causes.invalid(path, value, IMMUTABLE)


def required(value: Any, path: str, causes: Causes, detail: str = "") -> bool:
    """Whether a value is set; adds a cause if not."""
    if value in (None, "", [], {}):
        causes.required(path, detail)
        return False
    return True


def is_usual_env_name(value: str) -> bool:
    """Whether a name is valid. Fast path: False also for valid names that begin with a dot."""
    return are_letters(value) and value[0] != "." and not value[0].isdigit()


def env_name_errors(value: str) -> list[str]:
    well_formed = are_letters(value) and not value[0].isdigit()
    return ([] if well_formed else [ENV_NAME_ERROR]) + _upward_errors(value)


def _upward_errors(value: str) -> list[str]:
    """The errors of a name that would leave its directory if used as a file name."""
    if value in (".", ".."):
        return [f"must not be '{value}'"]
    return ["must not start with '..'"] if value.startswith("..") else []


def is_usual_config_key(value: str) -> bool:
    """Whether a key is valid. Fast path: False also for valid keys that begin with a dot."""
    return len(value) <= 253 and are_letters(value) and value[0] != "."


def config_key_errors(value: str) -> Sequence[str]:
    if is_usual_config_key(value):
        return ()
    errors = ["must be no more than 253 characters"] if len(value) > 253 else []
    if not are_letters(value):
        errors.append(CONFIG_KEY_ERROR)
    return errors + _upward_errors(value)


# Bounds: controllers match every written object against all selectors of its namespace.
_MAX_EXPRESSIONS, _MAX_VALUES = 100, 2000


def label_selector(
    selector: dict[str, Any] | None,
    path: str,
    causes: Causes,
    *,
    check_values: bool = False,
) -> None:
    """Check a label selector; `check_values` also checks the syntax of its values."""
    if selector is None:
        return
    check_labels(selector.get("matchLabels"), f"{path}.matchLabels", causes)
    expressions = selector.get("matchExpressions") or []
    values = sum(len(rule.get("values") or ()) for rule in expressions)
    for count, maximum in ((len(expressions), _MAX_EXPRESSIONS), (values, _MAX_VALUES)):
        if count > maximum:
            causes.too_many(f"{path}.matchExpressions", count, maximum)
            return
    for index, rule in enumerate(expressions):
        _selector_rule(rule, f"{path}.matchExpressions[{index}]", causes, check_values)


def checks_selector_values(gates: Gates, *old: dict[str, Any] | None) -> bool:
    """Whether the values of a label selector are checked. Values that were invalid in an `old`
    selector may stay so."""
    if not gates["SelectorValuesChecked"]:
        return False
    old_causes = Causes()
    for selector in old:
        label_selector(selector, "", old_causes, check_values=True)
    return not old_causes


def _selector_rule(rule: dict[str, Any], path: str, causes: Causes, check_values: bool) -> None:
    operator, values = rule["operator"], rule.get("values") or []
    if not is_set_operator(operator, values, path, causes):
        causes.invalid(f"{path}.operator", operator, NOT_AN_OPERATOR)
    causes.invalid_each(f"{path}.key", rule["key"], qualified_name(rule["key"]))
    if check_values:
        for index, value in enumerate(values):
            causes.invalid_each(f"{path}.values[{index}]", value, label_value(value))


def is_set_operator(operator: str, values: list[str], path: str, causes: Causes) -> bool:
    """Whether an operator is one that all selectors have; adds a cause if its values do not fit."""
    if operator in ("In", "NotIn"):
        if not values:
            detail = "must be specified when `operator` is 'In' or 'NotIn'"
            causes.required(f"{path}.values", detail)
        return True
    if operator in ("Exists", "DoesNotExist"):
        if values:
            detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
            causes.forbidden(f"{path}.values", detail)
        return True
    return False


def selector_is_empty(selector: dict[str, Any] | None) -> bool:
    return not selector or not (selector.get("matchLabels") or selector.get("matchExpressions"))


def selector_matches(selector: dict[str, Any] | None, labels: Mapping[str, str]) -> bool:
    """Whether a label selector matches these labels; None matches nothing."""
    if selector is None:
        return False
    if any(labels.get(k) != v for k, v in (selector.get("matchLabels") or {}).items()):
        return False
    return all(_rule_matches(rule, labels) for rule in selector.get("matchExpressions") or ())


def _rule_matches(rule: dict[str, Any], labels: Mapping[str, str]) -> bool:
    value = labels.get(rule["key"])
    match rule["operator"]:
        case "In":
            return value is not None and value in (rule.get("values") or ())
        case "NotIn":
            return value not in (rule.get("values") or ())
        case "Exists":
            return value is not None
        case _:
            return value is None


# Conditions in the status of objects

STATUSES: Final[tuple[str, ...]] = ("False", "True", "Unknown")
MAX_REASON_LENGTH: Final = 1024
MAX_MESSAGE_LENGTH: Final = 32768
_MUST_BE_SET: Final = Reworded("must be set", "")
_REASON_FORMAT: Final = "[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?"
_REASON: Final = re.compile(rf"\A(?:{_REASON_FORMAT})\Z", re.ASCII)
REASON_ERROR: Final = (
    "a condition reason must start with alphabetic character, optionally followed by a string of"
    " alphanumeric characters or '_,:', and must end with an alphanumeric character or '_'"
    " (e.g. 'my_name',  or 'MY_NAME',  or 'MyName',  or 'ReasonA,ReasonB',  or 'ReasonA:ReasonB',"
    f" regex used for validation is '{_REASON_FORMAT}')"
)


def check_conditions(conditions: Sequence[Object] | None, path: str, causes: Causes) -> None:
    """Check conditions of the standard type; each condition type may occur once."""
    seen = set()
    for index, condition in enumerate(conditions or ()):
        item_path, kind = f"{path}[{index}]", condition["type"]
        if kind in seen:
            causes.duplicate(f"{item_path}.type", kind)
        seen.add(kind)
        _check_condition(condition, item_path, causes)


def check_condition_states(value: Object, causes: Causes) -> None:
    """Check that every condition in a status has a type and a known status."""
    for index, condition in enumerate((value.get("status") or {}).get("conditions") or ()):
        item_path = f"status.conditions[{index}]"
        if "type" in condition and not condition["type"]:
            causes.required(f"{item_path}.type")
        status = condition.get("status")
        if status == "":
            causes.required(f"{item_path}.status")
        elif status is not None and status not in STATUSES:
            causes.unsupported(f"{item_path}.status", status, STATUSES)


def _check_condition(condition: Object, path: str, causes: Causes) -> None:
    kind, status, reason = condition["type"], condition["status"], condition["reason"]
    causes.invalid_each(f"{path}.type", kind, qualified_name(kind))
    if status not in STATUSES:
        causes.unsupported(f"{path}.status", status, STATUSES)
    generation = condition.get("observedGeneration", 0)
    if generation < 0:
        detail = "must be greater than or equal to zero"
        causes.invalid(f"{path}.observedGeneration", generation, detail)
    if condition.get("lastTransitionTime") is None:
        causes.required(f"{path}.lastTransitionTime", _MUST_BE_SET)
    if not reason:
        causes.required(f"{path}.reason", _MUST_BE_SET)
    elif not _REASON.match(reason):
        causes.invalid(f"{path}.reason", reason, REASON_ERROR)
    if len(reason.encode()) > MAX_REASON_LENGTH:
        causes.too_long(f"{path}.reason", MAX_REASON_LENGTH)
    if len(condition["message"].encode()) > MAX_MESSAGE_LENGTH:
        causes.too_long(f"{path}.message", MAX_MESSAGE_LENGTH)
