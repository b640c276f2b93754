"""The pages of the documentation, and their runnable blocks."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

_FENCE = re.compile(
    r"(?:^<!-- not run: (?P<reason>[^\n]+) -->\n)?"
    r"^(?P<indent> *)```(?P<language>\w*)(?: title=\"(?P<title>[^\"]+)\")?\n"
    r"(?P<text>.*?)^(?P=indent)```$",
    re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True)
class Block:
    """A fenced block of a page; `reason` says why it is not run, if so."""

    line: int
    language: str
    title: str
    text: str
    reason: str


def blocks(page: str) -> list[Block]:
    results = []
    for match in _FENCE.finditer(page):
        line = page.count("\n", 0, match.start()) + 1
        indent = match["indent"]
        text = re.sub(rf"^{indent}", "", match["text"], flags=re.MULTILINE)
        results.append(
            Block(line, match["language"], match["title"] or "", text, match["reason"] or "")
        )
    return results


def steps(block: str) -> list[tuple[str, list[str]]]:
    """Return the commands of a console block, each with the output shown for it."""
    rows: list[tuple[str, list[str]]] = []
    for line in block.splitlines():
        if line.startswith("$ "):
            rows.append((line[2:], []))
        elif rows and not rows[-1][1] and rows[-1][0].endswith("\\"):
            rows[-1] = (f"{rows[-1][0]}\n{line}", [])
        elif rows:
            rows[-1][1].append(line)
    return rows


def commands(text: str) -> list[str]:
    """Return the commands behind `$ ` in console blocks."""
    output = [block for block in blocks(text) if block.language == "console" and not block.reason]
    return [command for block in output for command, _ in steps(block.text)]


def missing_line(wanted: Iterable[str], text: str) -> str | None:
    """Return the first wanted line that is missing in the output after the lines before it; `...`
    matches anything, a space any number of spaces."""
    rest = iter(text.splitlines())
    for line in wanted:
        words = r"\s+".join(
            ".*".join(re.escape(part) for part in word.split("...")) for word in line.split()
        )
        if line.strip() not in ("", "...") and not any(
            re.fullmatch(words, item.strip()) for item in rest
        ):
            return line
    return None


def edited(text: str, diff: str) -> str:
    """Make the edits of a diff block: hunks between lines of `@@`, each found by its lines, which
    must occur exactly once in the text."""
    for hunk in re.split(r"^@@\n", diff, flags=re.MULTILINE):
        lines = [(line[:1] or " ", line[1:]) for line in hunk.splitlines()]
        before = "".join(f"{line}\n" for mark, line in lines if mark != "+")
        after = "".join(f"{line}\n" for mark, line in lines if mark != "-")
        assert text.count(before) == 1, f"not there exactly once:\n{before}"
        text = text.replace(before, after)
    return text
