"""`owners`: shows which manager owns each field of an object."""

from __future__ import annotations

from fairlead.base.terminal import printable
from fairlead.cli.arguments import ArgumentReader
from fairlead.cli.errors import CommandFailed, UsageError
from fairlead.cli.file_flags import add_file_flags
from fairlead.cli.invocation import Invocation
from fairlead.cli.manifests import Manifest, manifests
from fairlead.cli.output import documents
from fairlead.cli.output.documents import masked
from fairlead.cli.ownership.document import document
from fairlead.cli.ownership.fields import Field, field_tree
from fairlead.cli.ownership.managers import Manager, managers_of
from fairlead.cli.ownership.picture import Drawing
from fairlead.cli.ownership.plan import Plan, plan_of, planned_tree
from fairlead.cli.ownership.rows import FieldFilter, rows_of
from fairlead.cli.targets import ObjectReference, parse_object_reference

_NOTHING = "error: no objects passed to owners"


def add_flags(parser: ArgumentReader) -> None:
    parser.add_argument("words", metavar="KIND NAME", nargs="*")
    parser.add_argument("--manager", metavar="NAME", help="only the fields of this manager")
    add_file_flags(parser, "try to apply, without changing anything")
    parser.add_argument(
        "--field-manager",
        metavar="NAME",
        default="fairlead",
        help="field manager that would apply the file",
    )
    parser.add_switch("--show-secrets", help="show the values of Secrets")
    parser.add_argument("-o", "--output", metavar="FORMAT", default="", help="json")


async def run(invocation: Invocation) -> int:
    if invocation.options.output not in ("", "json"):
        raise UsageError(f"unknown output format {invocation.options.output!r}, it must be json")
    if invocation.options.filename:
        return await _run_plans(invocation)
    reference = await parse_object_reference(invocation, invocation.options.words)
    live = await reference.resource.get(reference.name, reference.namespace)
    managers = managers_of(live)
    value = live if invocation.options.show_secrets else masked(live)
    tree = field_tree(value, managers)
    if invocation.options.output:
        selects = _field_filter(invocation, reference, managers)
        invocation.screen.print(
            documents.as_json(document(reference, managers, tree, selects=selects))
        )
    else:
        _show(invocation, reference, managers, tree)
    return 0


async def _run_plans(invocation: Invocation) -> int:
    if invocation.options.manager:
        raise UsageError("--manager and -f cannot be used together")
    listed = manifests(invocation.options.filename, invocation.options.recursive)
    selects = (
        await parse_object_reference(invocation, invocation.options.words)
        if invocation.options.words
        else None
    )
    plans = [(await _named_by(invocation, manifest), manifest.value) for manifest in listed]
    if selects is not None:
        plans = [plan for plan in plans if _same(plan[0], selects)]
    if not plans:
        raise CommandFailed(f"error: {selects.title} is not in the file" if selects else _NOTHING)
    conflicts, written = 0, []
    for index, (reference, value) in enumerate(plans):
        plan = await plan_of(
            reference.resource, value, reference.namespace, invocation.options.field_manager
        )
        tree, managers = planned_tree(plan, invocation.options.show_secrets)
        conflicts += len(plan.conflicts)
        if invocation.options.output:
            written.append(document(reference, managers, tree, plan))
        else:
            if index:
                invocation.screen.print()
            _show(invocation, reference, managers, tree, plan)
    if written:
        invocation.screen.print(documents.as_json(written if len(written) > 1 else written[0]))
    return 1 if conflicts else 0


async def _named_by(invocation: Invocation, manifest: Manifest) -> ObjectReference:
    """The object of a manifest, in the namespace of the manifest or the current one."""
    resource = await invocation.client.resource_of(manifest.value)
    metadata = manifest.value.get("metadata") or {}
    name = metadata.get("name")
    if not isinstance(name, str) or not name:
        raise CommandFailed(f"error: {manifest.origin}: an object to apply must have a name")
    namespace = (
        str(metadata.get("namespace") or invocation.namespace) if resource.type.namespaced else ""
    )
    if invocation.options.namespace and namespace not in ("", invocation.options.namespace):
        raise CommandFailed(
            f"error: the file says namespace {namespace} and -n {invocation.options.namespace}:"
            f" leave out -n, or give -n {namespace}"
        )
    return ObjectReference(resource, name, namespace)


def _same(first: ObjectReference, other: ObjectReference) -> bool:
    """Whether both are the same object, regardless of the API version."""
    return (first.resource.type.group, first.resource.type.kind, first.name, first.namespace) == (
        other.resource.type.group,
        other.resource.type.kind,
        other.name,
        other.namespace,
    )


def _show(
    invocation: Invocation,
    reference: ObjectReference,
    managers: list[Manager],
    tree: Field,
    plan: Plan | None = None,
) -> None:
    selects = _field_filter(invocation, reference, managers)
    drawing = Drawing(invocation.screen, managers)
    invocation.screen.print(f"{reference.title} ({reference.resource.type.api_version})")
    if plan is not None:
        invocation.screen.print(_outcome(plan, invocation.options.field_manager))
    invocation.screen.print(f"\n{drawing.legend()}\n")
    planner = invocation.options.field_manager if plan is not None else ""
    invocation.screen.print(drawing.fields(rows_of(tree, selects), planner))


def _field_filter(
    invocation: Invocation, reference: ObjectReference, managers: list[Manager]
) -> FieldFilter | None:
    """The filter of `--manager`; raises CommandFailed if the manager owns no fields."""
    only = invocation.options.manager
    if not only:
        return None
    if all(manager.name != only for manager in managers):
        names = printable(", ".join(sorted({manager.name for manager in managers}))) or "none"
        raise CommandFailed(
            f'error: "{only}" manages no fields of {reference.title} (managers: {names})'
        )
    return lambda field: any(owner.name == only for owner in field.owners)


def _outcome(plan: Plan, manager: str) -> str:
    if plan.live is None:
        return f"An apply as {manager} would create it."
    if not plan.conflicts:
        return f"An apply as {manager} has no conflicts."
    fields = "1 field" if len(plan.conflicts) == 1 else f"{len(plan.conflicts)} fields"
    others = sorted({name for names in plan.conflicts.values() for name in names})
    return f"An apply as {manager} conflicts in {fields} with {printable(', '.join(others))}."
