"""The behaviour of custom kinds, driven by the schema of their version."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairlead.codec.types.model import Object
from fairlead.fields.values import equal
from fairlead.resources.behaviour import Behaviour, keep
from fairlead.resources.causes import Causes, quote
from fairlead.resources.context import Context
from fairlead.resources.custom.definition import CustomKind
from fairlead.resources.metadata import STANDARD_FINALIZERS

if TYPE_CHECKING:
    from fairlead.resources.custom.resource import CustomResource


class CustomBehaviour(Behaviour):
    """The behaviour of a custom kind. Objects are in the version of the request, not in the stored
    version."""

    qualified_finalizers = False
    resource: CustomResource

    @property
    def _kind(self) -> CustomKind:
        return self.resource.custom

    def prepare_create(self, value: Object, context: Context) -> None:
        if self._kind.has_status:
            value.pop("status", None)
        value["metadata"]["generation"] = 1

    def prepare_update(self, value: Object, old: Object, context: Context) -> None:
        if self._kind.has_status and context.subresource != "scale":
            keep(value, old, "status")
        metadata, old_metadata = value["metadata"], old["metadata"]
        keep(metadata, old_metadata, "generation")
        names = value.keys() - {"metadata"}
        if names != old.keys() - {"metadata"} or not all(
            equal(value[name], old[name]) for name in names
        ):
            metadata["generation"] = old_metadata.get("generation", 0) + 1

    def prepare_subresource_update(
        self, subresource: str, value: Object, old: Object, context: Context
    ) -> None:
        """Take over the status only, without changes of the metadata."""
        for name in {*value, *old} - {subresource}:
            keep(value, old, name)
        value["metadata"] = {**old["metadata"]}

    def normalize(self, value: Object, applied: bool) -> None:
        """Fill in the defaults that reading from the store would: a status that the create dropped
        may have one. Objects of other versions are converted first, see
        `stored_versions.to_storage_version`."""
        if self._kind is self._kind.definition.storage:
            self._kind.compiled.normalize(value, applied=applied)

    def warnings(self, value: Object, old: Object | None, context: Context) -> None:
        """Warn of new finalizers without a domain."""
        if not context.gates["LaterWarnings"] or context.subresource:
            return
        new = set(value["metadata"].get("finalizers") or ())
        new -= set(((old or {}).get("metadata") or {}).get("finalizers") or ())
        for finalizer in sorted(new):
            if "/" in finalizer or finalizer in STANDARD_FINALIZERS:
                continue
            path = " including a path (/)" if "." in finalizer else ""
            context.warn(
                f"metadata.finalizers: {quote(finalizer)}: prefer a domain-qualified finalizer name"
                f"{path} to avoid accidental conflicts with other finalizer writers"
            )

    def check(self, value: Object, causes: Causes, context: Context) -> None:
        self._check(value, None, causes, context)

    def check_update(self, value: Object, old: Object, causes: Causes, context: Context) -> None:
        self.check_metadata_change(value, old, causes)
        self._check(value, old, causes, context)

    def _check(self, value: Object, old: Object | None, causes: Causes, context: Context) -> None:
        kind, schema = self._kind, self._kind.compiled
        correlated = None
        if old is not None and context.gates["CRDValidationRatcheting"]:
            correlated = schema.correlated(value, old)
        schema.validate(value, old, causes, correlated)
        if kind.scale is not None:
            kind.scale.check(value, causes, spec=True)
        schema.check_rules(value, old, causes, correlated, context.warn)

    def check_subresource_update(
        self, subresource: str, value: Object, old: Object, causes: Causes, context: Context
    ) -> None:
        """Validate the whole object, because the new schema may reject fields outside of the
        status; with ratcheting these did not change, so that only the status counts."""
        self.check_metadata_change(value, old, causes)
        kind, schema = self._kind, self._kind.compiled
        correlated = None
        if context.gates["CRDValidationRatcheting"]:
            correlated = schema.correlated(value, old)
            schema.validate_status(value, old, causes, correlated)
        else:
            schema.validate(value, old, causes)
        if kind.scale is not None:
            kind.scale.check(value, causes, spec=False)
        schema.check_rules(value, old, causes, correlated, context.warn)
