"""What is said of a document that is of another kind than the resource it was sent to."""

from __future__ import annotations

from fairlead.kinds.resources import Resource, Resources

_SCHEME = "pkg/api/legacyscheme/scheme.go:30"
# These groups know no types but their own, and the others do not know theirs.
_SCHEMES_OF_THEIR_OWN = {
    "apiextensions": "k8s.io/apiextensions-apiserver/pkg/apiserver/apiserver.go:55",
    "apiregistration": "k8s.io/kube-aggregator/pkg/apiserver/scheme/scheme.go:32",
}

# Types that nothing serves as a resource: known in whatever version, in every version that is
# served, and in the core group.
_UNVERSIONED = frozenset({"APIGroup", "APIGroupList", "APIResourceList", "APIVersions", "Status"})
_OPTIONS = frozenset(
    {
        "CreateOptions",
        "DeleteOptions",
        "GetOptions",
        "ListOptions",
        "PatchOptions",
        "UpdateOptions",
        "WatchEvent",
    }
)
_CORE = frozenset(
    {
        "List",
        "NodeProxyOptions",
        "PodAttachOptions",
        "PodExecOptions",
        "PodLogOptions",
        "PodPortForwardOptions",
        "PodProxyOptions",
        "PodStatusResult",
        "RangeAllocation",
        "SerializedReference",
        "ServiceProxyOptions",
    }
)


def foreign_kind(resources: Resources, resource: Resource, api_version: str, kind: str) -> str:
    """Why a document of the given type cannot be one of the resource."""
    short = resource.body_version.partition("/")[0]
    scheme = _SCHEMES_OF_THEIR_OWN.get(short, _SCHEME)
    version = _version_of(resources, scheme, api_version, kind)
    if not version:
        return f'no kind "{kind}" is registered for version "{api_version}" in scheme "{scheme}"'
    return f"converting ({version}.{kind}) to ({short}.{resource.kind}): unknown conversion"


def _version_of(resources: Resources, scheme: str, api_version: str, kind: str) -> str:
    """The version in which a scheme defines a type; empty for one that it does not know."""
    if kind in _UNVERSIONED or (api_version == "v1" and kind in _OPTIONS):
        return "v1"
    group, _, version = api_version.rpartition("/")
    served = resources.groups.get(group, {}).get(version)
    if served is None or "." in served.short:
        return ""
    if _SCHEMES_OF_THEIR_OWN.get(served.short, _SCHEME) != scheme:
        return ""
    if kind in _OPTIONS or (api_version == "v1" and kind in _CORE):
        return "v1"
    known = resources.struct_of(api_version, kind)
    if known is not None and known.is_kind:
        return known.group_version.partition("/")[2]
    item = kind.removesuffix("List")
    lists = item != kind and any(
        one.kind == item and "list" in one.verbs for one in served.resources.values()
    )
    return version if lists else ""
