"""Users may only name parameters in policies and bindings that they may read themselves: otherwise
a policy could show them the content of objects that they may not read.

This is not a plugin that can be disabled. It runs as one of the last validating steps, on objects
whose other rules hold.
"""

from __future__ import annotations

from fairlead.admission.plugin import CREATE, UPDATE, Attributes, PluginBase
from fairlead.admission.policies.inputs import Decide
from fairlead.admission.policies.parameters import param_resource
from fairlead.auth.authentication.user import MASTERS, User
from fairlead.auth.authorization.attributes import Attributes as AccessAttributes
from fairlead.base.errors import StatusError, invalid
from fairlead.codec.types.model import Object
from fairlead.resources.causes import new_causes
from fairlead.resources.registry import Resource, Resources

_GROUP = "admissionregistration/v1"
_POLICIES = frozenset(
    {f"{_GROUP}/mutatingadmissionpolicies", f"{_GROUP}/validatingadmissionpolicies"}
)
# The policies of each kind of bindings.
_BINDINGS = {
    f"{_GROUP}/mutatingadmissionpolicybindings": f"{_GROUP}/mutatingadmissionpolicies",
    f"{_GROUP}/validatingadmissionpolicybindings": f"{_GROUP}/validatingadmissionpolicies",
}
_ANY = "for all groups, versions and resources"


class ParamAccess(PluginBase):
    name = "ParamAccess"
    concerns: frozenset[str] | None = _POLICIES | _BINDINGS.keys()
    depends_on_other_state = concerns or ()

    def __init__(self, resources: Resources, decide: Decide) -> None:
        self._resources = resources
        self._decide = decide

    async def validate(self, attributes: Attributes) -> None:
        value, key = attributes.value, attributes.resource.key
        if value is None or attributes.operation not in (CREATE, UPDATE):
            return
        if MASTERS in attributes.user.groups:
            return
        spec, old = value["spec"], (attributes.old or {}).get("spec") or {}
        if key in _POLICIES and spec.get("paramKind") not in (None, old.get("paramKind")):
            await self._check_kind(attributes, spec["paramKind"])
        elif key in _BINDINGS and spec.get("paramRef") is not None:
            names = ("paramRef", "policyName")
            if any(spec.get(name) != old.get(name) for name in names):
                await self._check_ref(attributes, spec)

    async def _check_kind(self, attributes: Attributes, kind: Object) -> None:
        resource = param_resource(self._resources, kind)
        group, _, version = kind.get("apiVersion", "").rpartition("/")
        name = "*" if resource is None else resource.name
        user = attributes.user
        access = AccessAttributes(user, "get", group, version, name, "", "*", "*")
        if (await self._decide(access)).allowed:
            return
        text = f'user {_shown(user)} must have "get" permission on all objects of the referenced'
        text += f" paramKind (kind={kind.get('kind', '')}, apiVersion={kind.get('apiVersion', '')})"
        raise _refused(attributes, "spec.paramKind", text)

    async def _check_ref(self, attributes: Attributes, spec: Object) -> None:
        ref, user = spec["paramRef"], attributes.user
        policies = _BINDINGS[attributes.resource.key]
        policy = attributes.context.lookup(policies, "", spec["policyName"])
        kind = policy["spec"].get("paramKind") if policy is not None else None
        resource: Resource | None = None
        group = version = name = "*"
        if kind is not None:
            group, _, version = kind.get("apiVersion", "").rpartition("/")
            resource = param_resource(self._resources, kind)
            name = "*" if resource is None else resource.name
        verb = "get" if ref.get("name") else "list"
        access = AccessAttributes(
            user, verb, group, version, name, "", ref.get("namespace", ""), ref.get("name", "")
        )
        if (await self._decide(access)).allowed:
            return
        lacks = f'user {_shown(user)} does not have "{verb}" permission'
        needed = f"to determine minimum required permissions and {lacks} {_ANY}"
        text = f"{lacks} on the object referenced by paramRef"
        if policy is None:
            text = f"unable to get policy {spec['policyName']} {needed}"
        elif kind is not None and resource is None:
            text = f"unable to resolve paramKind {_shown_kind(kind)} {needed}"
        raise _refused(attributes, "spec.paramRef", text)


def _shown(user: User) -> str:
    """A user as the reference prints it."""
    extra = " ".join(f"{key}:[{' '.join(values)}]" for key, values in sorted(user.extra.items()))
    return f"&{{{user.name} {user.uid} [{' '.join(user.groups)}] map[{extra}]}}"


def _shown_kind(kind: Object) -> str:
    return f"&ParamKind{{APIVersion:{kind.get('apiVersion', '')},Kind:{kind.get('kind', '')},}}"


def _refused(attributes: Attributes, field: str, text: str) -> StatusError:
    causes = new_causes(attributes.context.gates)
    causes.forbidden(field, text)
    return invalid(attributes.resource.kind_ref(attributes.name), causes)
