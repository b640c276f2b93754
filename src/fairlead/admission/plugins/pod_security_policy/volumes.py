"""Checks the volumes of a pod against a policy."""

from __future__ import annotations

from fairlead.admission.plugins.pod_security_policy.policy import ANY, SecurityPolicy
from fairlead.codec.types.model import Object
from fairlead.resources.causes import Causes
from fairlead.resources.core.pods.container_lists import containers_with_paths

_OTHER_NAMES = {"cephfs": "cephFS"}  # volume types whose field has another spelling


def check_volumes(policy: SecurityPolicy, spec: Object, ca_map: str, causes: Causes) -> None:
    """`ca_map` is the config map with the CA certificate in the token volume of service
    accounts."""
    allowed = frozenset(policy.spec.get("volumes") or ())
    for index, volume in enumerate(spec.get("volumes") or ()):
        path = f"spec.volumes[{index}]"
        kind, source = _source(volume)
        if ANY not in allowed and not _is_allowed(kind, source, allowed, ca_map):
            causes.invalid(path, kind, f"{kind} volumes are not allowed to be used")
        elif kind == "hostPath":
            _check_host_path(policy, spec, volume, path, causes)
        elif kind == "flexVolume":
            drivers = [item["driver"] for item in policy.spec.get("allowedFlexVolumes") or ()]
            message = "Flexvolume driver is not allowed to be used"
            _check_driver(source, drivers, f"{path}.driver", message, causes)
        elif kind == "csi":
            drivers = [item["name"] for item in policy.spec.get("allowedCSIDrivers") or ()]
            message = "Inline CSI driver is not allowed to be used"
            _check_driver(source, drivers, f"{path}.csi.driver", message, causes)


def _source(volume: Object) -> tuple[str, Object]:
    for name, source in volume.items():
        if name != "name" and source is not None:
            return _OTHER_NAMES.get(name, name), source
    return "", {}


def _is_allowed(kind: str, source: Object, allowed: frozenset[str], ca_map: str) -> bool:
    """Allowing secrets includes the projected token volume, which used to be a secret."""
    if kind in allowed:
        return True
    if kind != "projected" or "secret" not in allowed:
        return False
    return all(_is_of_token(part, ca_map) for part in source.get("sources") or ())


def _is_of_token(part: Object, ca_map: str) -> bool:
    token, config, facts = (
        part.get(name) for name in ("serviceAccountToken", "configMap", "downwardAPI")
    )
    if part.get("secret") is not None or (token, config, facts) == (None, None, None):
        return False
    if token is not None and (token.get("path") != "token" or token.get("audience")):
        return False
    if config is not None:
        items = [(item.get("key"), item.get("path")) for item in config.get("items") or ()]
        if config.get("name") != ca_map or items != [("ca.crt", "ca.crt")]:
            return False
    return all(_is_namespace(item) for item in (facts or {}).get("items") or ())


def _is_namespace(item: Object) -> bool:
    field = item.get("fieldRef") or {}
    return (item.get("path"), field.get("apiVersion"), field.get("fieldPath")) == (
        *("namespace", "v1", "metadata.namespace"),
    )


def _check_host_path(
    policy: SecurityPolicy, spec: Object, volume: Object, path: str, causes: Causes
) -> None:
    allowed = policy.spec.get("allowedHostPaths") or ()
    if not allowed:
        return
    host_path = volume["hostPath"].get("path", "")
    matching = [item for item in allowed if _is_below(host_path, item.get("pathPrefix", ""))]
    if not matching:
        causes.invalid(f"{path}.hostPath.pathPrefix", host_path, "is not allowed to be used")
    elif all(item.get("readOnly") for item in matching):
        _check_read_only(spec, volume["name"], causes)


def _is_below(path: str, prefix: str) -> bool:
    """`/foo` and `/foo/bar` are below `/foo` and `/foo/`; `/food` is not."""
    return f"{path.rstrip('/')}/".startswith(f"{prefix.rstrip('/')}/")


def _check_read_only(spec: Object, volume: str, causes: Causes) -> None:
    for container, path in containers_with_paths(spec, "spec"):
        for index, mount in enumerate(container.get("volumeMounts") or ()):
            if mount["name"] == volume and not mount.get("readOnly"):
                causes.invalid(f"{path}.volumeMounts[{index}].readOnly", False, "must be read-only")


def _check_driver(
    source: Object, drivers: list[str], path: str, message: str, causes: Causes
) -> None:
    driver = source.get("driver", "")
    if drivers and driver not in drivers:
        causes.invalid(path, driver, message)
