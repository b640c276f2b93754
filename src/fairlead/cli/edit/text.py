"""The text format of the editor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fairlead.base.terminal import printable
from fairlead.cli.manifests import Manifest, parsed
from fairlead.cli.output import documents

Object = dict[str, Any]

_HEAD = """\
The saved text replaces the object. Lines that begin with # are ignored.
Save an empty file to change nothing. If the server refuses what you saved,
you get it back, with the reasons up here.
"""


def text_of(values: Sequence[Object], as_json: bool) -> str:
    """A single object as it is, several as a List."""
    listed = {"apiVersion": "v1", "items": [*values], "kind": "List", "metadata": {}}
    value = values[0] if len(values) == 1 else listed
    body = documents.as_json(value) if as_json else documents.as_yaml(value)
    return commented([], body)


def commented(problems: Sequence[str], body: str) -> str:
    """The body below the instructions and the problems of the last attempt, as comments."""
    texts = (_HEAD, *map(printable, problems))
    lines = [line for text in texts for line in (*text.splitlines(), "")]
    head = "".join(f"# {line}".rstrip() + "\n" for line in lines)
    return f"{head}{body.rstrip()}\n"


def without_comments(text: str) -> str:
    return "".join(line for line in text.splitlines(True) if not line.startswith("#"))


def values_of(text: str) -> list[Object]:
    """The objects in the edited text; raises ManifestError."""
    found: list[Manifest] = list(parsed(without_comments(text), "the edited file"))
    return [one.value for one in found]
