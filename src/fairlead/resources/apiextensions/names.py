"""The names of a custom resource."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from fairlead.codec.types.names import dns_1035_label
from fairlead.resources.causes import Causes

REQUIRED = ("plural", "singular", "kind", "listKind")


def check_required_names(names: dict[str, Any], path: str, causes: Causes) -> None:
    for name in REQUIRED:
        if not names.get(name):
            causes.required(f"{path}.{name}")


def check_names(names: dict[str, Any], path: str, causes: Causes) -> None:
    """The syntax of the names that are given; a kind may be in mixed case."""
    for name in ("plural", "singular"):
        check_label(names.get(name, ""), f"{path}.{name}", causes)
    for name in ("kind", "listKind"):
        text = names.get(name, "")
        wrong = dns_1035_label(text.lower()) if text else []
        if wrong:
            detail = f"may have mixed case, but should otherwise match: {','.join(wrong)}"
            causes.invalid(f"{path}.{name}", text, detail)
    _check_labels(names.get("shortNames") or (), f"{path}.shortNames", causes)
    if names["kind"] and names["kind"] == names.get("listKind"):
        detail = "kind and listKind may not be the same"
        causes.invalid(f"{path}.listKind", names["kind"], detail)
    _check_labels(names.get("categories") or (), f"{path}.categories", causes)


def check_label(text: str, path: str, causes: Causes) -> None:
    """A label if it is given; all that is wrong with it is one cause."""
    wrong = dns_1035_label(text) if text else []
    if wrong:
        causes.invalid(path, text, ",".join(wrong))


def _check_labels(labels: Iterable[str], path: str, causes: Causes) -> None:
    for index, label in enumerate(labels):
        wrong = dns_1035_label(label)
        if wrong:
            causes.invalid(f"{path}[{index}]", label, ",".join(wrong))
