"""`kustomize`: prints the objects of a kustomization."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from fairlead.cli.arguments import ArgumentReader
from fairlead.cli.errors import CommandError, UsageError
from fairlead.cli.invocation import Invocation
from fairlead.cli.manifests import Object, kustomized
from fairlead.cli.output import documents

_RULE = "LoadRestrictionsRootOnly"


def add_flags(parser: ArgumentReader) -> None:
    parser.add_argument("words", metavar="[FOLDER]", nargs="*")
    parser.add_argument(
        "-o",
        "--output",
        metavar="PATH",
        default="",
        help="write to this file, or one file for each object to this folder",
    )
    parser.add_argument(
        "--load-restrictor",
        metavar="RULE",
        default=_RULE,
        help=f"only {_RULE} is possible: files of other folders are not read",
    )


async def run(invocation: Invocation) -> int:
    words = invocation.options.words
    if len(words) > 1:
        raise UsageError("give one folder")
    if invocation.options.load_restrictor != _RULE:
        raise CommandError(f"--load-restrictor takes {_RULE} only")
    listed = kustomized(words[0] if words else ".")
    texts = [f"{documents.as_yaml(manifest.value)}\n" for manifest in listed]
    if invocation.options.output:
        spaces = {manifest.value["metadata"].get("namespace") for manifest in listed}
        names = [_file_name(manifest.value, len(spaces) > 1) for manifest in listed]
        _write(Path(invocation.options.output), dict(zip(names, texts, strict=True)))
    else:
        invocation.screen.out.write("---\n".join(texts))
    return 0


def _write(output: Path, texts: Mapping[str, str]) -> None:
    """Write a file, or the files of a folder; raises CommandError."""
    try:
        if output.is_dir():
            for name, text in texts.items():
                (output / name).write_text(text)
        else:
            output.write_text("---\n".join(texts.values()))
    except OSError as error:
        raise CommandError(f"{output}: {error.strerror}") from None


def _file_name(value: Object, with_namespace: bool) -> str:
    """The name of the file of an object: apps_v1_deployment_web.yaml, behind its namespace if
    there are several."""
    metadata = value["metadata"]
    parts = [value["apiVersion"], value["kind"], metadata["name"]]
    if with_namespace and metadata.get("namespace"):
        parts.insert(0, metadata["namespace"])
    return "_".join(parts).lower().replace("/", "_") + ".yaml"
