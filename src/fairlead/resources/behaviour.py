"""The hooks by which a kind differs from the generic behaviour.

Every hook has a default. Objects are plain dicts in the stored version, without kind and
apiVersion. Hooks change `value` in place; `old` is never changed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, NamedTuple

from fairlead.base.compiled import mypyc_attr
from fairlead.base.errors import ResourceRef
from fairlead.codec.types.decode import zero
from fairlead.codec.types.model import Object as Object
from fairlead.codec.types.model import Presence
from fairlead.codec.types.names import dns_subdomain
from fairlead.resources.causes import Causes
from fairlead.resources.context import Context
from fairlead.resources.gated_fields import NO_FIELDS, DisabledFields
from fairlead.resources.metadata import check_metadata, check_metadata_update
from fairlead.resources.registry import Resource


class Permission(NamedTuple):
    """A permission that the change of a field needs beside that of the request: one of these verbs
    on a subresource. `reason` says so."""

    path: str
    reason: str
    verbs: Sequence[str]
    subresource: str
    namespace: str
    name: str


@mypyc_attr(allow_interpreted_subclasses=True)
class Behaviour:
    """The behaviour of one kind.

    `name_rule` returns the faults of a name. `error_group` is the group in error messages if it
    differs from the served group. `qualified_finalizers`: finalizers need a domain.
    `claims_values`: the server allocates values to objects that must be unique, such as addresses
    and ports.
    """

    error_group: ClassVar[str | None] = None
    qualified_finalizers: ClassVar[bool] = True
    claims_values: ClassVar[bool] = False

    def __init__(self, resource: Resource) -> None:
        self.resource = resource
        self.disabled_fields: DisabledFields = NO_FIELDS

    @staticmethod
    def name_rule(text: str) -> list[str]:
        return dns_subdomain(text)

    def error_ref(self, name: str) -> ResourceRef:
        """The reference to an object in the error that refuses a write."""
        group = self.resource.group if self.error_group is None else self.error_group
        return ResourceRef(group, self.resource.kind, name)

    def fill_defaults(self, value: Object, context: Context) -> None:
        """Set defaults that depend on other fields. Runs after the constant defaults of the
        tables."""

    def prepare_create(self, value: Object, context: Context) -> None:
        """Drop and set the fields that clients may not choose. By default the server owns the
        status."""
        if "status" in self.resource.subresources:
            self.reset_status(value)
        if self.resource.counts_generation:
            value["metadata"]["generation"] = 1

    def prepare_update(self, value: Object, old: Object, context: Context) -> None:
        """Keep the old status, and increment the generation if anything changed besides metadata
        and status."""
        if "status" in self.resource.subresources:
            keep(value, old, "status")
        if self.resource.counts_generation:
            count_generation(value, old)

    def prepare_subresource_update(
        self, subresource: str, value: Object, old: Object, context: Context
    ) -> None:
        """Prepare an update through a subresource whose body is the whole object. By default
        (`status`) only the status and the ordinary metadata are taken from the request."""
        for name in {*value, *old} - {"metadata", subresource}:
            keep(value, old, name)
        keep(value["metadata"], old["metadata"], "generation")

    def reset_status(self, value: Object) -> None:
        field = self.resource.stored_struct.fields.get("status")
        value.pop("status", None)
        if field is not None and field.presence in (Presence.OMITTED, Presence.ALWAYS):
            value["status"] = zero(field.type)

    def renamed(self, value: Object, context: Context) -> None:
        """Runs when a prepared object gets another generated name, because the first one is
        taken."""

    def check_create(self, value: Object, causes: Causes, context: Context) -> None:
        check_metadata(
            value["metadata"],
            self.resource.namespaced,
            self.name_rule,
            causes,
            qualified=self.qualified_finalizers,
        )
        self.check(value, causes, context)

    def check_update(self, value: Object, old: Object, causes: Causes, context: Context) -> None:
        self.check_metadata_change(value, old, causes)
        self.check(value, causes, context)
        self.check_change(value, old, causes, context)

    def check_subresource_update(
        self, subresource: str, value: Object, old: Object, causes: Causes, context: Context
    ) -> None:
        self.check_metadata_change(value, old, causes)

    def permissions(
        self, subresource: str, verb: str, value: Object, old: Object, context: Context
    ) -> Sequence[Permission]:
        """The permissions that an update needs besides that for `verb`. Those that the user does
        not have are in `context.lacking` when the update is checked."""
        return ()

    def check_metadata_change(self, value: Object, old: Object, causes: Causes) -> None:
        check_metadata_update(
            value["metadata"], old["metadata"], causes, qualified=self.qualified_finalizers
        )

    def check(self, value: Object, causes: Causes, context: Context) -> None:
        """Check the rules that apply to every object of the kind, besides those of metadata."""

    def check_change(self, value: Object, old: Object, causes: Causes, context: Context) -> None:
        """Check which changes from the old object are allowed."""

    def warnings(self, value: Object, old: Object | None, context: Context) -> None:
        """Warn the client about an accepted object, with `context.warn`."""

    def normalize(self, value: Object, applied: bool) -> None:
        """Change an accepted object to the form in which reading it from the store returns it.
        `applied`: the object is the result of a server-side apply."""

    def grace_period(self, value: Object, requested: int | None) -> int | None:
        """Seconds between the delete request and the removal; None if the kind has no grace period.
        `requested` is the client's value."""
        return None

    def before_delete(self, name: str, propagation: str, context: Context) -> str:
        """Return why the object cannot be deleted, or an empty string. Runs before the object is
        looked up; for a collection it runs once, with an empty `name`. `propagation` is the
        client's value."""
        return ""

    def holds_back(self, value: Object) -> bool:
        """Whether the kind itself keeps an object that is being deleted, besides the finalizers in
        its metadata."""
        return False

    def prepare_delete(self, value: Object, context: Context) -> None:
        """Runs on the object that is marked for deletion, before it is written."""

    def default_propagation(self, value: Object, context: Context) -> str:
        """How a delete treats dependents if the client does not choose: Foreground, Orphan, or an
        empty string to go by the object's finalizers."""
        return ""


def keep(value: Object, old: Object, name: str) -> None:
    """Restore the old value of a field."""
    if name in old:
        value[name] = old[name]
    else:
        value.pop(name, None)


def count_generation(value: Object, old: Object) -> None:
    keep(value["metadata"], old["metadata"], "generation")
    ignored = ("metadata", "status")
    if any(value.get(name) != old.get(name) for name in {*value, *old} if name not in ignored):
        value["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1
