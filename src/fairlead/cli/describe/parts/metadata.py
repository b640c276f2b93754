"""Draws names, labels and annotations."""

from __future__ import annotations

from collections.abc import Mapping

from fairlead.base.dialect import Dialect
from fairlead.cli.describe.fields import Fields
from fairlead.cli.describe.layout import Subject
from fairlead.cli.describe.page import Page
from fairlead.cli.describe.parts.words import NONE

_LONGEST = 140  # bytes of an annotation on one line
# Not shown: apply writes a copy of the object to it.
_LAST_APPLIED = "kubectl.@/last-applied-configuration"


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
        if len(text.encode()) + len(key) + 2 <= _LONGEST and "\n" not in text:
            lines.append(f"{key}: {text}")
        else:
            lines.append(f"{key}:")
            lines += [f"  {shortened(line, _LONGEST - 2)}" for line in text.split("\n")]
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
