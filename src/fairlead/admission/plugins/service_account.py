"""ServiceAccount: every pod runs as a service account of its namespace and gets the account's
token."""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from typing import Final, NamedTuple

from fairlead.admission.plugin import CREATE, UPDATE, Attributes
from fairlead.admission.plugins.base import PODS, Object, PluginBase, mutation_error
from fairlead.admission.plugins.mountable_secrets import (
    MountableSecrets,
    SecretsError,
    ephemeral_error,
    pod_error,
)
from fairlead.admission.plugins.namespace_lifecycle import Find
from fairlead.admission.plugins.version_facts import PerObjectCache, wait_for_object
from fairlead.auth.authorization.pod_references import SECRETS, pod_references
from fairlead.base.dialect import Dialect
from fairlead.base.quotes import quote
from fairlead.codec.types.names import SUFFIX_LETTERS, path_segment
from fairlead.resources.core.pods.annotations import keys
from fairlead.storage.version import Version

ACCOUNTS: Final = "core/v1/serviceaccounts"
EPHEMERAL: Final = f"{PODS}/ephemeralcontainers"
DEFAULT_ACCOUNT: Final = "default"
# How long to wait for the default account, in seconds: a controller creates it after the namespace,
# and a pod may come first.
_ACCOUNT_TIMEOUT = 1.5
_TRUE: Final[tuple[str, ...]] = ("1", "t", "T", "true", "TRUE", "True")


class _Account(NamedTuple):
    automount: bool
    pull_secrets: tuple[str, ...]
    mountable: MountableSecrets | None  # None: no restriction


_Use = Callable[[Attributes, _Account], None]


class ServiceAccount(PluginBase):
    name = "ServiceAccount"
    concerns: frozenset[str] | None = frozenset({PODS})

    def __init__(self, dialect: Dialect, find: Find) -> None:
        self._find = find
        self._mirror = keys(dialect).mirror
        self._enforce = dialect.label("@/enforce-mountable-secrets")
        self._token_volume = TokenVolume(dialect)
        self._accounts = PerObjectCache(self._read)

    def _read(self, entry: Version) -> _Account:
        value = entry.object()
        annotations = value["metadata"].get("annotations") or {}
        pull_secrets = _names(value.get("imagePullSecrets"))
        mountable = None
        if annotations.get(self._enforce) in _TRUE:
            secrets = frozenset(_names(value.get("secrets")))
            mountable = MountableSecrets(entry.name, secrets, frozenset(pull_secrets))
        automount = value.get("automountServiceAccountToken") is not False
        return _Account(automount, pull_secrets, mountable)

    def admit(self, attributes: Attributes) -> Awaitable[None] | None:
        if attributes.resource.key != PODS or attributes.operation != CREATE:
            return None
        assert attributes.value is not None
        pod = attributes.value
        if self._is_mirror(pod):
            self._check_mirror(attributes, pod)
            return None
        spec = pod["spec"]
        name = spec.get("serviceAccountName") or DEFAULT_ACCOUNT
        spec["serviceAccountName"] = spec["serviceAccount"] = name
        account = self._find_account(attributes, name)
        if account is None:
            return self._wait_for_account(attributes, name, self._use_account)
        self._use_account(attributes, account)
        return None

    def _use_account(self, attributes: Attributes, account: _Account) -> None:
        assert attributes.value is not None
        spec = attributes.value["spec"]
        automount = spec.get("automountServiceAccountToken")
        if account.automount if automount is None else automount:
            self._token_volume.mount(spec)
        if not spec.get("imagePullSecrets") and account.pull_secrets:
            spec["imagePullSecrets"] = [{"name": secret} for secret in account.pull_secrets]
        _check_secrets(attributes, account, pod_error)

    def validate(self, attributes: Attributes) -> Awaitable[None] | None:
        key, operation = attributes.resource.key, attributes.operation
        if key == PODS and operation == CREATE:
            error: SecretsError = pod_error
        elif key == EPHEMERAL and operation == UPDATE:
            error = ephemeral_error
        else:
            return None
        assert attributes.value is not None
        pod = attributes.value
        if error is pod_error and self._is_mirror(pod):
            self._check_mirror(attributes, pod)
            return None
        name = pod["spec"].get("serviceAccountName")
        if not name:
            pod_name = f"{attributes.namespace}/{attributes.name}"
            raise mutation_error(attributes, f"no service account specified for pod {pod_name}")
        account = self._find_account(attributes, name)
        if account is None:
            check = partial(_check_secrets, error=error)
            return self._wait_for_account(attributes, name, check)
        _check_secrets(attributes, account, error)
        return None

    def _wait_for_account(self, attributes: Attributes, name: str, use: _Use) -> Awaitable[None]:
        """Use an account that is not stored yet: the default account is awaited for a moment."""
        return wait_for_object(
            partial(self._find, ACCOUNTS, attributes.namespace, name),
            _ACCOUNT_TIMEOUT if name == DEFAULT_ACCOUNT else 0.0,
            partial(self._use_stored, attributes, name, use),
        )

    def _use_stored(
        self, attributes: Attributes, name: str, use: _Use, entry: Version | None
    ) -> None:
        if entry is None:
            raise mutation_error(
                attributes,
                f"error looking up service account {attributes.namespace}/{name}: {_unknown(name)}",
            )
        use(attributes, self._accounts.of(entry))

    def _is_mirror(self, pod: Object) -> bool:
        annotations = pod["metadata"].get("annotations")
        return bool(annotations) and self._mirror in annotations

    def _check_mirror(self, attributes: Attributes, pod: Object) -> None:
        """The node agent runs a mirror pod before the API has it: it may not reference cluster
        objects."""
        spec = pod["spec"]
        if spec.get("serviceAccountName"):
            raise mutation_error(attributes, "a mirror pod may not reference service accounts")
        named = {"namespace": attributes.namespace, "name": attributes.name}
        references = pod_references({"metadata": named, "spec": spec})
        if any(kind == SECRETS for kind, _, _ in references):
            raise mutation_error(attributes, "a mirror pod may not reference secrets")
        for volume in spec.get("volumes") or ():
            for source in (volume.get("projected") or {}).get("sources") or ():
                if source.get("serviceAccountToken") is not None:
                    raise mutation_error(
                        attributes,
                        "a mirror pod may not use ServiceAccountToken volume projections",
                    )

    def _find_account(self, attributes: Attributes, name: str) -> _Account | None:
        entry = self._find(ACCOUNTS, attributes.namespace, name)
        return self._accounts.of(entry) if entry is not None else None


def _unknown(name: str) -> str:
    """Why an account is missing; a name that is not a valid path segment has its own message."""
    if errors := path_segment(name):
        return f"invalid resource name {quote(name)}: [{' '.join(errors)}]"
    return f"serviceaccount {quote(name)} not found"


def _names(references: list[Object] | None) -> tuple[str, ...]:
    return tuple(reference.get("name", "") for reference in references or ())


def _check_secrets(attributes: Attributes, account: _Account, error: SecretsError) -> None:
    if account.mountable is None:
        return
    assert attributes.value is not None
    covers_env_from = attributes.context.gates["MountableSecretsEnvFrom"]
    mountable = replace(account.mountable, covers_env_from=covers_env_from)
    error_text = error(mountable, attributes.value["spec"])
    if error_text:
        raise mutation_error(attributes, error_text)


# The projected volume with the account's token for access to the server.

# Seconds: an hour, plus 7 to distinguish the node agent's token requests for this volume.
LIFETIME: Final = 3607
_MODE: Final = 0o644


class TokenVolume:
    def __init__(self, dialect: Dialect) -> None:
        self._prefix = f"{dialect.system_prefix}-api-access-"
        self._path = dialect.label("/var/run/secrets/@/serviceaccount")
        self._ca_config_map = dialect.ca_config_map

    def mount(self, spec: Object) -> None:
        """Mount the volume in every container without a mount at its path."""
        volumes = spec.get("volumes") or []
        present = next((v["name"] for v in volumes if v["name"].startswith(self._prefix)), "")
        name = present or self._new_name()
        mounted = False
        for containers in ("initContainers", "containers"):
            for container in spec.get(containers) or ():
                mounted |= self._mount_in(container, name)
        if mounted and not present:
            spec["volumes"] = [*volumes, self._volume(name)]

    def _new_name(self) -> str:
        return self._prefix + "".join(random.choices(SUFFIX_LETTERS, k=5))

    def _mount_in(self, container: Object, name: str) -> bool:
        mounts = container.get("volumeMounts") or []
        if any(mount["mountPath"] == self._path for mount in mounts):
            return False
        added = {"name": name, "readOnly": True, "mountPath": self._path}
        container["volumeMounts"] = [*mounts, added]
        return True

    def _volume(self, name: str) -> Object:
        namespace = {"apiVersion": "v1", "fieldPath": "metadata.namespace"}
        sources = [
            {"serviceAccountToken": {"expirationSeconds": LIFETIME, "path": "token"}},
            {
                "configMap": {
                    "name": self._ca_config_map,
                    "items": [{"key": "ca.crt", "path": "ca.crt"}],
                }
            },
            {"downwardAPI": {"items": [{"path": "namespace", "fieldRef": namespace}]}},
        ]
        return {"name": name, "projected": {"sources": sources, "defaultMode": _MODE}}
