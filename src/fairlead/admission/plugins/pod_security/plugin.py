"""The plugin: checks pods, warns about pod templates, and checks the labels of namespaces."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import TYPE_CHECKING, Final, NamedTuple

from fairlead.admission.plugin import CREATE, UPDATE, Attributes
from fairlead.admission.plugins.base import PODS, Object, PluginBase, refusal
from fairlead.admission.plugins.pod_security import existing_pods, pods, standards
from fairlead.admission.plugins.pod_security.levels import Labels, Policy, Standard
from fairlead.admission.plugins.pod_security.settings import Settings
from fairlead.admission.plugins.version_facts import FindCollection, FindNamespace, PerObjectCache
from fairlead.base.dialect import Dialect
from fairlead.base.errors import ResourceRef, invalid
from fairlead.base.release import V1_25, Release
from fairlead.resources.causes import Causes, new_causes, quote
from fairlead.resources.core.pods.container_lists import all_containers
from fairlead.storage.version import Version

if TYPE_CHECKING:  # loaded lazily, because it imports the rules of pods
    from fairlead.resources.core.pods.annotations import Keys

NAMESPACES: Final = "core/v1/namespaces"
_POD_WRITES = (PODS, f"{PODS}/ephemeralcontainers")
_IN_SPEC: Final[tuple[str, ...]] = ("spec", "template")
# The paths of pod templates in workload objects.
_TEMPLATES: Final = {
    "core/v1/podtemplates": ("template",),
    "core/v1/replicationcontrollers": _IN_SPEC,
    "apps/v1/replicasets": _IN_SPEC,
    "apps/v1/deployments": _IN_SPEC,
    "apps/v1/statefulsets": _IN_SPEC,
    "apps/v1/daemonsets": _IN_SPEC,
    "batch/v1/jobs": _IN_SPEC,
    "batch/v1/cronjobs": ("spec", "jobTemplate", "spec", "template"),
}
_CHECKED_RESOURCES: Final = frozenset({NAMESPACES, *_POD_WRITES, *_TEMPLATES})


class _NamespacePolicy(NamedTuple):
    """The policy of a namespace, the error in its labels, and whether pods and templates can skip
    the checks."""

    policy: Policy
    error: str
    pods_pass: bool
    templates_pass: bool
    enforced: str  # the name of the enforced standard


def _namespace_policy(policy: Policy, error: str = "") -> _NamespacePolicy:
    pods_pass, templates_pass = policy.allows_all and not error, policy.is_silent and not error
    return _NamespacePolicy(policy, error, pods_pass, templates_pass, str(policy.enforce))


class PodSecurity(PluginBase):
    name = "PodSecurity"
    concerns: frozenset[str] | None = frozenset({NAMESPACES, PODS, *_TEMPLATES})
    # The warnings for a namespace update depend on the pods in it.
    depends_on_other_state: tuple[str, ...] = (NAMESPACES,)

    def __init__(
        self,
        dialect: Dialect,
        namespace: FindNamespace,
        collection: FindCollection,
        settings: Settings | None = None,
        release: Release = V1_25,
    ) -> None:
        self._release = release
        self._find_namespace = namespace
        self._collection = collection
        self._settings = settings or Settings()
        self._labels = Labels(dialect, self._settings.defaults)
        self._dialect = dialect
        self._prefix = dialect.label("pod-security.@/")
        self._namespace_policy = PerObjectCache(self._read)

    @property
    def _keys(self) -> Keys:
        return pods.keys(self._dialect)

    def _read(self, entry: Version) -> _NamespacePolicy:
        causes = Causes()
        policy = self._labels.policy(entry.labels, causes)
        return _namespace_policy(policy, _joined(causes))

    def validate(self, attributes: Attributes) -> Awaitable[None] | None:
        key = attributes.resource.key
        if key not in _CHECKED_RESOURCES or attributes.operation not in (CREATE, UPDATE):
            return None
        if key == NAMESPACES:
            return self._check_namespace(attributes)
        if key in _POD_WRITES:
            self._check_pod(attributes)
        else:
            self._check_template(attributes, _TEMPLATES[key])
        return None

    def _check_pod(self, attributes: Attributes) -> None:
        if self._is_exempt(attributes):
            return
        policy = self._policy_in(attributes.namespace)
        if policy.pods_pass:
            self._note(attributes, "enforce-policy", policy.enforced)
            return
        pod, old = attributes.value, attributes.old
        assert pod is not None
        if old is not None and not _is_significant(pod, old, self._keys):
            return
        self._evaluate(attributes, policy, pod, enforced=True)

    def _check_template(self, attributes: Attributes, path: tuple[str, ...]) -> None:
        if self._is_exempt(attributes):
            return
        policy = self._policy_in(attributes.namespace)
        if policy.templates_pass:
            return
        template = attributes.value
        for step in path:
            template = (template or {}).get(step)
        if template is not None and template.get("spec") is not None:
            self._evaluate(attributes, policy, template, enforced=False)

    def _is_exempt(self, attributes: Attributes) -> bool:
        settings = self._settings
        if attributes.namespace in settings.namespaces:
            self._note(attributes, "exempt", "namespace")
        elif attributes.user.name in settings.usernames:
            self._note(attributes, "exempt", "user")
        else:
            return False
        return True

    def _policy_in(self, namespace: str) -> _NamespacePolicy:
        """The policy of a namespace; the default for a missing one, which other plugins reject."""
        entry = self._find_namespace(namespace)
        return (
            self._namespace_policy.of(entry)
            if entry is not None
            else _namespace_policy(self._settings.defaults)
        )

    def _evaluate(
        self,
        attributes: Attributes,
        namespace_policy: _NamespacePolicy,
        value: Object,
        *,
        enforced: bool,
    ) -> None:
        if value["spec"].get("runtimeClassName") in self._settings.runtime_classes:
            self._note(attributes, "exempt", "runtimeClass")
            return
        if namespace_policy.error:
            self._note(attributes, "error", f"Failed to parse policy: {namespace_policy.error}")
        pod, policy = pods.pod_of(value, self._keys, self._release), namespace_policy.policy
        annotations: dict[Standard, str] = {}

        def faults(standard: Standard) -> str:
            if standard not in annotations:
                annotations[standard] = standards.listed(standards.violations(standard, pod))
            return annotations[standard]

        if enforced:
            self._note(attributes, "enforce-policy", namespace_policy.enforced)
        if faults(policy.audit):
            self._note(
                attributes,
                "audit-violations",
                _format_violation(policy.audit, faults(policy.audit)),
            )
        if enforced and faults(policy.enforce):
            message = (
                f'violates PodSecurity "{namespace_policy.enforced}": {faults(policy.enforce)}'
            )
            raise refusal(attributes, message)
        if faults(policy.warn):
            attributes.context.warn(_format_violation(policy.warn, faults(policy.warn)))

    def _note(self, attributes: Attributes, name: str, text: str) -> None:
        attributes.context.annotations[self._prefix + name] = text

    def _check_namespace(self, attributes: Attributes) -> Awaitable[None] | None:
        assert attributes.value is not None
        gates = attributes.context.gates
        causes, old_causes = new_causes(gates), new_causes(gates)
        policy = self._labels.policy(_labels(attributes.value), causes)
        old = None
        if attributes.old is not None:
            old = self._labels.policy(_labels(attributes.old), old_causes)
        if causes and causes != old_causes:
            raise invalid(ResourceRef("", "Namespace", attributes.name), causes)
        exempt = attributes.name in self._settings.namespaces
        if old is None:
            if exempt:
                self._warn_of_exemption(attributes, policy)
        elif _is_tightened(policy.enforce, old.enforce):
            if exempt:
                self._warn_of_exemption(attributes, policy)
            else:
                return self._warn_of_pods(attributes, policy.enforce)
        return None

    def _warn_of_exemption(self, attributes: Attributes, policy: Policy) -> None:
        if not policy.allows_all and not policy.is_like(self._settings.defaults):
            attributes.context.warn(
                f'namespace "{attributes.name}" is exempt from Pod Security, and the policy'
                f" ({policy}) will be ignored"
            )

    def _warn_of_pods(self, attributes: Attributes, enforce: Standard) -> Awaitable[None]:
        entries = self._collection(PODS).current(attributes.name)
        exempt = self._settings.runtime_classes
        return existing_pods.warn(attributes, entries, enforce, exempt, self._keys, self._release)


def _labels(namespace: Object) -> dict[str, str]:
    return namespace["metadata"].get("labels") or {}


def _joined(causes: Causes) -> str:
    texts = [f"{cause.field}: {cause.message}" for cause in causes]
    return texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]" if texts else ""


def _format_violation(standard: Standard, faults: str) -> str:
    return f"would violate PodSecurity {quote(str(standard))}: {faults}"


def _is_tightened(new: Standard, old: Standard) -> bool:
    """Whether pods that were allowed before may now be rejected."""
    if new == old or new.allows_all:
        return False
    return new.minor != old.minor or new.is_stricter_than(old)


def _is_significant(pod: Object, old: Object, annotation_keys: Keys) -> bool:
    """Whether an update of a pod can affect the checks: of the mutable fields these are images,
    seccomp profiles and ephemeral containers."""
    return not _significant(pod, annotation_keys) <= _significant(old, annotation_keys)


def _significant(pod: Object, annotation_keys: Keys) -> set[tuple[str, str, str]]:
    annotations = pod["metadata"].get("annotations") or {}
    prefix = annotation_keys.seccomp_container
    return {
        (
            container["name"],
            container.get("image", ""),
            annotations.get(prefix + container["name"], ""),
        )
        for container in all_containers(pod["spec"])
    }
