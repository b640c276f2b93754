"""`--authorization-config`: the authorizers in their order, and when each webhook is called."""

from __future__ import annotations

import stat
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fairlead.auth.authorization import modes
from fairlead.auth.authorization.modes import (
    AUTHORIZED_TTL,
    MAX_TIMEOUT,
    UNAUTHORIZED_TTL,
    AuthorizerSettings,
    WebhookSettings,
)
from fairlead.auth.configuration import ConfigurationFile, Expression, ExpressionError
from fairlead.base.release import Release
from fairlead.codec.cel.types import STRING, ListType, MapType, ObjectType
from fairlead.codec.configuration_files import Section
from fairlead.codec.types.builtin import BuiltinTypes
from fairlead.codec.types.durations import DurationError, parse_duration
from fairlead.codec.types.model import Object
from fairlead.codec.types.names import dns_subdomain
from fairlead.resources.causes import Causes
from fairlead.resources.gates import Gates

FLAG = "authorization-config"
_MAX_CONDITIONS = 64


class AuthorizationFile:
    """The file. Raises ConfigurationError."""

    def __init__(self, path: Path, types: BuiltinTypes, gates: Gates) -> None:
        self.file = ConfigurationFile(path, FLAG, "AuthorizationConfiguration", types)
        self._gates = gates

    def read(self) -> list[AuthorizerSettings]:
        return self.authorizers(self.file.read())

    def authorizers(
        self, section: Section, required: frozenset[str] = frozenset()
    ) -> list[AuthorizerSettings]:
        """The authorizers of a decoded file. All modes but Webhook have one name, and those that
        are `required` must not be missing."""
        listed = section.value.get("authorizers") or []
        release = self._gates.release
        settings = self.file.check(
            section, lambda causes: _authorizers(listed, release, causes), self._gates
        )
        for mode, name, _ in settings:
            expected = mode.lower()
            if mode != modes.WEBHOOK and name != expected:
                text = f"expected name {expected} for authorizer {mode} instead of {name}"
                raise section.error("authorizers", text)
        missing = required - {authorizer.mode for authorizer in settings}
        if missing:
            raise section.error("authorizers", f"missing required types: {sorted(missing)}")
        return settings


def _authorizers(
    listed: Sequence[Object], release: Release, causes: Causes
) -> list[AuthorizerSettings]:
    if not listed:
        causes.required("authorizers", "at least one authorization mode must be defined")
    settings: list[AuthorizerSettings] = []
    seen_modes: set[str] = set()
    seen_names: set[str] = set()
    for index, entry in enumerate(listed):
        path, mode = f"authorizers[{index}]", entry.get("type", "")
        if not _check_mode(mode, path, seen_modes, causes):
            continue
        name = entry.get("name", "")
        _check_name(name, path, seen_names, causes)
        webhook = entry.get("webhook")
        if mode != modes.WEBHOOK:
            if webhook is not None:
                detail = "may only be specified when type=Webhook"
                causes.invalid(f"{path}.webhook", "non-null", detail)
            settings.append(AuthorizerSettings(mode, name))
        elif webhook is None:
            causes.required(f"{path}.webhook", "required when type=Webhook")
        else:
            built = _webhook(webhook, path, release, causes)
            settings.append(AuthorizerSettings(mode, name, built))
    return settings


def _check_mode(mode: str, path: str, seen: set[str], causes: Causes) -> bool:
    if not mode:
        causes.required(f"{path}.type")
    elif mode not in modes.MODES:
        causes.unsupported(f"{path}.type", mode, sorted(modes.MODES))
    elif mode in seen and mode != modes.WEBHOOK:
        causes.duplicate(f"{path}.type", mode)
    else:
        seen.add(mode)
        return True
    return False


def _check_name(name: str, path: str, seen: set[str], causes: Causes) -> None:
    if not name:
        causes.required(f"{path}.name")
    elif name in seen:
        causes.duplicate(f"{path}.name", name)
    elif problems := dns_subdomain(name):
        detail = f"authorizer name is invalid: {', '.join(problems)}"
        causes.invalid(f"{path}.name", name, detail)
    seen.add(name)


def _webhook(value: Object, path: str, release: Release, causes: Causes) -> WebhookSettings:
    timeout = _duration(value, "timeout", 0.0, path, causes, MAX_TIMEOUT)
    authorized = _duration(value, "authorizedTTL", AUTHORIZED_TTL, path, causes)
    unauthorized = _duration(value, "unauthorizedTTL", UNAUTHORIZED_TTL, path, causes)
    conditions = value.get("matchConditions") or []
    _check_choices(value, path, bool(conditions), causes)
    file = _client_file(value.get("connectionInfo") or {}, f"{path}.connectionInfo", causes)
    return WebhookSettings(
        Path(file),
        value.get("subjectAccessReviewVersion", ""),
        authorized if value.get("cacheAuthorizedRequests") is not False else 0.0,
        unauthorized if value.get("cacheUnauthorizedRequests") is not False else 0.0,
        timeout,
        value.get("failurePolicy") == "Deny",
        tuple(_conditions(conditions, f"{path}.matchConditions", release, causes)),
    )


def _check_choices(value: Object, path: str, has_conditions: bool, causes: Causes) -> None:
    for name, choices, detail in (
        ("subjectAccessReviewVersion", ("v1", "v1beta1"), ""),
        (
            "matchConditionSubjectAccessReviewVersion",
            ("v1",),
            "required if match conditions are specified",
        ),
        ("failurePolicy", ("NoOpinion", "Deny"), ""),
    ):
        chosen = value.get(name, "")
        if chosen and chosen not in choices:
            causes.unsupported(f"{path}.{name}", chosen, choices)
        elif not chosen and (not detail or has_conditions):
            causes.required(f"{path}.{name}", detail)


def _duration(
    value: Object,
    name: str,
    default: float,
    path: str,
    causes: Causes,
    most: float | None = None,
) -> float:
    text = value.get(name) or ""
    try:
        seconds = parse_duration(text) if text else 0.0
    except DurationError as error:
        causes.invalid(f"{path}.{name}", text, str(error))
        return default
    seconds = seconds or default
    if not seconds:
        causes.required(f"{path}.{name}")
    elif most is not None and not 0 < seconds <= most:
        causes.invalid(f"{path}.{name}", text, f"must be > 0s and <= {most:g}s")
    elif seconds < 0:
        causes.invalid(f"{path}.{name}", text, "must be > 0s")
    return seconds


_IN_CLUSTER, _FROM_FILE = "InClusterConfig", "KubeConfigFile"


def _client_file(info: Object, path: str, causes: Causes) -> str:
    """The path of the client configuration of a webhook."""
    kind, file = info.get("type", ""), info.get("kubeConfigFile")
    path_of_file = f"{path}.kubeConfigFile"
    if not kind:
        causes.required(f"{path}.type")
    elif kind == _IN_CLUSTER:
        causes.invalid(f"{path}.type", kind, "this server has no configuration of a pod")
    elif kind != _FROM_FILE:
        causes.unsupported(f"{path}.type", kind, (_IN_CLUSTER, _FROM_FILE))
    elif not file:
        causes.required(path_of_file)
    elif not Path(file).is_absolute():
        causes.invalid(path_of_file, file, "must be an absolute path")
    else:
        try:
            if not stat.S_ISREG(Path(file).stat().st_mode):
                causes.invalid(path_of_file, file, "must be a regular file")
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else str(error)
            causes.invalid(path_of_file, file, f"error loading file: {reason}")
    return file or ""


# Match conditions: expressions on the spec of the review that would be sent.


def _object(name: str, *texts: str, **others: Any) -> ObjectType:
    return ObjectType(f"kubernetes.{name}", {**dict.fromkeys(texts, STRING), **others})


_TEXTS = ListType(STRING)
_REQUIREMENT = _object("SelectorRequirement", "key", "operator", values=_TEXTS)
_SELECTORS = {
    selector: _object(kind, "rawSelector", requirements=ListType(_REQUIREMENT))
    for selector, kind in (
        ("fieldSelector", "FieldSelectorAttributes"),
        ("labelSelector", "LabelSelectorAttributes"),
    )
}
_RESOURCE_TEXTS = ("namespace", "verb", "group", "version", "resource", "subresource", "name")
_REQUEST = _object(
    "SubjectAccessReviewSpec",
    "user",
    "uid",
    resourceAttributes=_object("ResourceAttributes", *_RESOURCE_TEXTS, **_SELECTORS),
    nonResourceAttributes=_object("NonResourceAttributes", "path", "verb"),
    groups=_TEXTS,
    extra=MapType(STRING, _TEXTS),
)


def _conditions(
    listed: Sequence[Object], path: str, release: Release, causes: Causes
) -> list[Expression]:
    if len(listed) > _MAX_CONDITIONS:
        causes.too_many(path, len(listed), _MAX_CONDITIONS)
        return []
    conditions: list[Expression] = []
    seen: set[str] = set()
    for index, entry in enumerate(listed):
        text, place = entry.get("expression", ""), f"{path}[{index}].expression"
        if not text.strip():
            causes.required(place)
        elif text in seen:
            causes.duplicate(place, text)
        else:
            try:
                conditions.append(Expression(text, {"request": _REQUEST}, release, is_rule=True))
            except ExpressionError as error:
                causes.invalid(place, text, str(error))
        seen.add(text)
    return conditions


async def matches(conditions: Sequence[Expression], spec: Mapping[str, Any]) -> bool:
    """Whether all conditions hold for the spec of a review; raises ExpressionError if one fails and
    none is false."""
    if not conditions:
        return True
    values = {"request": _complete(spec)}
    problems: list[str] = []
    for condition in conditions:
        try:
            if not await condition.evaluate(values):
                return False
        except ExpressionError as error:
            text = f"cel evaluation error: expression '{condition.text}' resulted in error: {error}"
            problems.append(text)
    if problems:
        raise ExpressionError(problems[0] if len(problems) == 1 else f"[{', '.join(problems)}]")
    return True


def _complete(spec: Mapping[str, Any]) -> dict[str, Any]:
    """A spec with all texts, also empty ones."""
    complete = {
        "user": "",
        "uid": "",
        "groups": spec.get("groups") or spec.get("group") or [],
        "extra": {},
        **spec,
    }
    complete.pop("group", None)
    attributes = spec.get("resourceAttributes")
    if attributes is not None:
        complete["resourceAttributes"] = {**dict.fromkeys(_RESOURCE_TEXTS, ""), **attributes}
    return complete
