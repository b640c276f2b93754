"""Validation of volume mounts and block devices of a container."""

from __future__ import annotations

from fairlead.resources.behaviour import Object
from fairlead.resources.causes import Causes
from fairlead.resources.core.volumes.paths import descending_path, has_backsteps

PROPAGATIONS = ("Bidirectional", "HostToContainer", "None")
RECURSIVE_READ_ONLY = ("Disabled", "Enabled", "IfPossible")


def check_mounts(container: Object, volumes: dict[str, Object], path: str, causes: Causes) -> None:
    """`volumes` are the valid volumes of the pod, by name."""
    mounts: list[Object] | None = container.get("volumeMounts")
    devices: list[Object] | None = container.get("volumeDevices")
    if mounts:
        _check_volume_mounts(container, mounts, devices or (), volumes, path, causes)
    if devices:
        _check_devices(devices, mounts or (), volumes, f"{path}.volumeDevices", causes)


def _check_volume_mounts(
    container: Object,
    mounts: list[Object],
    devices: list[Object] | tuple[()],
    volumes: dict[str, Object],
    path: str,
    causes: Causes,
) -> None:
    device_paths: dict[str, str] = {device["name"]: device["devicePath"] for device in devices}
    seen: set[str] = set()
    for index, mount in enumerate(mounts):
        name: str = mount["name"]
        mount_path: str = mount["mountPath"]
        if not name:
            causes.required(f"{path}.volumeMounts[{index}].name")
        if name not in volumes:
            causes.not_found(f"{path}.volumeMounts[{index}].name", name)
        if not mount_path:
            causes.required(f"{path}.volumeMounts[{index}].mountPath")
        if mount_path in seen:
            field = f"{path}.volumeMounts[{index}].mountPath"
            causes.invalid(field, mount_path, "must be unique")
        seen.add(mount_path)
        if device_paths:
            _check_overlap(mount, device_paths, f"{path}.volumeMounts[{index}]", causes)
        if len(mount) > 2:
            _check_mount_options(container, mount, index, f"{path}.volumeMounts", causes)


def _check_overlap(mount: Object, device_paths: dict[str, str], path: str, causes: Causes) -> None:
    name, mount_path = mount["name"], mount["mountPath"]
    if name in device_paths:
        causes.invalid(f"{path}.name", name, "must not already exist in volumeDevices")
    if mount_path in device_paths.values():
        detail = "must not already exist as a path in volumeDevices"
        causes.invalid(f"{path}.mountPath", mount_path, detail)


def _check_mount_options(
    container: Object, mount: Object, index: int, list_path: str, causes: Causes
) -> None:
    """Some of these paths lack the index, as in the reference."""
    part: str = mount.get("subPath", "")
    expression: str = mount.get("subPathExpr", "")
    if part:
        descending_path(part, f"{list_path}.subPath", causes)
    if expression:
        if part:
            detail = "subPathExpr and subPath are mutually exclusive"
            causes.invalid(f"{list_path}[{index}].subPathExpr", expression, detail)
        descending_path(expression, f"{list_path}.subPathExpr", causes)
    propagation: str | None = mount.get("mountPropagation")
    if propagation is not None:
        _check_propagation(container, propagation, f"{list_path}.mountPropagation", causes)
    if "recursiveReadOnly" in mount:
        _check_recursive(mount, f"{list_path}.recursiveReadOnly", causes)


def _check_recursive(mount: Object, path: str, causes: Causes) -> None:
    mode = mount["recursiveReadOnly"]
    if mode not in RECURSIVE_READ_ONLY:
        causes.unsupported(path, mode, RECURSIVE_READ_ONLY)
    elif mode != "Disabled":
        if not mount.get("readOnly"):
            causes.forbidden(path, "may only be specified when readOnly is true")
        if mount.get("mountPropagation") not in (None, "None"):
            detail = "may only be specified when mountPropagation is None or not specified"
            causes.forbidden(path, detail)


def _check_propagation(container: Object, mode: str, path: str, causes: Causes) -> None:
    if mode not in PROPAGATIONS:
        causes.unsupported(path, mode, PROPAGATIONS)
    privileged = (container.get("securityContext") or {}).get("privileged")
    if mode == "Bidirectional" and not privileged:
        detail = "Bidirectional mount propagation is available only to privileged containers"
        causes.forbidden(path, detail)


def _check_devices(
    devices: list[Object],
    mounts: list[Object] | tuple[()],
    volumes: dict[str, Object],
    list_path: str,
    causes: Causes,
) -> None:
    mount_paths = {mount["name"]: mount["mountPath"] for mount in mounts}
    names: set[str] = set()
    paths: set[str] = set()
    for index, device in enumerate(devices):
        path = f"{list_path}[{index}]"
        _check_device_name(device["name"], names, volumes, f"{path}.name", causes)
        _check_device_path(device["devicePath"], paths, f"{path}.devicePath", causes)
        if device["name"] in mount_paths:
            detail = "must not already exist in volumeMounts"
            causes.invalid(f"{path}.name", device["name"], detail)
        if device["devicePath"] in mount_paths.values():
            detail = "must not already exist as a path in volumeMounts"
            causes.invalid(f"{path}.devicePath", device["devicePath"], detail)


def _check_device_name(
    name: str, names: set[str], volumes: dict[str, Object], path: str, causes: Causes
) -> None:
    volume = volumes.get(name)
    if not name:
        causes.required(path)
    if name in names:
        causes.invalid(path, name, "must be unique")
    if volume is None:
        causes.not_found(path, name)
    elif "persistentVolumeClaim" not in volume and "ephemeral" not in volume:
        detail = (
            "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode"
        )
        causes.invalid(path, name, detail)
    if name:
        names.add(name)


def _check_device_path(value: str, paths: set[str], path: str, causes: Causes) -> None:
    if not value:
        causes.required(path)
    if value in paths:
        causes.invalid(path, value, "must be unique")
    if has_backsteps(value):
        causes.invalid(path, value, "can not contain backsteps ('..')")
    else:
        paths.add(value)
