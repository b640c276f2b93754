"""Prints the table of flags for the README from the command line's own definitions."""

from __future__ import annotations

import argparse

from fairlead.server.options import add_serve_flags


def shown_default(action: argparse.Action) -> str:
    if action.default in (None, "", []):
        return ""
    if isinstance(action.default, float):
        return f"`{action.default:g}s`"
    return f"`{action.default}`"


def main() -> None:
    parser = argparse.ArgumentParser(add_help=False)
    add_serve_flags(parser)
    print("| flag | default | meaning |\n|---|---|---|")
    for action in parser._actions:
        if action.help != argparse.SUPPRESS:
            print(f"| `{action.option_strings[0]}` | {shown_default(action)} | {action.help} |")


if __name__ == "__main__":
    main()
