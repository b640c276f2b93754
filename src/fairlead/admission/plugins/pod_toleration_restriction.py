"""PodTolerationRestriction: default and allowed tolerations of pods, by namespace."""

from __future__ import annotations

from typing import NamedTuple

import orjson

from fairlead.admission.plugin import CREATE, UPDATE, Attributes
from fairlead.admission.plugins.base import (
    Object,
    PluginBase,
    mutation_error,
    refusal,
    written_pod_spec,
)
from fairlead.admission.plugins.default_toleration_seconds import default_tolerations
from fairlead.admission.plugins.namespaces import NamespaceFacts
from fairlead.admission.plugins.tolerations import TolerationSet, identity, merged, taint_of
from fairlead.admission.plugins.version_facts import FindNamespace
from fairlead.base.dialect import Dialect
from fairlead.codec.configuration_files import Section
from fairlead.codec.types.decode import decoder
from fairlead.codec.types.mismatch import DecodeError
from fairlead.codec.types.model import TypeProvider
from fairlead.resources.causes import Causes
from fairlead.resources.core.pods import NO_SCHEDULE
from fairlead.resources.core.pods.resources import BEST_EFFORT, qos_class
from fairlead.resources.core.pods.scheduling import check_tolerations

Tolerations = list[Object]

_DEFAULTS = "scheduler.alpha.@/defaultTolerations"
_ALLOWED = "scheduler.alpha.@/tolerationsWhitelist"
_MEMORY_PRESSURE = "node.@/memory-pressure"
_CONFLICT = "namespace tolerations and pod tolerations conflict"
_NOT_ALLOWED = (
    "pod tolerations (possibly merged with namespace default tolerations) conflict with its"
    " namespace whitelist"
)


class _NamespaceTolerations(NamedTuple):
    """The annotations of a namespace: None if missing, an error text if invalid."""

    defaults: Tolerations | str | None
    allowed: Tolerations | str | None


class PodTolerationRestriction(PluginBase):
    name = "PodTolerationRestriction"

    def __init__(
        self,
        dialect: Dialect,
        find: FindNamespace,
        types: TypeProvider,
        section: Section | None = None,
    ) -> None:
        self._defaults = _settings(section, "default")
        self._allowed = _settings(section, "whitelist")
        self._decode = decoder(types.struct("core/v1.Toleration"))
        self._refuses_conflicts = dialect.toleration_conflicts_refused
        self._default_tolerations = default_tolerations(dialect)
        self._memory_pressure = {
            "key": dialect.label(_MEMORY_PRESSURE),
            "operator": "Exists",
            "effect": NO_SCHEDULE,
        }
        self._unjudged: Tolerations = []
        if dialect.usual_tolerations_allowed:  # tolerations that the server adds
            self._unjudged = [*self._default_tolerations, self._memory_pressure]
        defaults, allowed = dialect.label(_DEFAULTS), dialect.label(_ALLOWED)
        self._configured = NamespaceFacts(
            find,
            lambda annotations: _NamespaceTolerations(
                self._read(annotations, defaults), self._read(annotations, allowed)
            ),
        )

    def _read(self, annotations: Object, name: str) -> Tolerations | str | None:
        text = annotations.get(name)
        if not text:
            return None if text is None else []
        try:
            listed = orjson.loads(text)
            if not isinstance(listed, list):
                return [] if listed is None else f"annotation {name} is not a list"
            return [self._decode(item, []) for item in listed]
        except (orjson.JSONDecodeError, DecodeError) as error:
            return f"annotation {name} cannot be read: {error}"

    def admit(self, attributes: Attributes) -> None:
        spec = written_pod_spec(attributes, (CREATE, UPDATE))
        if spec is None:
            return
        added: Tolerations = []
        if attributes.operation == CREATE:
            configured = self._configured.of(attributes.namespace).defaults
            added = [
                dict(toleration) for toleration in _readable(attributes, configured, self._defaults)
            ]
            if self._refuses_conflicts and self._conflict(added, spec.get("tolerations") or []):
                raise mutation_error(attributes, _CONFLICT)
        if qos_class(spec) != BEST_EFFORT:
            added.append(dict(self._memory_pressure))
        if added:
            spec["tolerations"] = merged(spec.get("tolerations") or [], added)
        if not self._allows(attributes, spec):
            raise mutation_error(attributes, _NOT_ALLOWED)

    def validate(self, attributes: Attributes) -> None:
        spec = written_pod_spec(attributes, (CREATE, UPDATE))
        if spec is not None and not self._allows(attributes, spec):
            raise refusal(attributes, _NOT_ALLOWED)

    def _allows(self, attributes: Attributes, spec: Object) -> bool:
        tolerations = spec.get("tolerations")
        if not tolerations:
            return True
        configured = self._configured.of(attributes.namespace).allowed
        allowed = _readable(attributes, configured, self._allowed)
        if not allowed:
            return True
        judged = [toleration for toleration in tolerations if toleration not in self._unjudged]
        return all(map(TolerationSet(allowed).covers, judged))

    def _conflict(self, defaults: Tolerations, requested: Tolerations) -> bool:
        """Whether the pod and the defaults have different tolerations for the same taint. The
        tolerations that DefaultTolerationSeconds adds do not count."""
        own = [
            toleration for toleration in requested if toleration not in self._default_tolerations
        ]
        taints, same = set(map(taint_of, own)), set(map(identity, own))
        return any(
            taint_of(toleration) in taints and identity(toleration) not in same
            for toleration in defaults
        )


def _readable(
    attributes: Attributes, configured: Tolerations | str | None, otherwise: Tolerations
) -> Tolerations:
    if isinstance(configured, str):
        raise mutation_error(attributes, f'namespace "{attributes.namespace}": {configured}')
    return otherwise if configured is None else configured


def _settings(section: Section | None, name: str) -> Tolerations:
    tolerations: Tolerations = (section.value.get(name) if section is not None else None) or []
    causes = Causes()
    check_tolerations(tolerations, name, causes)
    if causes:
        assert section is not None
        raise section.error(causes[0].field, causes[0].message)
    return tolerations
