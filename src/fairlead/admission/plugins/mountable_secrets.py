"""Service accounts that restrict their pods to the secrets listed in the account."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from fairlead.admission.plugins.base import Object


@dataclass(frozen=True, slots=True)
class MountableSecrets:
    account: str
    secrets: frozenset[str]
    pull_secrets: frozenset[str]
    covers_env_from: bool = False  # before release 1.27 secrets in `envFrom` were not checked


# Returns the error in a pod's spec; empty if there is none.
SecretsError = Callable[[MountableSecrets, Object], str]


def pod_error(allowed: MountableSecrets, spec: Object) -> str:
    """Why a new pod is rejected; empty if it is allowed."""
    return (
        _volume_error(allowed, spec)
        or _variable_error(allowed, spec, "initContainers", "init container")
        or _variable_error(allowed, spec, "containers", "container")
        or _pull_error(allowed, spec)
    )


def ephemeral_error(allowed: MountableSecrets, spec: Object) -> str:
    """Why ephemeral containers are rejected; empty if they are allowed."""
    return _variable_error(allowed, spec, "ephemeralContainers", "ephemeral container")


def _volume_error(allowed: MountableSecrets, spec: Object) -> str:
    for volume in spec.get("volumes") or ():
        secret = volume.get("secret")
        if secret is None:
            continue
        name = secret.get("secretName", "")
        if name not in allowed.secrets:
            return (
                f'volume with secret.secretName="{name}" is not allowed because service account'
                f" {allowed.account} does not reference that secret"
            )
    return ""


def _variable_error(allowed: MountableSecrets, spec: Object, field: str, kind: str) -> str:
    for container in spec.get(field) or ():
        for variable in container.get("env") or ():
            reference = (variable.get("valueFrom") or {}).get("secretKeyRef")
            if reference is None:
                continue
            name = reference.get("name", "")
            if name not in allowed.secrets:
                return (
                    f"{kind} {container['name']} with envVar {variable['name']} referencing"
                    f' secret.secretName="{name}" is not allowed because service account'
                    f" {allowed.account} does not reference that secret"
                )
        if allowed.covers_env_from and (error := _env_from_error(allowed, container, kind)):
            return error
    return ""


def _env_from_error(allowed: MountableSecrets, container: Object, kind: str) -> str:
    for source in container.get("envFrom") or ():
        reference = source.get("secretRef")
        if reference is not None and reference.get("name", "") not in allowed.secrets:
            return (
                f"{kind} {container['name']} with envFrom referencing"
                f' secret.secretName="{reference.get("name", "")}" is not allowed because service'
                f" account {allowed.account} does not reference that secret"
            )
    return ""


def _pull_error(allowed: MountableSecrets, spec: Object) -> str:
    for index, reference in enumerate(spec.get("imagePullSecrets") or ()):
        name = reference.get("name", "")
        if name not in allowed.pull_secrets:
            return (
                f'imagePullSecrets[{index}].name="{name}" is not allowed because service account'
                f" {allowed.account} does not reference that imagePullSecret"
            )
    return ""
