"""`patch`: changes fields of objects."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fairlead.cli.arguments import ArgumentReader
from fairlead.cli.errors import CommandError, CommandFailed
from fairlead.cli.file_flags import add_file_flags
from fairlead.cli.invocation import Invocation
from fairlead.cli.local_objects import add_local_flag
from fairlead.cli.local_patches import patched_here
from fairlead.cli.manifests import ManifestError, documents
from fairlead.cli.output.documents import same_content
from fairlead.cli.output.formats import add_output_flag, check_output, show_result
from fairlead.cli.resolution import ResolvedObject
from fairlead.cli.selection import check_choice, select_objects
from fairlead.cli.write_options import (
    EXPECTED,
    Failures,
    add_dry_run_flag,
    add_manager_flag,
    check_subresource,
    dry_run,
    note,
    write_query,
)
from fairlead.client import ApiError
from fairlead.client.resources import JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH, Object

_TYPES = {"json": JSON_PATCH, "merge": MERGE_PATCH, "strategic": STRATEGIC_PATCH}


def add_flags(parser: ArgumentReader) -> None:
    parser.add_argument("words", metavar="KIND NAME", nargs="*")
    add_file_flags(parser, "patch")
    parser.add_argument("-p", "--patch", metavar="PATCH", default="", help="the patch")
    parser.add_argument("--patch-file", metavar="FILE", default="", help="a file with the patch")
    parser.add_argument(
        "--type", metavar="TYPE", default="strategic", help="json, merge or strategic"
    )
    parser.add_argument("--subresource", metavar="NAME", default="", help="status or scale")
    add_local_flag(parser)
    add_output_flag(parser)
    add_dry_run_flag(parser)
    add_manager_flag(parser, "fairlead-patch")
    parser.set_defaults(all=False, all_namespaces=False, selector="", field_selector="")


async def run(invocation: Invocation) -> int:
    check_output(invocation)
    if invocation.options.type not in _TYPES:
        raise CommandError(
            f'--type must be one of [json merge strategic], not "{invocation.options.type}"'
        )
    patch = _patch(invocation)
    check_choice(invocation, invocation.options.words)
    check_subresource(invocation.options)
    failures = Failures()
    async for resolved in select_objects(
        invocation, invocation.options.words, failures, invocation.options.subresource
    ):
        try:
            patched = await _patched(invocation, resolved, patch)
        except (CommandFailed, *EXPECTED) as error:
            failures.add(error)
        else:
            word = (
                "patched (no change)"
                if _is_same(invocation, resolved.value, patched)
                else "patched"
            )
            show_result(invocation, resolved.resource.type, patched, word, note(invocation.options))
    return failures.finish()


def _patch(invocation: Invocation) -> Any:
    """The parsed patch; raises CommandError."""
    options = invocation.options
    if options.patch and options.patch_file:
        raise CommandError("--patch and --patch-file are two patches: give one of them")
    if not options.patch and not options.patch_file:
        raise CommandError("a patch is needed: --patch or --patch-file")
    text = options.patch
    if options.patch_file:
        try:
            text = Path(options.patch_file).read_text()
        except (OSError, UnicodeDecodeError) as error:
            why = getattr(error, "strerror", None) or str(error)
            raise CommandError(
                f"unable to read patch file: open {options.patch_file}: {why.lower()}"
            ) from None
    try:
        values = [value for value in documents(text, "") if value is not None]
    except ManifestError as error:
        why = str(error).partition("YAML to JSON: ")[2]
        raise CommandError(f'unable to parse "{text}": {why}') from None
    if len(values) != 1:
        raise CommandError(f'unable to parse "{text}": one patch is needed')
    return values[0]


async def _patched(invocation: Invocation, resolved: ResolvedObject, patch: Any) -> Object:
    if dry_run(invocation.options) == "client":
        return await patched_here(
            invocation, resolved.resource.type, resolved.value, patch, invocation.options.type
        )
    type = _TYPES[invocation.options.type]
    try:
        return await resolved.resource.patch(
            resolved.name,
            patch,
            resolved.namespace,
            type=type,
            subresource=invocation.options.subresource,
            **write_query(invocation.options),
        )
    except ApiError as error:
        if error.code != 415:
            raise
        what = f"{resolved.resource.type.api_version}, Kind={resolved.resource.type.kind}"
        raise CommandError(f"{type} is not supported by {what}: {error.message}") from None


def _is_same(invocation: Invocation, before: Object, after: Object) -> bool:
    """Whether the patch changed nothing. Compares version and content: a patch that deletes the
    object (by removing its last finalizer) keeps its version, and a patch may change only
    managedFields."""
    version = before["metadata"].get("resourceVersion")
    stays = dry_run(invocation.options) != "none" or version == after["metadata"].get(
        "resourceVersion"
    )
    return stays and same_content(before, after)
