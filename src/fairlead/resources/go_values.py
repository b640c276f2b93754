"""Formats lists, maps, selectors and times for messages, in the reference's notation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, Final

from fairlead.resources.causes import GoValue, quote

ZERO_TIME: Final = "0001-01-01 00:00:00 +0000 UTC"


def go_list(element: str, values: Iterable[str] | None) -> GoValue:
    """A list of strings as `[]string{"a"}`; None is nil."""
    if values is None:
        return GoValue(f"[]{element}(nil)")
    return GoValue(f"[]{element}{{{', '.join(quote(value) for value in values)}}}")


def go_list_or_nil(element: str, values: Iterable[str] | None) -> GoValue:
    """Like `go_list`, but an empty list is nil too."""
    return go_list(element, list(values or ()) or None)


def go_map(values: Mapping[str, str] | None) -> GoValue:
    """A map of strings as `map[string]string{"a":"b"}`; None is nil."""
    if values is None:
        return GoValue("map[string]string(nil)")
    pairs = ", ".join(f"{quote(key)}:{quote(values[key])}" for key in sorted(values))
    return GoValue(f"map[string]string{{{pairs}}}")


def go_selector(selector: Mapping[str, Any]) -> GoValue:
    """A label selector as a Go struct."""
    rules = given_list(selector, "matchExpressions")
    kind = "[]v1.LabelSelectorRequirement"
    expressions = f"{kind}(nil)" if rules is None else f"{kind}{{{', '.join(map(_rule, rules))}}}"
    labels = go_map(given_map(selector, "matchLabels"))
    text = f"v1.LabelSelector{{MatchLabels:{labels}, MatchExpressions:{expressions}}}"
    as_json: dict[str, Any] = {}
    if selector.get("matchLabels"):
        as_json["matchLabels"] = dict(sorted(selector["matchLabels"].items()))
    if rules:
        as_json["matchExpressions"] = rules
    return GoValue(text, as_json)


def go_time(text: str | None) -> GoValue:
    """A time; an absent time prints as the zero time."""
    if not text:
        return GoValue(ZERO_TIME, None)
    moment = datetime.fromisoformat(text)
    fraction = f".{moment.microsecond:06d}".rstrip("0") if moment.microsecond else ""
    return GoValue(f"{moment:%Y-%m-%d %H:%M:%S}{fraction} +0000 UTC", text)


def given_map(value: Mapping[str, Any], name: str) -> Mapping[str, str] | None:
    """The map in a field as the client sent it. Decoding drops empty maps but records their names
    in `empty`."""
    entries: Mapping[str, str] | None = value.get(name)
    return {} if entries is None and name in getattr(value, "empty", ()) else entries


def given_list(value: Mapping[str, Any], name: str) -> list[Any] | None:
    """The list in a field as the client sent it, see `given_map`."""
    entries: list[Any] | None = value.get(name)
    return [] if entries is None and name in getattr(value, "empty", ()) else entries


def _rule(rule: Mapping[str, Any]) -> str:
    values = go_list("string", given_list(rule, "values"))
    key, operator = quote(rule["key"]), quote(rule["operator"])
    return f"v1.LabelSelectorRequirement{{Key:{key}, Operator:{operator}, Values:{values}}}"
