"""Selects the objects of a command: by name, by selector, all of a kind, or from files."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Any, NamedTuple

from fairlead.cli.arguments import ArgumentReader
from fairlead.cli.errors import CommandError, CommandFailed
from fairlead.cli.file_flags import add_file_flags
from fairlead.cli.invocation import Invocation
from fairlead.cli.local_objects import is_local, local_objects
from fairlead.cli.manifests import manifests
from fairlead.cli.resolution import ResolvedObject, Resolver, require_name
from fairlead.cli.targets import Target, targets_of
from fairlead.cli.write_options import EXPECTED, Failures
from fairlead.client import Resource
from fairlead.client.resources import Object
from fairlead.storage import selection

_NOTHING = """\
nothing is named. Say which objects are meant, in one of these ways:
   configmap settings
   configmap/settings secret/keys
   configmaps -l app=web
   -f FILE"""
_OPERATORS = {"in": "In", "notin": "NotIn", "exists": "Exists", "!": "DoesNotExist"}


class SelectedObject(NamedTuple):
    """A selected object. `value` is set if selecting it already read it (from a list)."""

    resource: Resource
    name: str
    namespace: str
    origin: str = ""
    value: Object | None = None


def add_selection_flags(parser: ArgumentReader, what: str) -> None:
    add_file_flags(parser, what)
    parser.add_label_selector()
    parser.add_argument(
        "--field-selector",
        metavar="FIELDS",
        default="",
        help="only objects that match this field selector",
    )
    parser.add_switch("--all", help="all objects of the kind")
    parser.add_switch("-A", "--all-namespaces", help="objects of all namespaces")


def check_choice(invocation: Invocation, words: Sequence[str], nothing: str = _NOTHING) -> None:
    """Raises CommandError if words and flags contradict each other, and with the text `nothing` if
    no object is given."""
    options = invocation.options
    if options.all and (options.selector or options.field_selector):
        raise CommandError("--all and a selector contradict each other: give one of them")
    if options.filename and words:
        raise CommandError("objects are given both by files (-f) and by name: use one of them")
    if not options.filename and not words:
        raise CommandError(nothing)


def uses_selector(invocation: Invocation) -> bool:
    """Whether flags (--all or a selector) select the objects instead of names."""
    return bool(
        invocation.options.all or invocation.options.selector or invocation.options.field_selector
    )


async def select(
    invocation: Invocation, words: Sequence[str], failures: Failures
) -> AsyncIterator[SelectedObject]:
    """Yield the selected objects one by one. Objects of files whose resource or name is missing are
    added to `failures`."""
    if not invocation.options.filename:
        for target in await targets_of(invocation.client, words):
            async for selected in _of_target(invocation, target):
                yield selected
        return
    resolver = Resolver(invocation)
    for manifest in manifests(invocation.options.filename, invocation.options.recursive):
        try:
            resolved = await resolver.of(manifest)
            name = require_name(resolved)
        except CommandFailed as error:
            failures.add(error)
            continue
        yield SelectedObject(resolved.resource, name, resolved.namespace, manifest.origin)


async def _of_target(invocation: Invocation, target: Target) -> AsyncIterator[SelectedObject]:
    options, resource = invocation.options, target.resource
    namespace = invocation.namespace if resource.type.namespaced else ""
    if target.names:
        if uses_selector(invocation):
            raise CommandError("names and a selector contradict each other: give one of them")
        if options.all_namespaces and resource.type.namespaced:
            raise CommandError("a name cannot be used with -A: leave out one of them")
        if not all(target.names):
            raise CommandError("the name is empty")
        for name in target.names:
            yield SelectedObject(resource, name, namespace)
        return
    if not uses_selector(invocation):
        raise CommandError("name the objects, or give --all or a selector")
    query = {"labelSelector": options.selector, "fieldSelector": options.field_selector}
    async for page in resource.pages(
        "" if options.all_namespaces else namespace,
        **{key: value for key, value in query.items() if value},
    ):
        for item in page.get("items") or ():
            metadata = item["metadata"]
            # Items of a list have no apiVersion and kind.
            value = {"apiVersion": resource.type.api_version, "kind": resource.type.kind, **item}
            yield SelectedObject(
                resource, metadata["name"], metadata.get("namespace", ""), "", value
            )


async def select_objects(
    invocation: Invocation, words: Sequence[str], failures: Failures, subresource: str = ""
) -> AsyncIterator[ResolvedObject]:
    """Yield the selected objects with their current value. Objects that cannot be read are added to
    `failures`."""
    if is_local(invocation):
        async for local in local_objects(invocation):
            yield local
        return
    async for resolved in select(invocation, words, failures):
        value = None if subresource else resolved.value
        if value is None:
            try:
                value = await resolved.resource.get(
                    resolved.name, resolved.namespace, subresource=subresource
                )
            except EXPECTED as error:
                failures.add(error)
                continue
        yield ResolvedObject(resolved.resource, value, resolved.namespace, resolved.origin)


def _requirements(text: str) -> tuple[Any, ...]:
    try:
        return selection.parse_labels(text)
    except selection.SelectorError as error:
        raise CommandError(f"unable to parse requirement: {error}") from None


def by_labels(text: str) -> Callable[[Mapping[str, Any]], bool]:
    """A predicate for objects whose labels match the selector; raises CommandError."""
    rules = _requirements(text)

    def matches(value: Mapping[str, Any]) -> bool:
        labels = (value.get("metadata") or {}).get("labels") or {}
        return all(rule.matches(labels) for rule in rules)

    return matches


def as_object(text: str) -> dict[str, Any]:
    """The selector as a LabelSelector object (matchLabels, matchExpressions); raises
    CommandError."""
    labels: dict[str, str] = {}
    expressions: list[dict[str, Any]] = []
    for rule in _requirements(text):
        if rule.operator not in _OPERATORS:
            raise CommandError(f'a selector has no operator "{rule.operator}"')
        if rule.operator == "in" and len(rule.values) == 1 and rule.key not in labels:
            labels[rule.key] = next(iter(rule.values))
        else:
            expression = {"key": rule.key, "operator": _OPERATORS[rule.operator]}
            expressions.append(
                {**expression, "values": sorted(rule.values)} if rule.values else expression
            )
    selector: dict[str, Any] = {"matchLabels": labels} if labels else {}
    return {**selector, "matchExpressions": expressions} if expressions else selector
