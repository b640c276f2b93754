"""`kustomize`: prints the objects of a kustomization."""

from __future__ import annotations

from fairlead.cli.arguments import ArgumentReader
from fairlead.cli.errors import UsageError
from fairlead.cli.invocation import Invocation
from fairlead.cli.manifests import kustomized
from fairlead.cli.output import documents


def add_flags(parser: ArgumentReader) -> None:
    parser.add_argument("words", metavar="[FOLDER]", nargs="*")


async def run(invocation: Invocation) -> int:
    words = invocation.options.words
    if len(words) > 1:
        raise UsageError("give one folder")
    listed = kustomized(words[0] if words else ".")
    texts = [f"{documents.as_yaml(manifest.value)}\n" for manifest in listed]
    invocation.screen.out.write("---\n".join(texts))
    return 0
