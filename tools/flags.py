"""Writes the tables of flags in the README from the command line's own definitions."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

from fairlead.cli.parsing import Parser, shown_default
from fairlead.server.options import add_serve_flags

README = Path(__file__).resolve().parent.parent / "README.md"
BEGIN, END = "<!-- flags: made by tools/flags.py -->\n", "<!-- end of flags -->\n"


def tables() -> str:
    """A table for each group of the help; flags that do nothing are in neither."""
    parser = Parser(prog="fairlead serve", add_help=False)
    add_serve_flags(parser)
    return "".join(line + "\n" for group in parser._action_groups for line in _table(group))


def _table(group: argparse._ArgumentGroup) -> Iterator[str]:
    shown = [one for one in group._group_actions if one.help != argparse.SUPPRESS]
    if not shown:
        return
    yield from (f"| {group.title} | default | |", "|---|---|---|")
    for one in shown:
        names = ", ".join(f"`{name}`" for name in one.option_strings)
        default = f"`{found}`" if (found := shown_default(one)) else ""
        yield f"| {names} | {default} | {one.help} |"
    yield ""


def with_tables(text: str) -> str:
    """The README with the tables of today."""
    head, _, rest = text.partition(BEGIN)
    _, _, tail = rest.partition(END)
    return f"{head}{BEGIN}\n{tables()}{END}{tail}"


def main() -> int:
    text = README.read_text()
    if BEGIN not in text or END not in text:
        print(f"{README} has no place for the flags", file=sys.stderr)
        return 1
    README.write_text(with_tables(text))
    return 0


if __name__ == "__main__":
    sys.exit(main())
