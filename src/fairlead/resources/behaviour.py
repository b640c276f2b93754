"""The hooks by which a kind differs from the generic behaviour, and the context that they get.

Every hook has a default. Objects are plain dicts in the stored version, without kind and
apiVersion. Hooks change `value` in place; `old` is never changed.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import Any, Protocol

from fairlead.base.dialect import Dialect
from fairlead.base.errors import ResourceRef
from fairlead.codec.types.decode import zero
from fairlead.codec.types.model import Object as Object
from fairlead.codec.types.model import Presence
from fairlead.codec.types.names import dns_subdomain
from fairlead.resources.causes import Causes
from fairlead.resources.gates import Gates
from fairlead.resources.metadata import NameRule, check_metadata, check_metadata_update
from fairlead.resources.registry import Resource
from fairlead.storage.backend import Precondition
from fairlead.storage.writes import Companion


class Behaviour:
    """The behaviour of one kind.

    `name_rule` is the syntax of names. `error_group` is the group in error messages if it differs
    from the served group. `qualified_finalizers`: finalizers need a domain. `claims_values`: the
    server allocates values to objects that must be unique, such as addresses and ports.
    """

    name_rule: NameRule = staticmethod(dns_subdomain)
    error_group: str | None = None
    qualified_finalizers = True
    claims_values = False

    def __init__(self, resource: Resource) -> None:
        self.resource = resource

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
        """Check the rules that apply to every object of the kind, besides those of metadata."""

    def check_change(self, value: Object, old: Object, causes: Causes, context: Context) -> None:
        """Check which changes from the old object are allowed."""

    def warnings(self, value: Object, old: Object | None, context: Context) -> None:
        """Report remarks on an accepted object to the client, with `context.warn`."""

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


# The context of a write

MAX_WARNINGS = 200  # more do not fit into the headers of a response

# Reads an object of another resource (key in our tables, namespace, name) from the cache.
Lookup = Callable[[str, str, str], dict[str, Any] | None]


class Allocators(Protocol):
    """Allocates addresses and ports to services; `reserve` returns the allocators' own
    Reservation."""

    @property
    def families(self) -> tuple[str, ...]: ...

    def reserve(self, *, dry_run: bool = False) -> Any: ...

    def claims(self, reservation: Any) -> list[Companion]: ...


class Context:
    """The state of one write.

    `group_version` is the version that the client uses, as our tables name it (`events/v1`). `warn`
    adds a Warning header to the response. Hooks that reserve something append its release to
    `undo`; the caller that finds that the write will not happen calls `roll_back`. `requires` holds
    the preconditions of the admission decision: if one fails at commit, admission runs again.
    `alongside` holds changes of other objects that admission wants in the same commit, `claims` the
    reservations in the store. `annotations` go to the audit log.
    """

    def __init__(
        self,
        dialect: Dialect,
        gates: Gates,
        lookup: Lookup,
        namespace: str = "",
        subresource: str = "",
        user_name: str = "",
        dry_run: bool = False,
        warnings: list[str] | None = None,
        group_version: str = "",
        allocators: Allocators | None = None,
        annotations: dict[str, str] | None = None,
        user: Any = None,
        deadline: float = inf,
    ) -> None:
        # Not a dataclass: one is made for every write, and a dataclass takes three times as long.
        self.dialect = dialect
        self.gates = gates
        self.lookup = lookup
        self.namespace = namespace
        self.subresource = subresource
        self.user_name = user_name
        self.dry_run = dry_run
        self.warnings: list[str] = [] if warnings is None else warnings
        self.group_version = group_version
        self.allocators = allocators
        self.annotations: dict[str, str] = {} if annotations is None else annotations
        self.user = (
            user  # fairlead.auth.authentication.user.User, for kinds that record the requester
        )
        self.deadline = deadline  # of the request, in the time of the event loop
        self.undo: list[Callable[[], None]] = []
        self.requires: list[Precondition] = []
        self.alongside: list[Companion] = []
        self.claims: list[Companion] = []

    def warn(self, text: str) -> None:
        if len(self.warnings) < MAX_WARNINGS and text not in self.warnings:
            self.warnings.append(text)

    def reset_admission(self) -> None:
        """Drop preconditions and companions, because admission runs again."""
        self.requires.clear()
        self.alongside.clear()

    def roll_back(self) -> None:
        """Release all reservations; a second call does nothing. Must not be called while the write
        is in progress: it may still be committed."""
        while self.undo:
            self.undo.pop()()
