"""The plugin: finds a policy that allows a pod, and applies the policy's defaults."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from fairlead.admission.plugin import CREATE, UPDATE, Attributes
from fairlead.admission.plugins.base import PODS, Object, PluginBase, mutation_error, refusal
from fairlead.admission.plugins.certificates import Allowed
from fairlead.admission.plugins.pod_security_policy.defaults import fill
from fairlead.admission.plugins.pod_security_policy.policy import SecurityPolicy, policies_of
from fairlead.admission.plugins.pod_security_policy.rules import faults
from fairlead.admission.plugins.version_facts import FindCollection, PerCollectionCache
from fairlead.auth.authentication.user import User, account_groups, account_user_name
from fairlead.auth.authorization import attributes as questions
from fairlead.auth.authorization.escalation import only_housekeeping
from fairlead.base.dialect import Dialect
from fairlead.base.errors import Cause
from fairlead.fields.values import copied
from fairlead.resources.core.pods.annotations import keys

POLICIES = "policy/v1beta1/podsecuritypolicies"
_EPHEMERAL = f"{PODS}/ephemeralcontainers"
_GROUPS = ("policy", "extensions")  # rules may name the former group `extensions`
_NO_POLICIES = "PodSecurityPolicy: no providers available to validate pod request"


class _PolicyMatch(NamedTuple):
    """A policy that allows a pod, and the pod with the policy's defaults."""

    policy: str
    pod: Object


class PodSecurityPolicy(PluginBase):
    name = "PodSecurityPolicy"
    depends_on_other_state: tuple[str, ...] = (PODS,)

    def __init__(self, dialect: Dialect, collection: FindCollection, allowed: Allowed) -> None:
        self._dialect = dialect
        self._keys = keys(dialect)
        self._allowed = allowed
        self._mark = dialect.label("@/psp")
        self._note = dialect.group_name("podsecuritypolicy.admission.@/")
        self._policies = PerCollectionCache(
            collection, POLICIES, lambda entries: policies_of(entries, dialect)
        )

    async def admit(self, attributes: Attributes) -> None:
        if attributes.resource.key != PODS or attributes.operation != CREATE:
            return
        pod = attributes.value
        assert pod is not None
        policies = self._policies.get()
        if not policies:
            raise mutation_error(attributes, _NO_POLICIES)
        match, causes = await self._search(attributes, pod, policies, changing=True)
        if match is None:
            message = f"PodSecurityPolicy: unable to admit pod: {_listed(causes)}"
            raise mutation_error(attributes, message)
        pod["spec"] = match.pod["spec"]
        annotations = match.pod["metadata"].get("annotations") or {}
        pod["metadata"]["annotations"] = {**annotations, self._mark: match.policy}
        attributes.context.annotations[f"{self._note}admit-policy"] = match.policy

    async def validate(self, attributes: Attributes) -> None:
        if attributes.resource.key not in (PODS, _EPHEMERAL):
            return
        if attributes.operation not in (CREATE, UPDATE):
            return
        pod, old = attributes.value, attributes.old
        assert pod is not None
        if old is not None and only_housekeeping(pod, old):
            return
        policies = self._policies.get()
        if not policies:
            raise refusal(attributes, _NO_POLICIES)
        # Try the annotated policy first: it most likely still allows the pod.
        hint = (pod["metadata"].get("annotations") or {}).get(self._mark)
        ordered = sorted(policies, key=lambda policy: policy.name != hint)
        match, causes = await self._search(attributes, pod, ordered, changing=False)
        if match is None:
            message = f"PodSecurityPolicy: unable to validate pod: {_listed(causes)}"
            raise refusal(attributes, message)
        attributes.context.annotations[f"{self._note}validate-policy"] = match.policy

    async def _search(
        self,
        attributes: Attributes,
        pod: Object,
        policies: Sequence[SecurityPolicy],
        *,
        changing: bool,
    ) -> tuple[_PolicyMatch | None, list[Cause]]:
        """The first policy that allows the pod unchanged, else the first that allows it with
        defaults. If there is none, also returns the violations of the policies that could be
        used."""
        changed: _PolicyMatch | None = None
        refused: list[tuple[str, list[Cause]]] = []
        for policy in policies:
            filled = copied(pod)
            fill(policy, filled, self._keys)
            causes = faults(policy, filled, self._dialect)
            if causes:
                refused.append((policy.name, causes))
                continue
            as_it_is = filled == pod
            if not as_it_is and (not changing or changed is not None):
                continue
            if await self._may_use(attributes, pod, policy.name):
                match = _PolicyMatch(policy.name, filled)
                if as_it_is:
                    return match, []
                changed = match
        if changed is not None:
            return changed, []
        all_causes: list[Cause] = []
        for name, found_wrong in refused:
            if await self._may_use(attributes, pod, name):
                all_causes += found_wrong
        return None, all_causes

    async def _may_use(self, attributes: Attributes, pod: Object, policy: str) -> bool:
        """Whether the user or the pod's service account may use a policy."""
        namespace = attributes.namespace
        users = [attributes.user]
        account = pod["spec"].get("serviceAccountName")
        if account:
            name = account_user_name(namespace, account)
            users.append(User(name, groups=account_groups(namespace)))
        for user in users:
            for group in _GROUPS:
                access = questions.Attributes(
                    *(user, "use", group, "*", "podsecuritypolicies", "", namespace, policy)
                )
                if await self._allowed(access):
                    return True
        return False


def _listed(causes: list[Cause]) -> str:
    return f"[{' '.join(f'{cause.field}: {cause.message}' for cause in causes)}]"
