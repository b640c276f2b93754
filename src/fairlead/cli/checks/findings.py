"""What is wrong, in order of weight."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from enum import IntEnum
from typing import NamedTuple

from fairlead.base.terminal import printable


class Weight(IntEnum):
    """ERROR: data or service is lost or about to be. WARNING: something does not work, or will stop
    working. NOTE: worth knowing."""

    ERROR = 0
    WARNING = 1
    NOTE = 2


class Finding(NamedTuple):
    weight: Weight
    subject: str  # a file, an object, a member: what it is about
    text: str
    remedy: str = ""  # what to do about it

    def line(self) -> str:
        shown = f"{self.weight.name}: {self.subject}: {self.text}"
        return printable(f"{shown}. {self.remedy}" if self.remedy else shown)


def error(subject: object, text: str, remedy: str = "") -> Finding:
    return Finding(Weight.ERROR, str(subject), text, remedy)


def warning(subject: object, text: str, remedy: str = "") -> Finding:
    return Finding(Weight.WARNING, str(subject), text, remedy)


def note(subject: object, text: str, remedy: str = "") -> Finding:
    return Finding(Weight.NOTE, str(subject), text, remedy)


class Report:
    """The findings about one store or server. `subject` names it, `looked_at` says what was read
    even if nothing is wrong with it."""

    def __init__(self, subject: str) -> None:
        self._subject = subject
        self._findings: list[Finding] = []
        self._looked_at: list[str] = []

    def add(self, findings: Iterable[Finding]) -> None:
        self._findings += findings

    def looked_at(self, text: str) -> None:
        self._looked_at.append(text)

    @property
    def sorted(self) -> list[Finding]:
        return sorted(self._findings, key=lambda finding: finding.weight)

    @property
    def exit_code(self) -> int:
        """0: nothing is wrong; 1: there are errors or warnings."""
        return int(any(finding.weight is not Weight.NOTE for finding in self._findings))

    def lines(self) -> Iterator[str]:
        for finding in self.sorted:
            yield finding.line()
        counts = [(weight.name.lower(), self._count(weight)) for weight in Weight]
        found = [f"{number} {name}{'s' * (number > 1)}" for name, number in counts if number]
        looked_at = f" ({printable('; '.join(self._looked_at))})" if self._looked_at else ""
        yield f"{printable(self._subject)}: {', '.join(found) or 'nothing is wrong'}{looked_at}"

    def document(self) -> str:
        """The report as JSON."""
        findings = [
            {**finding._asdict(), "weight": finding.weight.name.lower()} for finding in self.sorted
        ]
        content = {
            "subject": self._subject,
            "lookedAt": self._looked_at,
            "findings": findings,
        }
        return json.dumps(content, indent=2)

    def _count(self, weight: Weight) -> int:
        return sum(finding.weight is weight for finding in self._findings)
