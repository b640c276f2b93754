"""AdmissionReviews: encodes requests to webhooks and decodes their responses."""

from __future__ import annotations

import re
from binascii import a2b_base64
from functools import cached_property
from typing import Any, NamedTuple

from orjson import dumps

from fairlead.admission.plugin import Attributes
from fairlead.admission.webhooks.documents import Documents
from fairlead.admission.webhooks.match import Match, namespace_of
from fairlead.auth.authentication.user import User
from fairlead.base.files import text_beside
from fairlead.codec.types.decode import Decode, decoder
from fairlead.codec.types.mismatch import DecodeError
from fairlead.codec.types.model import Object
from fairlead.codec.types.notation import parse
from fairlead.resources.registry import Resource, Resources
from fairlead.wire.outgoing.webhooks import read_review

GROUP = "admission.@"
KIND = "AdmissionReview"
JSON_PATCH = "JSONPatch"


class UnreadableAnswer(Exception):
    """The response is not a review; the text says why."""


class InvalidAnswer(Exception):
    """The response is a review that does not answer the request; the text says why."""


class Answer(NamedTuple):
    """The response of a webhook. `patch` is JSON, empty if there is none."""

    allowed: bool
    status: Object | None
    patch: bytes
    patch_type: str
    annotations: dict[str, str]
    warnings: list[str]


class Reviews:
    """Encodes and decodes reviews with the names of a dialect."""

    def __init__(self, resources: Resources) -> None:
        self._resources = resources
        self._group = resources.dialect.group_name(GROUP)
        self._options_group = resources.dialect.meta_group
        self._last_user: tuple[User | None, bytes] = (None, b"")

    async def question(
        self, match: Match, attributes: Attributes, documents: Documents, uid: str
    ) -> bytes:
        new, old = await documents.encoded(match.resource)
        opening = match.opening
        if opening is None:
            opening = match.opening = self._opening(match, attributes)
        name, namespace = attributes.name, namespace_of(attributes)
        identity = b',"name":' + dumps(name) if name else b""
        if namespace:
            identity += b',"namespace":' + dumps(namespace)
        pieces = (
            opening[0], uid.encode(), opening[1], identity,
            b',"userInfo":', self._user(attributes.user),
            b',"object":', new, b',"oldObject":', old,
            b',"dryRun":true' if attributes.context.dry_run else b',"dryRun":false',
            b',"options":', dumps(self.options_of(attributes)), b"}}",
        )  # fmt: skip
        return b"".join(pieces)

    def _opening(self, match: Match, attributes: Attributes) -> tuple[bytes, bytes]:
        """The constant bytes before and after the uid in all reviews of a match."""
        resource, written = match.resource, attributes.resource
        request: Object = {
            "kind": self.kind_of(resource),
            "resource": resource_of(resource),
            **_named("subResource", resource.subresource),
            "requestKind": self.kind_of(written),
            "requestResource": resource_of(written),
            **_named("requestSubResource", written.subresource),
            "operation": attributes.operation,
        }
        api_version = dumps(f"{self._group}/{match.hook.version}")
        before = b'{"kind":"%b","apiVersion":%b,"request":{"uid":"' % (KIND.encode(), api_version)
        return before, b'",' + dumps(request)[1:-1]

    def _user(self, user: User) -> bytes:
        """The encoded user; caches the last one, since repeated writes pass the same User
        object."""
        last, shown = self._last_user
        if last is not user:
            shown = dumps(user_info(user))
            self._last_user = user, shown
        return shown

    def options_of(self, attributes: Attributes) -> Object | None:
        """The options of a write as an object."""
        if attributes.options is None:
            return None
        return attributes.options.document(attributes.operation, self._options_group)

    def kind_of(self, resource: Resource) -> Object:
        """The kind of a resource's objects, with group and version."""
        api_version = resource.api_version
        if resource.body_version != resource.group_version.table_name:
            api_version = self._resources.api_version_of(resource.body_version)
        group, _, version = api_version.rpartition("/")
        return {"group": group, "version": version, "kind": resource.kind}

    def answer(self, content: bytes, version: str, uid: str, *, may_patch: bool) -> Answer:
        """Decode the response of a webhook; raises CallError, UnreadableAnswer and
        InvalidAnswer."""
        review = read_review(content, self._group, KIND, version)
        try:
            if not _is_brief(review):
                review = self._decode(review, [])
        except DecodeError as error:
            raise UnreadableAnswer(str(error)) from None
        response: Object | None = review.get("response")
        if response is None:
            raise InvalidAnswer("webhook response was absent")
        patch = _patch(response)
        if version == "v1":
            self._check(review, response, uid)
            patch_type = (
                _checked_patch(response, patch) if may_patch else _no_patch(response, patch)
            )
        else:  # in v1beta1 the reference does not check the rest
            patch = patch if may_patch else b""
            patch_type = JSON_PATCH
        return Answer(
            bool(response.get("allowed")),
            response.get("status"),
            patch,
            patch_type,
            response.get("auditAnnotations") or {},
            response.get("warnings") or [],
        )

    def _check(self, review: Object, response: Object, uid: str) -> None:
        received = response.get("uid", "")
        if received != uid:
            raise InvalidAnswer(f'expected response.uid="{uid}", got "{received}"')
        api_version, kind = review.get("apiVersion", ""), review.get("kind", "")
        expected = f"{self._group}/v1"
        if (api_version, kind) != (expected, KIND):
            shown = api_version if "/" in api_version else f"/{api_version}"
            raise InvalidAnswer(
                f"expected webhook response of {expected}, Kind={KIND}, got {shown}, Kind={kind}"
            )

    @cached_property
    def _decode(self) -> Decode:
        text = text_beside(__file__, "review.types")
        return decoder(parse("admission", text, self._resources.types.group_version)[KIND])


_BRIEF = {"uid": str, "allowed": bool, "patchType": str, "patch": str}
_MAX_BRIEF_BYTES = 64 * 1024
_is_base64 = re.compile(
    "(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?", re.ASCII
).fullmatch


def _is_brief(review: Any) -> bool:
    """Whether a response has only the common fields, each of the right type. Then the parsed JSON
    equals the decoded review, and decoding is skipped."""
    if type(review) is not dict:
        return False
    response = review.get("response")
    if (
        type(response) is not dict
        or type(review.get("apiVersion")) is not str
        or type(review.get("kind")) is not str
    ):
        return False
    if len(response) == 2 and type(response.get("uid")) is str:
        return type(response.get("allowed")) is bool
    for name, value in response.items():
        if type(value) is not _BRIEF.get(name):
            return False
    patch = response.get("patch", "")
    return len(patch) <= _MAX_BRIEF_BYTES and _is_base64(patch) is not None


def _named(name: str, value: str) -> Object:
    return {name: value} if value else {}


def resource_of(resource: Resource) -> Object:
    """Group, version and name of a resource."""
    group_version = resource.group_version
    return {
        "group": group_version.group,
        "version": group_version.version,
        "resource": resource.main.name,
    }


def user_info(user: User) -> Object:
    """A user as reviews show it."""
    fields: dict[str, Any] = {**_named("username", user.name), **_named("uid", user.uid)}
    if user.groups:
        fields["groups"] = user.groups
    if user.extra:
        fields["extra"] = dict(user.extra)
    return fields


def _patch(response: Object) -> bytes:
    text: str = response.get("patch") or ""
    return a2b_base64(text)  # the decoder checked that it is base64


def _checked_patch(response: Object, patch: bytes) -> str:
    patch_type: str | None = response.get("patchType")
    if patch and patch_type is None:
        raise InvalidAnswer("webhook returned response.patch but not response.patchType")
    if not patch and patch_type is not None:
        raise InvalidAnswer("webhook returned response.patchType but not response.patch")
    if patch_type == "":
        raise InvalidAnswer('webhook returned invalid response.patchType of ""')
    return patch_type or ""


def _no_patch(response: Object, patch: bytes) -> str:
    if patch:
        raise InvalidAnswer("validating webhook may not return response.patch")
    if response.get("patchType") is not None:
        raise InvalidAnswer("validating webhook may not return response.patchType")
    return ""
