"""Creates one object from files or flags."""

from __future__ import annotations

from fairlead.cli.apply.last_applied import annotation_of, recorded
from fairlead.cli.create.form import Object
from fairlead.cli.invocation import Invocation
from fairlead.cli.manifests import Manifest
from fairlead.cli.output.formats import show_result
from fairlead.cli.resolution import ResolvedObject, Resolver
from fairlead.cli.write_options import dry_run, note


async def create_one(
    invocation: Invocation, resolved: ResolvedObject, query: dict[str, str], done: str = "created"
) -> Object:
    """Create the object and print what was done; returns it as it is now."""
    prepared = await _prepared(invocation, resolved.value)
    if dry_run(invocation.options) != "client":
        prepared = await resolved.resource.create(prepared, resolved.namespace, **query)
    show_result(invocation, resolved.resource.type, prepared, done, note(invocation.options))
    return prepared


async def _prepared(invocation: Invocation, value: Object) -> Object:
    if not invocation.options.save_config:
        return value
    return recorded(value, annotation_of(await invocation.client.discovery.dialect()))


async def resolve_form(invocation: Invocation, value: Object) -> ResolvedObject:
    """Resolve an object that flags describe. A client dry run shows its namespace only if -n was
    given."""
    resolved = await Resolver(invocation).of(Manifest(value, ""))
    if (
        resolved.namespace
        and not invocation.options.namespace
        and dry_run(invocation.options) == "client"
    ):
        del resolved.value["metadata"]["namespace"]
    return resolved
