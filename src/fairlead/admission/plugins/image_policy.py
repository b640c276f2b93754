"""ImagePolicyWebhook: an external service decides which images may run, by ImageReview."""

from __future__ import annotations

import logging
from hashlib import blake2b
from typing import Any, NamedTuple, Protocol

import orjson

from fairlead.admission.configuration import FLAG
from fairlead.admission.plugin import CREATE, UPDATE, Attributes
from fairlead.admission.plugins.base import PODS, Object, PluginBase, refusal
from fairlead.base.caches import BoundedCache
from fairlead.base.clock import time
from fairlead.base.dialect import Dialect
from fairlead.base.logs import Logger, Tally
from fairlead.codec.configuration_files import ConfigurationError, Section
from fairlead.wire.outgoing import json_calls
from fairlead.wire.outgoing.client_config import ClientConfigError, load_client_config
from fairlead.wire.outgoing.response import CallError

logger = Logger("fairlead")

EPHEMERAL_CONTAINERS = f"{PODS}/ephemeralcontainers"
GROUP_VERSION = "imagepolicy.@/v1alpha1"
_KIND = "ImageReview"
_FORWARDED = ".image-policy.@/"
_FAILED_OPEN = "alpha.image-policy.@/failed-open"
_AUDIT = "imagepolicywebhook.image-policy.@/"
_TIMEOUT = 30.0
_MAX_CACHED = 1024
_MAX_CACHED_LENGTH = 16 * 1024  # characters of a reason and of audit annotations
_STORED_LATER = ("ownerReferences", "finalizers", "managedFields")


class Poster(Protocol):
    """Posts a review and returns the response; raises CallError."""

    async def post_with_retries(
        self, body: dict[str, Any], timeout: float, first_pause: float
    ) -> dict[str, Any]: ...

    async def close(self) -> None: ...


class Settings(NamedTuple):
    """How long responses are cached, the pause before a retry (all in seconds), and the decision if
    there is no response."""

    allow_ttl: float = 300.0
    deny_ttl: float = 30.0
    retry_pause: float = 0.5
    default_allow: bool = False


class _Answer(NamedTuple):
    allowed: bool
    reason: str
    annotations: dict[str, str]  # for the audit log


class ImagePolicyWebhook(PluginBase):
    name = "ImagePolicyWebhook"
    depends_on_other_state: tuple[str, ...] = (PODS,)

    def __init__(self, dialect: Dialect, poster: Poster, settings: Settings) -> None:
        self._poster = poster
        self._settings = settings
        self._api_version = dialect.group_name(GROUP_VERSION)
        self._forwarded = dialect.group_name(_FORWARDED)
        self._failed_open = dialect.group_name(_FAILED_OPEN)
        self._audit = dialect.group_name(_AUDIT)
        self._failed = Tally(logger, logging.WARNING, "pods are judged without an image review")
        self._cache: BoundedCache[bytes, tuple[float, _Answer]] = BoundedCache(
            _MAX_CACHED, longest=_MAX_CACHED_LENGTH
        )

    async def validate(self, attributes: Attributes) -> None:
        pod = attributes.value
        if attributes.operation not in (CREATE, UPDATE) or pod is None:
            return
        if attributes.resource.key not in (PODS, EPHEMERAL_CONTAINERS):
            return
        try:
            answer = await self._answer(self._spec(attributes, pod))
        except CallError as error:
            self._failed.add("the image policy webhook failed", str(error.brief))
            if not self._settings.default_allow:
                raise refusal(attributes, str(error)) from None
            attributes.context.annotations[f"{self._audit}failed-open"] = "true"
            _annotate(pod["metadata"], self._failed_open)
            return
        for name, text in answer.annotations.items():
            attributes.context.annotations[f"{self._audit}{name}"] = text
        if not answer.allowed:
            raise refusal(attributes, _denial(answer.reason))

    def _spec(self, attributes: Attributes, pod: Object) -> Object:
        ephemeral = attributes.resource.key == EPHEMERAL_CONTAINERS
        lists = ("ephemeralContainers",) if ephemeral else ("containers", "initContainers")
        containers = [container for name in lists for container in pod["spec"].get(name) or ()]
        annotations = pod["metadata"].get("annotations") or {}
        spec: Object = {
            "containers": [{"image": container.get("image", "")} for container in containers]
        }
        forwarded = {name: annotations[name] for name in annotations if self._forwarded in name}
        if forwarded:
            spec["annotations"] = forwarded
        return {**spec, "namespace": attributes.namespace}

    async def _answer(self, spec: Object) -> _Answer:
        raw = orjson.dumps(spec, option=orjson.OPT_SORT_KEYS)
        key = blake2b(raw, digest_size=32).digest()
        cached = self._cache.get(key)
        if cached is not None and time() < cached[0]:
            return cached[1]
        review = {
            "kind": _KIND,
            "apiVersion": self._api_version,
            "metadata": {"creationTimestamp": None},
            "spec": spec,
            "status": {"allowed": False},
        }
        pause = self._settings.retry_pause
        answer = self._read(await self._poster.post_with_retries(review, _TIMEOUT, pause))
        ttl = self._settings.allow_ttl if answer.allowed else self._settings.deny_ttl
        if ttl > 0:
            pairs = answer.annotations.items()
            length = len(answer.reason) + sum(len(name) + len(text) for name, text in pairs)
            self._cache.keep(key, (time() + ttl, answer), length)
        return answer

    def _read(self, body: Object) -> _Answer:
        if (body.get("apiVersion"), body.get("kind")) != (self._api_version, _KIND):
            raise CallError(f"the image policy webhook did not answer with an {_KIND}")
        status = body.get("status")
        status = status if isinstance(status, dict) else {}
        reason, annotations = status.get("reason"), status.get("auditAnnotations")
        listed = annotations.items() if isinstance(annotations, dict) else ()
        return _Answer(
            status.get("allowed") is True,
            reason if isinstance(reason, str) else "",
            {name: text for name, text in listed if isinstance(text, str)},
        )

    async def close(self) -> None:
        await self._poster.close()


def _denial(reason: str) -> str:
    if not reason:
        return "one or more images rejected by webhook backend"
    return f"image policy webhook backend denied one or more images: {reason}"


def _annotate(metadata: Object, name: str) -> None:
    """Mark a pod that was not reviewed; keeps the order of metadata fields in the store."""
    later = {key: metadata.pop(key) for key in _STORED_LATER if key in metadata}
    metadata["annotations"] = {**(metadata.get("annotations") or {}), name: "true"}
    metadata.update(later)


class _Duration(NamedTuple):
    """A duration in the configuration: its unit in seconds, its maximum and its default."""

    unit: float
    maximum: float
    default: float

    def seconds(self, section: Section, name: str) -> float:
        value: int = section.value["imagePolicy"].get(name, 0)
        if value == 0:
            return self.default
        if value == -1:
            return 0.0
        if not 0 < value * self.unit <= self.maximum:
            problem = f"{value} is neither -1 nor between 1 and {self.maximum / self.unit:.0f}"
            raise section.error(f"imagePolicy.{name}", problem)
        return value * self.unit


_HALF_AN_HOUR, _FIVE_MINUTES = 1800.0, 300.0
_ALLOW_TTL = _Duration(1.0, _HALF_AN_HOUR, Settings().allow_ttl)
_DENY_TTL = _Duration(1.0, _HALF_AN_HOUR, Settings().deny_ttl)
_RETRY = _Duration(0.001, _FIVE_MINUTES, Settings().retry_pause)


def configured(
    dialect: Dialect, section: Section | None, *, group_enabled: bool
) -> ImagePolicyWebhook:
    """Construct the plugin from its configuration; raises ConfigurationError."""
    name = ImagePolicyWebhook.name
    if section is None or not section.value.get("imagePolicy"):
        raise ConfigurationError(f"--{FLAG}: {name} is enabled without an imagePolicy")
    if dialect.image_review_group_needed and not group_enabled:
        group = dialect.group_name(GROUP_VERSION)
        raise ConfigurationError(f"{name} needs --runtime-config={group}=true")
    policy = section.value["imagePolicy"]
    settings = Settings(
        _ALLOW_TTL.seconds(section, "allowTTL"),
        _DENY_TTL.seconds(section, "denyTTL"),
        _RETRY.seconds(section, "retryBackoff"),
        bool(policy.get("defaultAllow")),
    )
    file = policy.get("kubeConfigFile", "")
    try:
        if not file:
            raise ClientConfigError("must name the client configuration of the webhook")
        poster = json_calls.JsonPoster(load_client_config(section.beside(file)))
    except ClientConfigError as error:
        raise section.error("imagePolicy.kubeConfigFile", str(error)) from None
    return ImagePolicyWebhook(dialect, poster, settings)
