"""Conversion by a webhook: ConversionReview out, converted objects back, and nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import orjson

from fairlead.dialect import Dialect
from fairlead.errors import StatusError
from fairlead.kinds.causes import Causes
from fairlead.kinds.metadata import check_annotations, check_labels
from fairlead.operations.api import Object
from fairlead.outgoing.client import CallError
from fairlead.outgoing.webhooks import Webhooks
from fairlead.schema.uids import new_uid

TIMEOUT = 30.0
_KNOWN = ("v1", "v1beta1")


class _Refused(Exception):
    """The webhook did not do what it was asked for; the text says how."""


class WebhookConverter:
    """Converts by the webhook that a definition names."""

    def __init__(self, webhooks: Webhooks, dialect: Dialect, kind: str, webhook: Object) -> None:
        self._webhook = webhooks.webhook(webhook["clientConfig"])
        self._group = dialect.group_name("apiextensions.@")
        self._kind = kind
        offered = webhook["conversionReviewVersions"] or ()
        self._version = next((name for name in offered if name in _KNOWN), "")

    async def convert(self, values: Sequence[Object], api_version: str) -> list[Object]:
        todo = [value for value in values if value["apiVersion"] != api_version]
        if not todo:
            return list(values)
        given = todo[0]["apiVersion"]
        what = f"conversion webhook for {given}, Kind={self._kind}"
        try:
            made = await self._ask(todo, api_version)
        except (CallError, _Refused) as error:
            raise _failed(f"{what} failed: {error}") from None
        if len(made) != len(todo):
            raise _failed(f"{what} returned {len(made)} objects, expected {len(todo)}")
        converted = iter(
            _checked(what, index, *pair, api_version)
            for index, pair in enumerate(zip(todo, made, strict=True))
        )
        return [
            value if value["apiVersion"] == api_version else next(converted) for value in values
        ]

    async def _ask(self, values: list[Object], api_version: str) -> list[Any]:
        if not self._version:
            raise _Refused("no supported conversion review versions")
        uid = new_uid()
        head = {"kind": "ConversionReview", "apiVersion": f"{self._group}/{self._version}"}
        request = {"uid": uid, "desiredAPIVersion": api_version, "objects": values}
        body = orjson.dumps({**head, "request": request})
        answer = await self._webhook.post(body, TIMEOUT)
        try:
            review = orjson.loads(answer)
        except orjson.JSONDecodeError as error:
            raise _Refused(f"the answer is not JSON: {error}") from None
        return self._objects(review, head, uid)

    def _objects(self, review: Any, head: Object, uid: str) -> list[Any]:
        if not isinstance(review, dict) or any(review.get(key) != head[key] for key in head):
            found = review if isinstance(review, dict) else {}
            raise _Refused(f"expected webhook response of {_named(head)}, got {_named(found)}")
        response = review.get("response")
        if not isinstance(response, dict):
            raise _Refused("no response provided")
        if self._version == "v1" and response.get("uid") != uid:
            raise _Refused(f'expected response.uid="{uid}", got "{response.get("uid") or ""}"')
        result = response.get("result")
        status = result.get("status") if isinstance(result, dict) else ""
        if status != "Success":
            said = result.get("message") if isinstance(result, dict) else ""
            raise _Refused(said or f"response.result.status was '{status or ''}', not 'Success'")
        objects = response.get("convertedObjects")
        return objects if isinstance(objects, list) else []


def _named(head: Object) -> str:
    return f"{head.get('apiVersion') or ''}, Kind={head.get('kind') or ''}"


def _failed(message: str) -> StatusError:
    return StatusError(500, "InternalError", message)


def _checked(what: str, index: int, original: Object, made: Any, api_version: str) -> Object:
    """A converted object that is still the one that was sent. Of its metadata only labels and
    annotations may be others."""
    problem = _problem(original, made, api_version)
    if problem:
        raise _failed(f"{what} returned invalid converted object at index {index}: {problem}")
    metadata = dict(original["metadata"])
    for name in ("labels", "annotations"):
        metadata.pop(name, None)
        given = made["metadata"].get(name)
        if given:
            metadata[name] = given
    problem = _metadata_problem(metadata)
    if problem:
        raise _failed(f"{what} returned invalid metadata of object at index {index}: {problem}")
    return {**made, "metadata": metadata}


def _problem(original: Object, made: Any, api_version: str) -> str:
    if not isinstance(made, dict) or not isinstance(made.get("metadata"), dict):
        return "it is not an object with metadata"
    if made.get("apiVersion") != api_version:
        return f"invalid groupVersion: {made.get('apiVersion') or ''}"
    if made.get("kind") != original["kind"]:
        return f"invalid kind: {made.get('kind') or ''}"
    for name in ("name", "namespace", "uid"):
        wanted, found = original["metadata"].get(name, ""), made["metadata"].get(name, "")
        if wanted != found:
            shown = "UID" if name == "uid" else name
            return f"must have the same {shown}: {found} != {wanted}"
    return ""


def _metadata_problem(metadata: Object) -> str:
    causes = Causes()
    for name, check in (("labels", check_labels), ("annotations", check_annotations)):
        given = metadata.get(name)
        if given is None:
            continue
        if not isinstance(given, dict) or not all(isinstance(one, str) for one in given.values()):
            return f"metadata.{name}: must be a map of strings"
        check(given, f"metadata.{name}", causes)
    return "; ".join(f"{cause.field}: {cause.message}" for cause in causes)
