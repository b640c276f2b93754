"""The page that `--help` of a client command prints. Only it needs argparse, which takes long to
load."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from fairlead.cli.parser import Help

if TYPE_CHECKING:
    from fairlead.cli.arguments import ArgumentReader, Flag


def help_page(reader: ArgumentReader) -> str:
    page = argparse.ArgumentParser(
        prog=reader.prog,
        usage=reader.usage or argparse.SUPPRESS,
        description=reader.description or None,
        epilog=reader.epilog or None,
        formatter_class=Help,
        add_help=False,
    )
    for title, flags in reader.sections.items():
        section: Any = page.add_argument_group(title) if title else page
        for flag in flags:
            section.add_argument(*flag.names or (flag.dest,), **_settings(flag))
    return page.format_help()


def _settings(flag: Flag) -> dict[str, Any]:
    """What argparse is told about a flag."""
    if flag.nargs == 0:
        return {"action": "store_true", "default": flag.default, "help": flag.help}
    return {
        "nargs": None if flag.nargs == 1 else flag.nargs,
        "default": flag.default,
        "metavar": flag.metavar,
        "help": flag.help,
    }
