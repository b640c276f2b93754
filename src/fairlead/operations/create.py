"""Creating an object."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Sequence
from functools import partial
from typing import Final

from fairlead.admission.plugin import CREATE, Attributes
from fairlead.base.deferred import Outcome
from fairlead.base.errors import StatusError, bad_request, verb_not_supported
from fairlead.operations import retries, write_pipeline
from fairlead.operations.api import Api, Object
from fairlead.operations.managed_fields import set_entries, tracked
from fairlead.operations.operation import Operation
from fairlead.operations.options import WriteOptions
from fairlead.operations.stored_versions import is_storage_version
from fairlead.operations.write import Step, Write, run
from fairlead.resources.core.services.claims import is_claimed
from fairlead.resources.registry import Resource
from fairlead.storage.backend import ConditionFailed, Conflict
from fairlead.storage.version import Version

_VERSION: Final = re.compile("[0-9]{1,18}")


def create(
    api: Api,
    operation: Operation,
    value: Object,
    options: WriteOptions,
    entries: list[Object] | None = None,
) -> Outcome[Version]:
    """Run a new object, in the stored version, through defaulting, admission and validation, and
    store it. `entries` are its managedFields if the caller has computed them already."""
    if api.behaviour(operation.resource).claims_values:
        attempt = partial(_create, api, operation, options, entries)
        return retries.create_claiming(attempt, operation, value)
    return _create(api, operation, options, entries, value)


def _create(
    api: Api,
    operation: Operation,
    options: WriteOptions,
    entries: list[Object] | None,
    value: Object,
) -> Outcome[Version]:
    return run(Create(api, operation, value, options, entries))


class Create(Write):
    """The steps of a create. `value` is the object in its present state."""

    def __init__(
        self,
        api: Api,
        operation: Operation,
        value: Object,
        options: WriteOptions,
        entries: list[Object] | None,
    ) -> None:
        super().__init__(api, operation, options)
        self.value = value
        self.stored = value  # in the storage version
        self.entries = entries
        self.key = ""
        self.is_generated = False  # the name
        self._revision = 0  # the resourceVersion in the object, which only a dry run may have
        self._attributes: Attributes | None = None

    @property
    def steps(self) -> Sequence[Step]:
        return _STEPS

    def failed(self, error: BaseException) -> Awaitable[object] | None:
        if isinstance(error, Conflict):
            return retries.store_again(self, error)
        if isinstance(error, ConditionFailed) and not is_claimed(error):
            return retries.store_again(self, error)
        return super().failed(error)

    def start(self) -> None:
        """Drop what a client cannot set."""
        resource, operation, metadata = self.resource, self.operation, self.value["metadata"]
        if resource.custom is not None and resource.custom.definition.terminating:
            raise _ending(resource)
        write_pipeline.set_namespace(operation, metadata)
        if operation.refusal is not None:
            raise operation.refusal
        version: str = metadata.pop("resourceVersion", None) or ""
        write_pipeline.drop_deletion(metadata)
        write_pipeline.drop_repeated_owners(operation, metadata)
        self._revision = int(version) if version and _VERSION.fullmatch(version) else 0
        self.size = operation.size

    def fill(self) -> Awaitable[object] | None:
        return self.offload(self._fill)

    def _fill(self) -> None:
        """Fill in defaults and managedFields."""
        api, resource, value = self.api, self.resource, self.value
        write_pipeline.set_defaults(api, resource, value, self.context)
        write_pipeline.check_grown(self.operation, value)
        if self.entries is None:
            self.entries = tracked(api, resource, None, value, self.options)
        set_entries(value["metadata"], self.entries)

    @property
    def attributes(self) -> Attributes:
        """The write as admission sees it."""
        attributes = self._attributes
        if attributes is None:
            name = self.value["metadata"].get("name", "")
            attributes = self._attributes = write_pipeline.attributes(
                self.operation, CREATE, self.value, None, self.context, name, self.options
            )
        return attributes

    def admit(self) -> Awaitable[object] | None:
        return self.api.admission.admit(self.attributes)

    def complete(self) -> None:
        """Set what only the server sets. The name is generated after mutating admission, so plugins
        and webhooks see that it is missing."""
        attributes, value, behaviour = self.attributes, self.value, self.behaviour
        if attributes.round:
            write_pipeline.recheck_admitted(self.operation, value, self.entries or [])
        metadata = value["metadata"]
        if not metadata.get("name") and metadata.get("generateName"):
            self.is_generated = True
            metadata["name"] = write_pipeline.generate_name(metadata["generateName"])
        attributes.name = metadata.get("name", "")
        write_pipeline.set_system_fields(metadata)
        behaviour.disabled_fields.drop(value, None)
        behaviour.prepare_create(value, self.context)
        self.value = attributes.value = write_pipeline.ordered(value)

    def check(self) -> Awaitable[object] | None:
        return self.offload(self._check)

    def _check(self) -> None:
        write_pipeline.check_new(self.api, self.resource, self.value, self.context)

    def authorize(self) -> Awaitable[object] | None:
        """An update or apply that turns into a create needs that right as well. Validation errors
        come first."""
        if self.operation.verb == "create":
            return None
        return retries.authorize_create(self.api, self.operation)

    def validate(self) -> Awaitable[object] | None:
        return self.api.admission.validate(self.attributes)

    def normalize(self) -> Awaitable[object] | None:
        self.behaviour.warnings(self.value, None, self.context)
        return self.offload(self._normalize)

    def _normalize(self) -> None:
        self.behaviour.normalize(self.value, self.operation.applies)

    def settle(self) -> None:
        self.attributes.is_settled = True
        if self._revision and not self.options.dry_run:  # only the store assigns versions
            raise bad_request("resourceVersion should not be set on objects to be created")

    def convert(self) -> Awaitable[object] | None:
        self.stored = self.value
        return None if is_storage_version(self.resource) else retries.to_stored(self)

    def store(self) -> Awaitable[object] | None:
        """Store the object. Raises Conflict if there is an object of that name."""
        metadata = self.value["metadata"]
        self.key = self.resource.storage_key(metadata.get("namespace", ""), metadata["name"])
        if not self.options.dry_run:
            return self.send(self.key, self.stored, None)
        if self.collection.latest(self.key) is not None:
            raise Conflict(self.key)
        return None if is_storage_version(self.resource) else retries.read_back(self)

    def finish(self) -> Awaitable[object] | None:
        operation = self.operation
        if self.options.dry_run:
            operation.result = self.result = write_pipeline.unstored_version(
                self.collection, self.key, self.stored, self._revision, self.resource
            )
            self.context.roll_back()
            return None
        return self.written(self.stored)

    def rename(self) -> None:
        """Generate another name."""
        metadata = self.value["metadata"]
        metadata["name"] = write_pipeline.generate_name(metadata["generateName"])
        self.behaviour.renamed(self.value, self.context)


_STEPS = (
    Create.start,
    Create.fill,
    Create.admit,
    Create.complete,
    Create.check,
    Create.authorize,
    Create.validate,
    Create.normalize,
    Create.settle,
    Create.convert,
    Create.commit_companions,
    Create.store,
    Create.finish,
)


def _ending(resource: Resource) -> StatusError:
    error = verb_not_supported(resource.ref(), "create")
    error.message = "create not allowed while custom resource definition is terminating"
    return error
