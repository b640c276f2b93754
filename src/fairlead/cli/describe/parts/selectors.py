"""Formats label selectors as text."""

from __future__ import annotations

from fairlead.cli.describe.fields import Fields
from fairlead.cli.describe.parts.words import NONE


def selector_text(selector: Fields) -> str:
    """The selector as `a=1,b in (x,y),!c`; empty if it is empty or missing."""
    terms = [(key, f"{key}={value}") for key, value in selector.map("matchLabels").items()]
    for term in selector.items("matchExpressions"):
        terms.append((term.text("key"), _expression(term)))
    return ",".join(text for _, text in sorted(terms, key=lambda term: term[0]))


def selector_or_none(selector: Fields) -> str:
    return selector_text(selector) or NONE


def _expression(term: Fields) -> str:
    key, operator = term.text("key"), term.text("operator")
    if operator == "Exists":
        return key
    if operator == "DoesNotExist":
        return f"!{key}"
    return f"{key} {operator.lower()} ({','.join(sorted(term.texts('values')))})"


def node_expression(term: Fields) -> str:
    """A node selector term: `zone in [a, b]`."""
    text = f"{term.text('key')} {term.text('operator', 'In').lower()}"
    values = term.texts("values")
    return f"{text} [{', '.join(values)}]" if values else text
