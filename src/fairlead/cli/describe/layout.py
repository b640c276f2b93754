"""Layouts: how objects of a kind are drawn, and which related objects they need."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from fairlead.base.dialect import Dialect
from fairlead.base.records import dataclass, field
from fairlead.cli.describe.fields import Fields
from fairlead.cli.describe.page import Page
from fairlead.cli.describe.queries import Found, Queries


@dataclass(slots=True)
class Subject(Fields):
    """The object to describe, with the results of its layout's queries."""

    value: Any
    dialect: Dialect
    answers: dict[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.text("metadata.name")

    @property
    def namespace(self) -> str:
        return self.text("metadata.namespace")

    @property
    def uid(self) -> str:
        return self.text("metadata.uid")

    @property
    def labels(self) -> dict[str, str]:
        return self.map("metadata.labels")

    @property
    def annotations(self) -> dict[str, str]:
        return self.map("metadata.annotations")

    @property
    def is_terminating(self) -> bool:
        return self.has("metadata.deletionTimestamp")

    def found(self, question: str) -> Found:
        """The result of a query for objects; empty if there is none."""
        answer = self.answers.get(question)
        return answer if isinstance(answer, Found) else Found()


Question = Callable[[Subject, Queries], Awaitable[Any]]
Selectors = Callable[[Subject], Sequence[Mapping[str, str]]]


def by_reference(subject: Subject) -> Sequence[Mapping[str, str]]:
    """The selector of events whose involvedObject is this object."""
    return [
        {
            "name": subject.name,
            "namespace": subject.namespace,
            "kind": subject.text("kind"),
            "uid": subject.uid,
        }
    ]


@dataclass(frozen=True, slots=True)
class Layout:
    """How a kind is drawn. `related` queries run concurrently before drawing; `events` returns the
    selectors of the object's events, or None to show no events; `version` is the API version that
    the layout expects, where a group has several."""

    draw: Callable[[Page, Subject], None]
    related: Mapping[str, Question] = field(default_factory=dict)
    events: Selectors | None = by_reference
    version: str = ""
