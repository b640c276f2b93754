"""What a stage does to an object."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import orjson

from fairlead.api.patch import read_patch
from fairlead.auth.authentication.impersonation import with_implied_group
from fairlead.auth.authentication.user import User, account_groups, split_account_name
from fairlead.base import budget, meter
from fairlead.base.errors import StatusError, not_found
from fairlead.codec.bodies import BodyError, parse_yaml
from fairlead.codec.go_template.parts import Body
from fairlead.codec.go_template.renderer import Functions, render
from fairlead.codec.go_template.values import TemplateError
from fairlead.controllers.events import Recorder
from fairlead.controllers.simulation.stages.definitions import (
    APPLY,
    Apply,
    ChangeFinalizers,
    Delete,
    Patch,
    RecordEvent,
    Stage,
    find_resource,
)
from fairlead.controllers.simulation.stages.expressions import StageError
from fairlead.controllers.simulation.stages.object_functions import ObjectFunctions
from fairlead.controllers.simulation.stages.template_functions import FUNCTIONS
from fairlead.operations.api import Api, Object
from fairlead.operations.client import Client
from fairlead.operations.options import DeleteOptions
from fairlead.operations.patch import Patch as ReadPatch
from fairlead.resources.registry import Resource


class Actions:
    """Plays stages, as the user of the client or as those that the stages impersonate."""

    def __init__(self, api: Api, client: Client, recorder: Recorder) -> None:
        self._api = api
        self._client = client
        self._recorder = recorder

    async def play(self, stage: Stage, value: Object, size: int) -> None:
        """Carry out the steps of a stage for an object, whose JSON has `size` bytes. Templates see
        it as it was before the first step. Raises StatusError and StageError."""
        functions = {**FUNCTIONS, **ObjectFunctions(self._client, value).table()}

        async def rendered(template: Body) -> Any:
            try:
                return await budget.run(size, _rendered, template, value, functions)
            except meter.TimeLimitExceeded:
                raise StageError("the template takes too long") from None

        for step in stage.steps:
            match step:
                case RecordEvent():
                    self._recorder.record(stage.resource, value, *step)
                case ChangeFinalizers():
                    await self._change_finalizers(stage.resource, value["metadata"], step)
                case Delete():
                    await self._delete(stage.resource, value["metadata"])
                case Patch():
                    await self._patch(
                        stage.resource, value["metadata"], step, await rendered(step.template)
                    )
                case Apply():
                    await self._apply(value["metadata"], step, await rendered(step.template))

    def _as(self, username: str) -> Client:
        if not username:
            return self._client
        account = split_account_name(username)
        groups = account_groups(account[0]) if account is not None else ()
        user = User(username, "", with_implied_group(username, groups))
        return Client(self._api, user, self._client.manager)

    async def _change_finalizers(
        self, resource: Resource, metadata: Object, step: ChangeFinalizers
    ) -> None:
        def changed(current: Object) -> Object:
            _check_uid(resource, current, metadata)
            present = current["metadata"].get("finalizers") or []
            left = [name for name in present if not step.removes_all and name not in step.removed]
            finalizers = [*left, *(name for name in step.added if name not in left)]
            if finalizers == present:
                return current
            return {**current, "metadata": {**current["metadata"], "finalizers": finalizers}}

        namespace, name = metadata.get("namespace", ""), metadata["name"]
        await self._client.change(resource.key, namespace, name, changed, verb="patch")

    async def _delete(self, resource: Resource, metadata: Object) -> None:
        options = DeleteOptions(grace_period=0, uid=metadata["uid"])
        namespace, name = metadata.get("namespace", ""), metadata["name"]
        try:
            await self._client.delete(resource.key, namespace, name, options)
        except StatusError as error:
            if error.code != 409:  # the name belongs to another object
                raise

    async def _patch(
        self, resource: Resource, metadata: Object, step: Patch, document: Any
    ) -> None:
        patch = _read(resource, step.subresource, step.media_type, _below(step.root, document))

        def applied(current: Object) -> Object:
            _check_uid(resource, current, metadata)
            return patch.apply(current)

        namespace, name = metadata.get("namespace", ""), metadata["name"]
        await self._as(step.username).patch(
            resource.key, namespace, name, replace(patch, apply=applied), step.subresource
        )

    async def _apply(self, metadata: Object, step: Apply, document: Any) -> None:
        """Create or change the object that a template describes. Without a namespace it is in that
        of the object that the stage is played for."""
        resource, value = self._described(document, metadata)
        client, named = self._as(step.username), value["metadata"]
        namespace, name = named.get("namespace", ""), named["name"]
        if step.subresource and step.subresource not in resource.subresources:
            raise StageError(f'{resource.kind} has no subresource "{step.subresource}"')
        if step.media_type != APPLY:
            patch = _read(resource, step.subresource, step.media_type, document)
            try:
                await client.patch(resource.key, namespace, name, patch, step.subresource)
            except StatusError as error:
                if error.code != 404 or step.subresource:
                    raise
            else:
                return
        await client.apply(resource.key, value, step.subresource)

    def _described(self, document: Any, metadata: Object) -> tuple[Resource, Object]:
        if not isinstance(document, dict) or not isinstance(document.get("metadata"), dict):
            raise StageError("the applied template is not an object with metadata")
        value = dict(document)
        api_version, kind = value.pop("apiVersion", ""), value.pop("kind", "")
        reference = {"apiGroup": api_version, "kind": kind}
        resource = find_resource(self._api.resources, reference) if api_version else None
        if resource is None:
            raise StageError(f'no kind "{kind}" in "{api_version}" is served')
        name = value["metadata"].get("name")
        if not name or not isinstance(name, str):
            raise StageError("the applied object has no name")
        if resource.namespaced and not value["metadata"].get("namespace"):
            namespace = metadata.get("namespace") or "default"
            value["metadata"] = document["metadata"] = {**value["metadata"], "namespace": namespace}
        return resource, value


def _rendered(template: Body, value: Object, functions: Functions) -> Any:
    """The value that a template describes, in YAML."""
    try:
        return parse_yaml(render(template, value, functions).encode())[0]
    except (BodyError, TemplateError) as error:
        raise StageError(str(error)) from None


def _below(root: str, document: Any) -> Any:
    """A patch for the whole object from one for a field of it."""
    if not root:
        return document
    if isinstance(document, list):
        return [_operation_below(root, operation) for operation in document]
    return {root: document if document is not None else {}}


def _operation_below(root: str, operation: Any) -> Any:
    if not isinstance(operation, Mapping):
        return operation
    paths = {key: f"/{root}{operation[key]}" for key in ("path", "from") if operation.get(key)}
    return {**operation, **paths}


def _read(resource: Resource, subresource: str, media_type: str, document: Any) -> ReadPatch:
    target = resource.subresources[subresource] if subresource else resource
    return read_patch(target, media_type, orjson.dumps(document))


def _check_uid(resource: Resource, current: Object, metadata: Object) -> None:
    if current["metadata"].get("uid") != metadata["uid"]:
        raise not_found(resource.ref(metadata["name"]))
