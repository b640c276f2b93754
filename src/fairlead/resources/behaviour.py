"""What a kind does beyond the generic. Every hook has a default; a kind overrides what it needs.

Objects are plain dicts in the stored version, without kind and apiVersion. Hooks change `value`
in place; `old` is never changed.
"""

from __future__ import annotations

from fairlead.base.errors import ResourceRef
from fairlead.codec.types.decode import zero
from fairlead.codec.types.model import Object as Object
from fairlead.codec.types.model import Presence
from fairlead.codec.types.names import dns_subdomain
from fairlead.resources.causes import Causes
from fairlead.resources.context import Context
from fairlead.resources.metadata import NameRule, check_metadata, check_metadata_update
from fairlead.resources.registry import Resource


class Behaviour:
    """The behaviour of one kind. `name_rule` is the syntax of its names, `error_group` the group
    that errors name where that is not the served one, `qualified_finalizers` tells whether its
    finalizers need a domain, `claims_values` whether objects are given values that no other one
    may have."""

    name_rule: NameRule = staticmethod(dns_subdomain)
    error_group: str | None = None
    qualified_finalizers = True
    claims_values = False

    def __init__(self, resource: Resource) -> None:
        self.resource = resource

    def error_ref(self, name: str) -> ResourceRef:
        """How a refusal names an object of the kind."""
        group = self.resource.group if self.error_group is None else self.error_group
        return ResourceRef(group, self.resource.kind, name)

    def fill_defaults(self, value: Object, context: Context) -> None:
        """Defaults that depend on other fields. Runs after the constant ones of the tables."""

    def prepare_create(self, value: Object, context: Context) -> None:
        """Drop and set what clients may not choose. By default the status is the server's."""
        if "status" in self.resource.subresources:
            self.reset_status(value)
        if self.resource.counts_generation:
            value["metadata"]["generation"] = 1

    def prepare_update(self, value: Object, old: Object, context: Context) -> None:
        """Each side ignores the other's fields: an update keeps the status, and counts a change
        of anything else but metadata."""
        if "status" in self.resource.subresources:
            keep(value, old, "status")
        if self.resource.counts_generation:
            count_generation(value, old)

    def prepare_subresource_update(
        self, subresource: str, value: Object, old: Object, context: Context
    ) -> None:
        """An update through a subresource that takes the whole object. By default (`status`) only
        the status and the metadata that anybody may change are taken over."""
        for name in {*value, *old} - {"metadata", subresource}:
            keep(value, old, name)
        keep(value["metadata"], old["metadata"], "generation")

    def reset_status(self, value: Object) -> None:
        field = self.resource.stored_struct.fields.get("status")
        value.pop("status", None)
        if field is not None and field.presence in (Presence.OMITTED, Presence.ALWAYS):
            value["status"] = zero(field.type)

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

    def check_metadata_change(self, value: Object, old: Object, causes: Causes) -> None:
        check_metadata_update(
            value["metadata"], old["metadata"], causes, qualified=self.qualified_finalizers
        )

    def check(self, value: Object, causes: Causes, context: Context) -> None:
        """The rules that hold of every object of the kind, beyond its metadata."""

    def check_change(self, value: Object, old: Object, causes: Causes, context: Context) -> None:
        """The rules of what may change."""

    def warnings(self, value: Object, old: Object | None, context: Context) -> None:
        """Things worth saying about an object that is accepted; use `context.warn`."""

    def settle(self, value: Object, applied: bool) -> None:
        """What storing makes of an accepted object, where it does not come back as it went in;
        `applied` if it came of a configuration."""

    def grace_period(self, value: Object, wanted: int | None) -> int | None:
        """Seconds between the delete request and the end, or None where a kind knows no grace.
        `wanted` is what the client asked for."""
        return None

    def before_delete(self, name: str, propagation: str, context: Context) -> str:
        """Called before anything is looked for, once for all of a collection (`name` is empty).
        Gives why the object cannot be deleted; nothing if it can. `propagation` is what the client
        asked for."""
        return ""

    def holds_back(self, value: Object) -> bool:
        """Whether something of the kind's own, beyond the finalizers that every object can have,
        keeps an object that is being deleted."""
        return False

    def prepare_delete(self, value: Object, context: Context) -> None:
        """Called on the object that is marked for deletion, before it is written."""

    def default_propagation(self, value: Object, context: Context) -> str:
        """What a delete does with dependents when the client says nothing: Foreground, Orphan or
        (an empty string) what the object's finalizers already say."""
        return ""


def keep(value: Object, old: Object, name: str) -> None:
    """Put back what the old object has under a name."""
    if name in old:
        value[name] = old[name]
    else:
        value.pop(name, None)


def count_generation(value: Object, old: Object) -> None:
    keep(value["metadata"], old["metadata"], "generation")
    ignored = ("metadata", "status")
    if any(value.get(name) != old.get(name) for name in {*value, *old} if name not in ignored):
        value["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1
