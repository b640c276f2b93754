"""The releases of the API that a server can serve, and the marks by which tables follow them.

Tables hold all releases. A line with `since=1.28` exists from that release on, one with
`until=1.28` only before it (a line may have both); an unmarked line exists in all. The indented
lines of a section exist only with the line that opens it. Within a line, `1.28+MARK` stands for
MARK from that release on and `1.28-MARK` for MARK before it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from fairlead import __version__

_LINE_MARK = re.compile(r" (since|until)=1\.(\d+)(?= |$)")
_WORD_MARK = re.compile(r" 1\.(\d+)([+-])(\S+)")


@dataclass(frozen=True, slots=True, eq=False)  # compared by identity, like a dialect
class Release:
    """A release of the API, chosen at start. `patch` is the release of the reference whose
    behaviour it follows."""

    minor: int
    patch: str

    @property
    def name(self) -> str:
        """The release as `--release` takes it."""
        return f"1.{self.minor}"

    @property
    def advertised(self) -> str:
        """The version that /version reports: the release, with ours as its build."""
        return f"{self.patch}+fairlead.{__version__}"

    def select(self, table: str) -> str:
        """Return the text of a table as this release has it, without the marks of releases."""
        lines = []
        has_section = True
        for line in table.split("\n"):
            has_line = "=1." not in line or self._has(line)
            if line[:1] != " ":
                has_section = has_line
            if has_section and has_line:
                lines.append(self._without_marks(line) if " 1." in line or "=1." in line else line)
        return "\n".join(lines)

    def _has(self, line: str) -> bool:
        for bound, minor in _LINE_MARK.findall(line):
            if (self.minor >= int(minor)) is (bound == "until"):
                return False
        return True

    def _without_marks(self, line: str) -> str:
        if "=1." in line:
            line = _LINE_MARK.sub("", line)
        if " 1." in line:
            line = _WORD_MARK.sub(self._inner_mark, line)
        return line.rstrip()

    def _inner_mark(self, match: re.Match[str]) -> str:
        minor, sign, mark = match.groups()
        return f" {mark}" if (self.minor >= int(minor)) is (sign == "+") else ""


V1_25 = Release(25, "v1.25.9")
V1_36 = Release(36, "v1.36.4")

RELEASES = {release.name: release for release in (V1_25, V1_36)}


class Reworded(str):
    """A message, or a part of one, with the text `later` in later releases."""

    later: str

    def __new__(cls, text: str, later: str) -> Reworded:
        reworded = super().__new__(cls, text)
        reworded.later = later
        return reworded


def join_reworded(separator: str, texts: Iterable[str]) -> Reworded:
    """Join texts of which some may be reworded."""
    texts = list(texts)
    return Reworded(
        separator.join(texts), separator.join(getattr(text, "later", text) for text in texts)
    )
