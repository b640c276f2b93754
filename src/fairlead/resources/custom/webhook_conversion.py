"""Converts custom objects by a webhook: sends a ConversionReview, checks the returned objects."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import orjson

from fairlead.base import budget
from fairlead.base.dialect import Dialect
from fairlead.base.errors import StatusError, listed
from fairlead.codec.bodies import MAX_VALUES, brackets
from fairlead.codec.types.mismatch import any_type_text, json_kind
from fairlead.codec.types.model import Object
from fairlead.codec.types.times import new_uid
from fairlead.resources.causes import Causes, new_causes
from fairlead.resources.gates import Gates
from fairlead.resources.metadata import check_annotations, check_labels
from fairlead.wire.outgoing.response import CallError
from fairlead.wire.outgoing.webhooks import Webhooks, read_review

TIMEOUT = 30.0
_MAX_GROWTH = 4  # times as many lists and objects may come back as were sent
_REVIEW_VERSIONS = ("v1", "v1beta1")


class _Refused(Exception):
    """The webhook's response is a failure or not acceptable; the message says why."""


class WebhookConverter:
    """Converts by the webhook of a definition."""

    def __init__(
        self, webhooks: Webhooks, dialect: Dialect, gates: Gates, kind: str, webhook: Object
    ) -> None:
        self._gates = gates
        self._webhook = webhooks.webhook(webhook["clientConfig"])
        self._group = dialect.group_name("apiextensions.@")
        self._kind = kind
        offered = webhook["conversionReviewVersions"] or ()
        self._version = next((name for name in offered if name in _REVIEW_VERSIONS), "")

    async def convert(self, values: Sequence[Object], api_version: str) -> list[Object]:
        todo = [value for value in values if value["apiVersion"] != api_version]
        if not todo:
            return list(values)
        from_version = todo[0]["apiVersion"]
        webhook = f"conversion webhook for {from_version}, Kind={self._kind}"
        try:
            returned = await self._call_webhook(todo, api_version)
        except (CallError, _Refused) as error:
            raise _failed(f"{webhook} failed: {error}") from None
        if len(returned) != len(todo):
            raise _failed(f"{webhook} returned {len(returned)} objects, expected {len(todo)}")
        converted = iter(
            _check_converted(webhook, *pair, api_version, self._gates)
            for pair in zip(todo, returned, strict=True)
        )
        return [
            value if value["apiVersion"] == api_version else next(converted) for value in values
        ]

    async def _call_webhook(self, values: list[Object], api_version: str) -> list[Any]:
        if not self._version:
            raise _Refused("no supported conversion review versions")
        uid = new_uid()
        head = {"kind": "ConversionReview", "apiVersion": f"{self._group}/{self._version}"}
        request = {"uid": uid, "desiredAPIVersion": api_version, "objects": values}
        body = orjson.dumps({**head, "request": request})
        answer = await self._webhook.post(body, TIMEOUT)
        review = await budget.run(
            len(answer),
            read_review,
            answer,
            self._group,
            head["kind"],
            self._version,
            MAX_VALUES + _MAX_GROWTH * brackets(body),
        )
        return self._objects(review, head, uid)

    def _objects(self, review: Object, head: Object, uid: str) -> list[Any]:
        if self._version == "v1" and any(review.get(key) != head[key] for key in head):
            raise _Refused(
                f"expected webhook response of {_format_kind(head)}, got {_format_kind(review)}"
            )
        response = review.get("response")
        if not isinstance(response, dict):
            raise _Refused("no response provided")
        if self._version == "v1" and response.get("uid") != uid:
            raise _Refused(f'expected response.uid="{uid}", got "{response.get("uid") or ""}"')
        result = response.get("result")
        status = result.get("status") if isinstance(result, dict) else ""
        if status != "Success":
            message = result.get("message") if isinstance(result, dict) else ""
            raise _Refused(message or f"response.result.status was '{status or ''}', not 'Success'")
        objects = response.get("convertedObjects")
        return objects if isinstance(objects, list) else []


def _format_kind(head: Object) -> str:
    api_version = head.get("apiVersion") or ""
    shown = api_version if "/" in api_version else f"/{api_version}"
    return f"{shown}, Kind={head.get('kind') or ''}"


def _failed(message: str) -> StatusError:
    return StatusError(500, "", message)


def _check_converted(
    webhook: str, original: Object, converted: Any, api_version: str, gates: Gates
) -> Object:
    """Check that a converted object has the identity of the original, and restore its metadata. A
    webhook may change labels and annotations only."""
    if not isinstance(converted, dict):
        kind = json_kind(converted)
        raise _failed(f"json: cannot unmarshal {kind} into Go value of type unstructured.detector")
    if not converted.get("kind"):
        raise _failed(f"Object 'Kind' is missing in '{orjson.dumps(converted).decode()}'")
    for name, field, expected in (
        ("groupVersion", "apiVersion", api_version),
        ("kind", "kind", original["kind"]),
    ):
        received = converted.get(field) or ""
        if received != expected:
            problem = f"invalid {name} (expected {expected}, received {received})"
            raise _failed(f"{webhook} returned invalid object at index 0: {problem}")
    metadata = converted.get("metadata")
    problem = _other_identity(original["metadata"], metadata if isinstance(metadata, dict) else {})
    if problem:
        raise _failed(f"{webhook} returned invalid object: {problem}")
    try:
        return {**converted, "metadata": _restore_metadata(original["metadata"], converted, gates)}
    except _Refused as error:
        raise _failed(f"{webhook} returned invalid metadata: {error}") from None


def _other_identity(original: Object, converted: Object) -> str:
    for name, shown in (("name", "name"), ("namespace", "namespace"), ("uid", "UID")):
        expected, received = original.get(name, ""), converted.get(name, "")
        if expected != received:
            return f"must have the same {shown}: {expected} != {received}"
    return ""


def _restore_metadata(original: Object, converted: Object, gates: Gates) -> Object:
    """The original metadata, with the labels and annotations of the converted object."""
    if "metadata" not in converted:
        raise _Refused("missing metadata in converted object")
    new_metadata = converted["metadata"]
    if not isinstance(new_metadata, dict):
        raise _Refused(
            f"invalid metadata of type {any_type_text(new_metadata)} in converted object"
        )
    metadata = dict(original)
    for name, path, check in _CHANGEABLE:
        texts = new_metadata.get(name)
        if texts is None:
            metadata.pop(name, None)
            continue
        _check_texts(name, texts)
        causes = new_causes(gates)
        if texts != (original.get(name) or {}):
            check(texts, path, causes)
        if causes:
            raise _Refused(listed(causes))
        metadata[name] = texts
    return metadata


# The metadata that a webhook may change: field, path in messages, check.
_CHANGEABLE: tuple[tuple[str, str, Callable[[Object, str, Causes], None]], ...] = (
    ("labels", "metadata.labels", check_labels),
    ("annotations", "metadata.annotation", check_annotations),
)


def _check_texts(name: str, texts: Any) -> None:
    if not isinstance(texts, dict):
        raise _Refused(
            f"invalid metadata.{name} of type {any_type_text(texts)} in converted object"
        )
    for key, text in texts.items():
        if not isinstance(text, str):
            kind = any_type_text(text)
            raise _Refused(
                f"metadata.{name}[{key}] must be a string, but is {kind} in converted object"
            )
