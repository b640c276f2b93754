"""Draws names, labels, annotations, selectors and conditions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from fairlead.base.dialect import Dialect
from fairlead.cli.describe.fields import Fields
from fairlead.cli.describe.layout import Subject
from fairlead.cli.describe.page import Page
from fairlead.cli.describe.parts.values import NONE, in_full

_MAX_LINE_BYTES = 140  # bytes of an annotation on one line
# Not shown: apply writes a copy of the object to it.
_LAST_APPLIED = "kubectl.@/last-applied-configuration"
# Rules under a head that are not as long as the column name.
_RULES = {"LastProbeTime": "-----------------"}


def draw_head(page: Page, subject: Subject) -> None:
    """Draw name, namespace, labels and annotations."""
    page.pairs(("Name", subject.name), ("Namespace", subject.namespace))
    draw_labels_and_annotations(page, subject)


def draw_cluster_head(page: Page, subject: Subject) -> None:
    """Like `draw_head`, without the namespace."""
    page.pair("Name", subject.name)
    draw_labels_and_annotations(page, subject)


def draw_labels_and_annotations(page: Page, subject: Subject) -> None:
    draw_labels(page, "Labels", subject.labels)
    draw_annotations(page, "Annotations", subject)


def draw_labels(page: Page, name: str, labels: Mapping[str, str], level: int = 0) -> None:
    page.entries(name, [f"{key}={value}" for key, value in labels.items()], level)


def draw_annotations(page: Page, name: str, subject: Subject, path: str = "metadata") -> None:
    page.entries(name, annotation_lines(subject.map(f"{path}.annotations"), subject.dialect))


def annotation_lines(annotations: Mapping[str, str], dialect: Dialect) -> list[str]:
    """Long and multi-line values start on the line below their key."""
    lines: list[str] = []
    for key, value in annotations.items():
        if key == dialect.label(_LAST_APPLIED):
            continue
        text = value.removesuffix("\n")
        if len(text.encode()) + len(key) + 2 <= _MAX_LINE_BYTES and "\n" not in text:
            lines.append(f"{key}: {text}")
        else:
            lines.append(f"{key}:")
            lines += [f"  {shortened(line, _MAX_LINE_BYTES - 2)}" for line in text.split("\n")]
    return lines


def shortened(text: str, longest: int) -> str:
    """Cut the text after `longest` bytes and append an ellipsis."""
    raw = text.encode()
    return text if len(raw) <= longest else raw[:longest].decode(errors="ignore") + "..."


def one_line(labels: Mapping[str, str]) -> str:
    """Labels as `a=1,b=2`."""
    return ",".join(f"{key}={value}" for key, value in labels.items()) or NONE


def controller_of(value: Fields) -> Fields:
    """The owner reference of the controller; empty if there is none."""
    for owner in value.items("metadata.ownerReferences"):
        if owner.flag("controller"):
            return owner
    return Fields(None)


def draw_controller(page: Page, value: Fields) -> None:
    owner = controller_of(value)
    if owner.has():
        page.pair("Controlled By", f"{owner.text('kind')}/{owner.text('name')}")


# Formats label selectors as text.


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


# Draws the conditions of a status as a table.


def draw_conditions(page: Page, value: Fields) -> None:
    """Draw type, status and reason."""
    _draw(page, value, ("Type", "Status", "Reason"), lambda cells: [f"{cells[0]} ", *cells[1:]])


def draw_conditions_with_message(page: Page, value: Fields) -> None:
    _draw(page, value, ("Type", "Status", "Reason", "Message"))


def draw_conditions_with_time(page: Page, value: Fields) -> None:
    """Draw type, status, transition time, reason and message."""
    _draw(page, value, ("Type", "Status", "LastTransitionTime", "Reason", "Message"))


def draw_conditions_with_times(page: Page, value: Fields, probed: str) -> None:
    """Draw all fields; `probed` is the column of the last probe time."""
    head = ("Type", "Status", probed, "LastTransitionTime", "Reason", "Message")
    _draw(page, value, head, lambda cells: [*(f"{cell} " for cell in cells[:-1]), cells[-1]])


def _draw(
    page: Page,
    value: Fields,
    head: Sequence[str],
    spaced: Callable[[list[str]], list[str]] = lambda cells: cells,
) -> None:
    """Draw a table if there are conditions. `spaced` appends the trailing blanks that some layouts
    have."""
    conditions = value.items("status.conditions")
    if conditions:
        page.write("Conditions:")
        rows = (spaced([_cell(condition, name) for name in head]) for condition in conditions)
        page.table(head, rows, rules=[_RULES.get(name, "-" * len(name)) for name in head])


def _cell(condition: Fields, name: str) -> str:
    path = name[0].lower() + name[1:]
    return in_full(condition.at(path)) if name.endswith("Time") else condition.text(path)
