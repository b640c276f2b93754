"""`taint`: adds, changes and removes taints of nodes."""

from __future__ import annotations

from typing import Any, NamedTuple

from fairlead.cli.arguments import ArgumentReader
from fairlead.cli.errors import CommandError, CommandFailed
from fairlead.cli.invocation import Invocation
from fairlead.cli.nodes.selection import add_node_flags, nodes_of
from fairlead.cli.output.formats import add_output_flag, check_output, show_result
from fairlead.cli.write_options import (
    EXPECTED,
    Failures,
    add_dry_run_flag,
    add_manager_flag,
    add_validation_flag,
    dry_run,
    note,
    write_query,
)
from fairlead.client import Resource
from fairlead.client.errors import Conflict
from fairlead.client.resources import MERGE_PATCH
from fairlead.codec.types.names import label_value, qualified_name

_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_KINDS = ("node", "nodes", "no")
_MAX_TRIES = 10
Object = dict[str, Any]


class _Changes(NamedTuple):
    """Taints to set, and keys with effects to remove; an empty effect is any."""

    set: list[Object]
    removed: list[tuple[str, str]]


def add_flags(parser: ArgumentReader) -> None:
    add_node_flags(parser, "nodes [NAME...] KEY=VALUE:EFFECT... KEY:EFFECT-... KEY-...")
    parser.add_switch("--all", help="all nodes")
    parser.add_switch("--overwrite", help="change the values of taints that are there")
    add_output_flag(parser)
    add_dry_run_flag(parser)
    add_validation_flag(parser)
    add_manager_flag(parser, "fairlead-taint")
    parser.epilog = f"Effects are {', '.join(_EFFECTS)}."


async def run(invocation: Invocation) -> int:
    options = invocation.options
    check_output(invocation)
    words = options.words
    if words and words[0] in _KINDS:
        words = words[1:]
    elif not words or not words[0].startswith(tuple(f"{kind}/" for kind in _KINDS)):
        raise CommandError("taints are of nodes: fairlead taint nodes NAME KEY=VALUE:EFFECT")
    names = [word for word in words if not _is_change(word)]
    changes = _parsed([word for word in words if _is_change(word)])
    if options.selector and options.all:
        raise CommandError("--all and a selector contradict each other: give one of them")
    failures = Failures()
    resource, nodes = await nodes_of(invocation, names, failures, options.all)
    for node in nodes:
        try:
            value, word = await _tainted(invocation, resource, node, changes)
        except (CommandFailed, *EXPECTED) as error:
            failures.add(error)
        else:
            show_result(invocation, resource.type, value, word, note(options))
    return failures.finish()


def _is_change(word: str) -> bool:
    return "=" in word or ":" in word or word.endswith("-")


def _parsed(words: list[str]) -> _Changes:
    """Raises CommandError."""
    changes = _Changes([], [])
    seen: set[tuple[str, str]] = set()
    for word in words:
        removes = word.endswith("-")
        rest, _, effect = word.removesuffix("-").partition(":")
        key, _, value = rest.partition("=")
        if qualified_name(key) or label_value(value):
            raise CommandError(f"{word} is no taint: KEY=VALUE:EFFECT, or KEY- to remove")
        if effect not in (*_EFFECTS, *([""] if removes else [])):
            raise CommandError(f"{word}: an effect is {', '.join(_EFFECTS)}")
        if (key, effect) in seen:
            raise CommandError(f"{key}:{effect} is given twice")
        seen.add((key, effect))
        if removes:
            changes.removed.append((key, effect))
        else:
            changes.set.append(
                {"key": key, **({"value": value} if value else {}), "effect": effect}
            )
    if not seen:
        raise CommandError("say which taint: KEY=VALUE:EFFECT, or KEY- to remove")
    if {(taint["key"], taint["effect"]) for taint in changes.set} & set(changes.removed):
        raise CommandError("a taint is both set and removed")
    return changes


async def _tainted(
    invocation: Invocation, resource: Resource, node: Object, changes: _Changes
) -> tuple[Object, str]:
    """Change the taints of a node; after a conflict with another writer, again."""
    name = node["metadata"]["name"]
    for attempt in range(_MAX_TRIES):
        present = list((node.get("spec") or {}).get("taints") or ())
        taints, word = _merged(name, present, changes, invocation.options.overwrite)
        if dry_run(invocation.options) == "client":
            node = {**node, "apiVersion": "v1", "kind": "Node"}
            return {**node, "spec": {**(node.get("spec") or {}), "taints": taints}}, word
        version = {"resourceVersion": node["metadata"]["resourceVersion"]}
        patch = {"metadata": version, "spec": {"taints": taints or None}}
        try:
            query = write_query(invocation.options)
            return await resource.patch(name, patch, type=MERGE_PATCH, **query), word
        except Conflict:
            if attempt + 1 == _MAX_TRIES:
                raise
            node = await resource.get(name)
    raise AssertionError  # the loop returns or raises


def _merged(
    name: str, present: list[Object], changes: _Changes, overwrites: bool
) -> tuple[list[Object], str]:
    """The taints afterwards, and what was done; raises CommandError."""
    by_key = {(taint["key"], taint["effect"]): taint for taint in present}
    missing = [
        f"{key}:{effect}" if effect else key
        for key, effect in changes.removed
        if not any(key == own and effect in ("", its) for own, its in by_key)
    ]
    if missing:
        raise CommandError(f"node {name} has no taint {', '.join(missing)}")
    set_keys = {(taint["key"], taint["effect"]) for taint in changes.set}
    there = sorted(f"{key}:{effect}" for key, effect in set_keys & by_key.keys())
    if there and not overwrites:
        raise CommandError(f"node {name} has {', '.join(there)} already; --overwrite replaces it")
    kept = [
        taint
        for taint in present
        if (taint["key"], taint["effect"]) not in set_keys
        and (taint["key"], "") not in changes.removed
        and (taint["key"], taint["effect"]) not in changes.removed
    ]
    word = "modified" if there else "tainted" if changes.set else "untainted"
    return [*changes.set, *kept], word
