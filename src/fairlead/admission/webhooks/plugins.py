"""The two webhook plugins. MutatingAdmissionWebhook calls webhooks that may change a write, one
after the other; ValidatingAdmissionWebhook calls those that may reject it, all concurrently.

If a webhook changes the object, the chain runs all mutating steps a second time. The second round
calls the webhooks with `reinvocationPolicy: IfNeeded` that were called before the change.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any, NamedTuple

import orjson

from fairlead.admission.plugin import Attributes, PluginBase
from fairlead.admission.plugins.version_facts import FindNamespace
from fairlead.admission.webhooks.call import (
    MUTATING,
    VALIDATING,
    CallFailed,
    WebhookCaller,
    annotate,
)
from fairlead.admission.webhooks.configurations import Configurations
from fairlead.admission.webhooks.documents import DocumentConverter, DocumentError, Documents
from fairlead.admission.webhooks.match import Match, selects
from fairlead.admission.webhooks.reviews import JSON_PATCH, Answer, Reviews
from fairlead.base import budget, meter
from fairlead.base.dialect import Dialect
from fairlead.base.errors import internal
from fairlead.codec.bodies import BodyError, parse_json
from fairlead.codec.types.mismatch import json_kind
from fairlead.codec.types.model import Object
from fairlead.fields import json_patch
from fairlead.fields.errors import MalformedPatch, OperationFailed, TooManyOperations

# Whether the match conditions of a webhook hold for a write; raises StatusError.
Applies = Callable[[Match, Attributes, Documents], Awaitable[bool]]


class Dependencies(NamedTuple):
    """The dependencies of a webhook plugin."""

    configurations: Configurations
    reviews: Reviews
    converter: DocumentConverter
    find: FindNamespace
    applies: Applies


class WebhookPlugin(PluginBase):
    """Handles the resources that its configurations match; `kind` is the type label in metrics."""

    kind = ""

    def __init__(self, dependencies: Dependencies) -> None:
        self.concerns = self.depends_on_other_state = dependencies.configurations
        self._configurations = dependencies.configurations
        self._converter = dependencies.converter
        self._find = dependencies.find
        self._applies = dependencies.applies
        self._caller = WebhookCaller(self.kind, dependencies.reviews)


_MUTATION, _PATCH = "mutation.webhook.admission.@/", "patch.webhook.admission.@/"


@dataclass(slots=True)
class _Rounds:
    """State for the second round: the IfNeeded webhooks called since the last change, the webhooks
    to call again, and the object after the first round as JSON, if there are IfNeeded webhooks."""

    willing: set[str] = field(default_factory=set)
    again: set[str] = field(default_factory=set)
    output: bytes = b""

    def object_changed(self) -> None:
        self.again |= self.willing
        self.willing.clear()


class MutatingAdmissionWebhook(WebhookPlugin):
    name = "MutatingAdmissionWebhook"
    kind = MUTATING

    def __init__(self, dialect: Dialect, dependencies: Dependencies) -> None:
        super().__init__(dependencies)
        self._mutation, self._patch = dialect.group_name(_MUTATION), dialect.group_name(_PATCH)

    async def admit(self, attributes: Attributes) -> None:
        matches = self._configurations.matches(attributes)
        if not matches:
            return
        rounds = attributes.state_of(self.name, _Rounds)
        if attributes.round:
            if rounds.willing and rounds.output != _sorted_json(attributes.value):
                rounds.object_changed()
            if not rounds.again:
                return
        documents = Documents(self._converter, attributes, is_final=False)
        for match in matches:
            hook = match.hook
            if not selects(hook, attributes, self._find):
                continue
            if hook.conditions and not await self._applies(match, attributes, documents):
                continue
            if attributes.round and hook.uid not in rounds.again:
                continue
            if await self._call(match, attributes, documents):
                rounds.object_changed()
                attributes.wants_round = True
            if hook.if_needed:
                rounds.willing.add(hook.uid)
        if attributes.wants_round and not attributes.round and rounds.willing:
            rounds.output = _sorted_json(attributes.value)

    async def _call(self, match: Match, attributes: Attributes, documents: Documents) -> bool:
        position = f"round_{attributes.round}_index_{match.index}"
        changed = False

        async def use(answer: Answer) -> bool:
            nonlocal changed
            size = len(answer.patch)
            patch = await budget.run(size, _patch_of, match, attributes, answer)
            if patch:
                changed = await self._apply(match, documents, patch, size)
                annotation = {**_named(match), "patch": patch, "patchType": JSON_PATCH}
                annotate(attributes.context, f"{self._patch}{position}", _json(annotation))
            return changed

        begun = perf_counter()
        try:
            failed_open = f"failed-open.{self._mutation}{position}"
            return await self._caller.call(match, attributes, documents, use, failed_open)
        finally:
            meter.waited(perf_counter() - begun)
            details = {**_named(match), "mutated": changed}
            annotate(attributes.context, f"{self._mutation}{position}", _json(details))

    async def _apply(
        self, match: Match, documents: Documents, patch: list[json_patch.Operation], size: int
    ) -> bool:
        """`size` is that of the received patch."""

        def patched(current: Object) -> Object:
            own: Object = orjson.loads(orjson.dumps(current))  # the cheapest copy
            return json_patch.apply_json_patch(own, patch, in_place=True)

        try:
            return await documents.patch(patched, match.resource, size)
        except (OperationFailed, DocumentError) as error:
            raise internal(str(error)) from None


def _patch_of(match: Match, attributes: Attributes, answer: Answer) -> list[json_patch.Operation]:
    """The patch operations in a response; raises StatusError and CallFailed."""
    if not answer.patch:
        return []
    meter.allocate(len(answer.patch))  # the object may grow by this much
    try:
        patch_operations = json_patch.operations(_document(answer.patch))
    except (BodyError, MalformedPatch, TooManyOperations) as error:
        raise internal(str(error)) from None
    if not patch_operations:
        return []
    if attributes.value is None:
        raise internal(
            f'admission webhook "{match.hook.name}" attempted to modify the object, which is not'
            " supported for this operation"
        )
    if answer.patch_type != JSON_PATCH:
        raise CallFailed(f'unsupported patch type "{answer.patch_type}"')
    return patch_operations


def _document(patch: bytes) -> Any:
    """Parse a JSON patch; raises BodyError."""
    document = parse_json(patch)
    mismatched = document if document is not None and not isinstance(document, list) else None
    go_type = "Patch"
    if isinstance(document, list):
        mismatched = next(
            (item for item in document if item is not None and not isinstance(item, dict)), None
        )
        go_type = "Operation"
    if mismatched is not None:
        problem = (
            f"cannot unmarshal {json_kind(mismatched)} into Go value of type jsonpatch.{go_type}"
        )
        raise BodyError(f"json: {problem}")
    return document


def _named(match: Match) -> Object:
    return {"configuration": match.hook.configuration, "webhook": match.hook.name}


def _json(value: Object) -> str:
    return orjson.dumps(value).decode()


def _sorted_json(value: Object | None) -> bytes:
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)


_FAILED_OPEN = "failed-open.validating.webhook.admission.@/"


class ValidatingAdmissionWebhook(WebhookPlugin):
    name = "ValidatingAdmissionWebhook"
    kind = VALIDATING

    def __init__(self, dialect: Dialect, dependencies: Dependencies) -> None:
        super().__init__(dependencies)
        self._failed_open = dialect.group_name(_FAILED_OPEN)

    async def validate(self, attributes: Attributes) -> None:
        """Wait for all webhooks; of several errors, raise that of the first webhook in order."""
        matches = self._configurations.matches(attributes)
        chosen = [match for match in matches if selects(match.hook, attributes, self._find)]
        if not chosen:
            return
        documents = Documents(self._converter, attributes, is_final=True)
        chosen = [
            match
            for match in chosen
            if not match.hook.conditions or await self._applies(match, attributes, documents)
        ]
        calls = [
            self._caller.call(
                match, attributes, documents, _accept, f"{self._failed_open}round_0_index_{index}"
            )
            for index, match in enumerate(chosen)
        ]
        begun = perf_counter()
        try:
            if len(calls) == 1:
                await calls[0]
                return
            outcomes = await asyncio.gather(*calls, return_exceptions=True)
        finally:
            meter.waited(perf_counter() - begun)
        for outcome in outcomes:
            if isinstance(outcome, BaseException):
                raise outcome


async def _accept(answer: Answer) -> bool:
    return False
