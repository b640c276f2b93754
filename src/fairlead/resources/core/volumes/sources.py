"""Checks of the volume sources that pods and persistent volumes share. A check takes the source,
its path, the causes and the context.
"""

from __future__ import annotations

from collections.abc import Callable

from fairlead.codec.types.names import dns_label, dns_subdomain
from fairlead.resources.behaviour import Object
from fairlead.resources.causes import Causes, GoValue
from fairlead.resources.context import Context
from fairlead.resources.core.volumes.paths import descending_path, no_backsteps
from fairlead.resources.metadata import go_strings

Check = Callable[[Object, str, Causes, Context], None]

HOST_PATH_TYPES = (
    "",
    "BlockDevice",
    "CharDevice",
    "Directory",
    "DirectoryOrCreate",
    "File",
    "FileOrCreate",
    "Socket",
)
CACHING_MODES = ("None", "ReadOnly", "ReadWrite")
DISK_KINDS = ("Dedicated", "Managed", "Shared")
MANAGED_DISK = (
    "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks"
    "/{disk-id}"
)
BLOB_DISK = "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd"
HOST_PORTS = "must be a host:port pair or multiple pairs separated by commas"
LUN_RANGE = "must be between 0 and 255, inclusive"
PARTITION_RANGE = "must be between 1 and 255, inclusive"


def requires(*names: str) -> Check:
    """The check of a source whose only rule is that these fields are set."""

    def check(source: Object, path: str, causes: Causes, context: Context) -> None:
        for name in names:
            if not source.get(name):
                causes.required(f"{path}.{name}")

    return check


def secret_reference(
    reference: Object | None, path: str, causes: Causes, *, with_namespace: bool = False
) -> None:
    """Check a reference, if set: it must name a secret (and its namespace)."""
    if reference is None:
        return
    if not reference.get("name"):
        causes.required(f"{path}.name")
    if with_namespace and not reference.get("namespace"):
        causes.required(f"{path}.namespace")


def check_host_path(source: Object, path: str, causes: Causes, context: Context) -> None:
    if not source["path"]:
        causes.required(f"{path}.path")
        return
    no_backsteps(source["path"], f"{path}.path", causes)
    kind = source.get("type")
    if kind and kind not in HOST_PATH_TYPES:
        causes.unsupported(f"{path}.type", kind, HOST_PATH_TYPES)


def check_local(source: Object, path: str, causes: Causes, context: Context) -> None:
    if not source["path"]:
        causes.required(f"{path}.path")
    else:
        no_backsteps(source["path"], f"{path}.path", causes)


def check_empty_dir(source: Object, path: str, causes: Causes, context: Context) -> None:
    if (source.get("sizeLimit") or "").startswith("-"):
        causes.forbidden(f"{path}.sizeLimit", "SizeLimit field must be a valid resource quantity")


def check_git_repo(source: Object, path: str, causes: Causes, context: Context) -> None:
    if not source["repository"]:
        causes.required(f"{path}.repository")
    descending_path(source.get("directory", ""), f"{path}.directory", causes)


def partitioned(name: str) -> Check:
    """Return the check of a source whose field `name` is a disk, with an optional partition."""

    def check(source: Object, path: str, causes: Causes, context: Context) -> None:
        if not source[name]:
            causes.required(f"{path}.{name}")
        partition = source.get("partition", 0)
        if not 0 <= partition <= 255:
            causes.invalid(f"{path}.partition", partition, PARTITION_RANGE)

    return check


def check_nfs(source: Object, path: str, causes: Causes, context: Context) -> None:
    if not source["server"]:
        causes.required(f"{path}.server")
    if not source["path"]:
        causes.required(f"{path}.path")
    if not source["path"].startswith("/"):
        causes.invalid(f"{path}.path", source["path"], "must be an absolute path")


def check_flocker(source: Object, path: str, causes: Causes, context: Context) -> None:
    name, uuid = source.get("datasetName", ""), source.get("datasetUUID", "")
    if not name and not uuid:
        causes.required(path, "one of datasetName and datasetUUID is required")
    if name and uuid:
        detail = "datasetName and datasetUUID can not be specified simultaneously"
        causes.invalid(path, "resource", detail)
    if "/" in name:
        causes.invalid(f"{path}.datasetName", name, "must not contain '/'")


def check_quobyte(source: Object, path: str, causes: Causes, context: Context) -> None:
    registry = source["registry"]
    if not registry:
        causes.required(f"{path}.registry", HOST_PORTS)
    elif len(source.get("tenant", "")) >= 65:
        detail = "must be a UUID and may not exceed a length of 64 characters"
        causes.required(f"{path}.tenant", detail)
    else:
        for pair in registry.split(","):
            if not _is_host_and_port(pair):
                causes.invalid(f"{path}.registry", registry, HOST_PORTS)
    if not source["volume"]:
        causes.required(f"{path}.volume")


def _is_host_and_port(text: str) -> bool:
    host, colon, _ = text.rpartition(":")
    return bool(colon) and (":" not in host or (host[:1] == "[" and host[-1:] == "]"))


def check_fc(source: Object, path: str, causes: Causes, context: Context) -> None:
    names, ids = source.get("targetWWNs") or [], source.get("wwids") or []
    if not names and not ids:
        detail = "must specify either targetWWNs or wwids, but not both"
        causes.required(f"{path}.targetWWNs", detail)
    if names and ids:
        detail = "targetWWNs and wwids can not be specified simultaneously"
        causes.invalid(f"{path}.targetWWNs", GoValue(go_strings(names)), detail)
    if names:
        lun = source.get("lun")
        if lun is None:
            causes.required(f"{path}.lun", "lun is required if targetWWNs is specified")
        elif not 0 <= lun <= 255:
            causes.invalid(f"{path}.lun", lun, LUN_RANGE)


def check_flex(source: Object, path: str, causes: Causes, context: Context) -> None:
    if not source["driver"]:
        causes.required(f"{path}.driver")
    labels, groups = context.dialect.label("@"), context.dialect.group_name("@")
    for key in source.get("options") or ():
        owner = "." + key.partition("/")[0].lower()
        if owner.endswith((f".{labels}", f".{groups}")):
            reserved = f"{labels} and {groups} namespaces are reserved"
            causes.invalid(f"{path}.options[{key}]", key, reserved)


def check_azure_disk(source: Object, path: str, causes: Causes, context: Context) -> None:
    for name in ("diskName", "diskURI"):
        if not source[name]:
            causes.required(f"{path}.{name}")
    caching, kind, uri = source.get("cachingMode"), source.get("kind"), source["diskURI"]
    if caching is not None and caching not in CACHING_MODES:
        causes.unsupported(f"{path}.cachingMode", caching, CACHING_MODES)
    if kind is not None and kind not in DISK_KINDS:
        causes.unsupported(f"{path}.kind", kind, DISK_KINDS)
    if kind == "Managed" and not uri.startswith("/subscriptions/"):
        causes.unsupported(f"{path}.diskURI", uri, (MANAGED_DISK,))
    if kind not in (None, "Managed") and not uri.startswith("https://"):
        causes.unsupported(f"{path}.diskURI", uri, (BLOB_DISK,))


def cinder(*, with_namespace: bool) -> Check:
    def check(source: Object, path: str, causes: Causes, context: Context) -> None:
        if not source["volumeID"]:
            causes.required(f"{path}.volumeID")
        reference = source.get("secretRef")
        secret_reference(reference, f"{path}.secretRef", causes, with_namespace=with_namespace)

    return check


def storage_os(*, with_namespace: bool) -> Check:
    def check(source: Object, path: str, causes: Causes, context: Context) -> None:
        name, namespace = source.get("volumeName", ""), source.get("volumeNamespace", "")
        if not name:
            causes.required(f"{path}.volumeName")
        else:
            causes.invalid_each(f"{path}.volumeName", name, dns_label(name))
        if namespace:
            causes.invalid_each(f"{path}.volumeNamespace", namespace, dns_label(namespace))
        reference = source.get("secretRef")
        secret_reference(reference, f"{path}.secretRef", causes, with_namespace=with_namespace)

    return check


def csi_driver_name(name: str, path: str, causes: Causes) -> None:
    if not name:
        causes.required(path)
        if causes.has_later_wording:  # later releases report an empty name only once
            return
    if len(name) > 63:
        causes.too_long(path, 63)
    causes.invalid_each(path, name, dns_subdomain(name.lower()))
