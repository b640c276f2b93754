"""`set env`: sets, removes and lists the environment variables of containers."""

from __future__ import annotations

import re
import sys

from fairlead.base.terminal import printable
from fairlead.cli.arguments import ArgumentReader
from fairlead.cli.errors import CommandError
from fairlead.cli.invocation import Invocation
from fairlead.cli.resolution import ResolvedObject
from fairlead.cli.selection import check_choice, select_objects
from fairlead.cli.targets import targets_of
from fairlead.cli.templates.patches import (
    Object,
    add_change_flags,
    add_container_flag,
    change_selected,
    container_patch,
    containers,
    pod_patch,
    pod_spec,
    title,
)
from fairlead.cli.templates.sources import REFERENCES, Sources
from fairlead.cli.write_options import Failures
from fairlead.client import ApiError

_NAME = re.compile(r"[-._a-zA-Z][-._a-zA-Z0-9]*")
_UNFIT = re.compile(r"[^-._a-zA-Z0-9]")


def add_flags(parser: ArgumentReader) -> None:
    add_change_flags(parser, "set", "KIND [NAME...] KEY=VALUE... KEY-...")
    add_container_flag(parser)
    parser.add_argument(
        "-e",
        "--env",
        metavar="KEY=VALUE",
        action="append",
        default=[],
        help="a variable; can be repeated",
    )
    parser.add_argument(
        "--from",
        dest="source",
        metavar="KIND/NAME",
        default="",
        help="take variables from a ConfigMap or Secret",
    )
    parser.add_argument(
        "--keys", metavar="KEYS", default="", help="with --from, only these keys, with commas"
    )
    parser.add_argument(
        "--prefix", metavar="TEXT", default="", help="with --from, before the names of variables"
    )
    parser.add_switch("--overwrite", default=True, help="change variables that are there")
    parser.add_switch("--list", help="print the variables and change nothing")
    parser.add_switch("--resolve", help="with --list, print the values from ConfigMaps and Secrets")


async def run(invocation: Invocation) -> int:
    options = invocation.options
    changes = [word for word in options.words if _is_change(word)]
    words = [word for word in options.words if not _is_change(word)]
    wanted = await _sourced(invocation)
    removed: list[str] = []
    for word in (*_from_input(changes), *options.env):
        key, sign, value = word.partition("=")
        if sign:
            wanted[_checked(key)] = {"name": key, "value": value}
        else:
            removed.append(word.removesuffix("-"))
    if options.list:
        return await _list(invocation, words)
    if not wanted and not removed:
        raise CommandError("say what to set: KEY=VALUE, KEY- to remove, --from or --list")
    if wanted.keys() & set(removed):
        raise CommandError("a variable is both set and removed")

    def change(resolved: ResolvedObject) -> Object:
        found = containers(pod_spec(resolved), options.containers)
        if not found:
            raise CommandError(f"{title(resolved)} has no container {options.containers}")
        changed = []
        for name, container in found:
            env = _changes(container, wanted, removed)
            present = {entry.get("name") for entry in container.get("env") or ()}
            kept = [entry["name"] for entry in env if entry["name"] in present & wanted.keys()]
            if kept and not options.overwrite:
                raise CommandError(
                    f"{title(resolved)}: {', '.join(kept)} is set already, and --overwrite=false"
                )
            if env:
                order = _order(container, wanted, removed)
                env.sort(key=lambda entry: _place(order, entry))
                patch = {"name": container["name"], "env": env, "$setElementOrder/env": order}
                changed.append((name, patch))
        return pod_patch(resolved, container_patch(changed))

    return await change_selected(invocation, words, change, "env")


def _is_change(word: str) -> bool:
    return "=" in word or word.endswith("-")


def _from_input(changes: list[str]) -> list[str]:
    """The changes, with the lines of standard input in place of `-`."""
    lines: list[str] = []
    for change in changes:
        if change == "-":
            given = [line.strip() for line in sys.stdin.read().splitlines()]
            lines += [line for line in given if "=" in line and not line.startswith("#")]
        else:
            lines.append(change)
    return lines


def _checked(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise CommandError(f"{name!r} cannot be the name of a variable")
    return name


def _changes(container: Object, wanted: dict[str, Object], removed: list[str]) -> list[Object]:
    """The patch of the variables of a container."""
    present = {entry.get("name"): entry for entry in container.get("env") or ()}
    changed: list[Object] = []
    for name, entry in wanted.items():
        if present.get(name) != entry:
            # What is not given is removed: a value, or the place it is from.
            cleared = dict.fromkeys(set(present.get(name, ())) - set(entry))
            changed.append({**entry, **cleared})
    return changed + [{"name": name, "$patch": "delete"} for name in removed if name in present]


def _order(container: Object, wanted: dict[str, Object], removed: list[str]) -> list[Object]:
    """The variables as they shall stand: new ones at the end, as they may refer to others."""
    present = [entry.get("name") for entry in container.get("env") or ()]
    names = dict.fromkeys(name for name in (*present, *wanted) if name not in removed)
    return [{"name": name} for name in names]


def _place(order: list[Object], entry: Object) -> int:
    """The index of a variable; removed ones are last."""
    named = {"name": entry["name"]}
    return order.index(named) if named in order else len(order)


async def _sourced(invocation: Invocation) -> dict[str, Object]:
    """The variables of --from."""
    options = invocation.options
    if not options.source:
        return {}
    targets = await targets_of(invocation.client, [options.source])
    type = targets[0].resource.type
    if type.qualified not in REFERENCES or len(targets[0].names) != 1:
        raise CommandError("--from takes configmap/NAME or secret/NAME")
    name = targets[0].names[0]
    value = await targets[0].resource.get(name, invocation.namespace)
    keys = sorted(value.get("data") or {})
    if options.keys:
        chosen = [key for key in options.keys.split(",") if key]
        missing = [key for key in chosen if key not in keys]
        if missing:
            raise CommandError(f"{type.singular}/{name} has no key {', '.join(missing)}")
        keys = chosen
    variables: dict[str, Object] = {}
    for key in keys:
        variable = f"{options.prefix}{_UNFIT.sub('_', key).upper().replace('-', '_')}"
        variable = variable.replace(".", "_")
        reference = {REFERENCES[type.qualified]: {"name": name, "key": key}}
        variables[_checked(variable)] = {"name": variable, "valueFrom": reference}
    return variables


async def _list(invocation: Invocation, words: list[str]) -> int:
    check_choice(invocation, words)
    failures = Failures()
    async for resolved in select_objects(invocation, words, failures):
        sources = Sources(invocation.client, resolved.namespace)
        heading = f"# {resolved.resource.type.kind} {resolved.name}, container"
        for _, container in containers(pod_spec(resolved), invocation.options.containers):
            invocation.screen.print(f"{heading} {container['name']}")
            for entry in container.get("env") or ():
                if invocation.options.resolve:
                    entry = await _resolved(invocation, sources, entry)
                invocation.screen.print(printable(_line(entry)))
    return failures.finish()


async def _resolved(invocation: Invocation, sources: Sources, entry: Object) -> Object:
    """The variable with the value from its source; unchanged, with a warning, if it is missing."""
    try:
        return await sources.resolved(entry)
    except (ApiError, LookupError) as error:
        why = error.message if isinstance(error, ApiError) else error.args[0]
        invocation.screen.warn(printable(f"error retrieving reference for {entry['name']}: {why}"))
        return entry


def _line(entry: Object) -> str:
    """A variable as a line of a file, or as a comment if its value is elsewhere."""
    name, source = entry["name"], entry.get("valueFrom")
    if not isinstance(source, dict):
        return f"{name}={entry.get('value', '')}"
    form = next(iter(source), "")
    place: Object = source.get(form) or {}
    where = place.get("fieldPath") or place.get("resource") or ""
    if form in REFERENCES.values():
        kind = "configmap" if form == "configMapKeyRef" else "secret"
        where = f"{kind} {place.get('name')}, key {place.get('key')}"
    return f"# {name} from {where or form}"
