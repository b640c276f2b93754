"""Modules whose body runs when one of their attributes is first used, not when they are imported:
a process starts faster and stays smaller without those that it may never need.

Import them at the top of the file, as modules, and name their functions where they are used: `from
fairlead.fields import json_patch`, then `json_patch.operations(...)`. `from ... import name` runs
the body at once. Compiled modules cannot be lazy: others bind to them natively.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Sequence
from importlib.machinery import ModuleSpec, PathFinder
from threading import RLock
from types import ModuleType
from typing import Any

# What the import system asks of a module whose body has not run.
_SET_BEFORE = frozenset(
    f"__{name}__"
    for name in ("cached", "class", "file", "loader", "name", "package", "path", "spec")
)

# The lazy modules by package.
_TABLE = """
admission/plugins: image_policy
admission/plugins/pod_security: existing_pods pods standards
admission/plugins/pod_security_policy: plugin
admission/policies: compilation dispatch evaluation inputs matching mutating_plugin
admission/policies: param_access parameters validating_plugin
api: aggregated_discovery build_metrics component_pages discovery long_lists tracing
api/audit: auditor own_operations setup
api/history: page
api/openapi: documents overview tables
api/relay: answers forward links
api/testing: setup
auth: configuration
auth/authentication: bootstrap_tokens configuration front_proxy jws jwt_issuers oidc oidc_provider
auth/authentication: token_file webhook
auth/authorization: abac configuration constrained_impersonation coverage webhook
cli: connection_flags downloads error_messages help_pages manifests parser plugins runner
cli: similar_objects suggestions
cli/apply: client_side
cli/commands: completion raw
cli/completion: candidates
cli/get: follow
cli/kustomize: build
cli/local_console: contexts server
cli/output: custom_columns go_templates jsonpath kyaml live plain_tables printers sort
cli/proxy: relay
client: conditions port_forwarding processes watch
client/access: exec_config exec_plugin oidc
codec: gnostic gnostic_v3 json_syntax strict_decoding yaml_reader yaml_writer
console: about files samples sign_in
controllers: bootstrap_signer legacy_tokens policy_status resource_quotas service_ranges
controllers/aggregation/openapi: conversion document merge
controllers/certificates: approval cleaner signer
controllers/devices: claims taint_eviction
controllers/disruption: controller
controllers/nodes: pod_collection taint_eviction ttl
controllers/nodes/lifecycle: controller zones
controllers/servers: identity
controllers/simulation: setup
controllers/simulation/cloud: ingresses provisioner
controllers/simulation/scheduler: devices
controllers/simulation/stages: actions definitions delays expressions selection
controllers/volumes: binder ephemeral expander protection
controllers/workloads: batches finished_jobs index pods replicas
controllers/workloads/autoscalers: controller
controllers/workloads/cron_jobs: controller
controllers/workloads/daemon_sets: controller
controllers/workloads/deployments: controller
controllers/workloads/jobs: controller
controllers/workloads/stateful_sets: controller
fields: json_patch strategic
operations: foreign_kinds tokens
process: assembly console_secrets encryption lifecycle stores
process/backup: archive live shared_restore
process/certificates: issue
process/flags: serve
process/tracing: configuration exporter
process/workers: parent worker
resources: go_notation
resources/admissionregistration: expressions
resources/apiextensions: approval schema_rules
resources/certificates: pem
resources/columns: registry
resources/core: resource_quotas
resources/custom: columns webhook_conversion
resources/custom/schema: custom_schema rules
resources/etcd_format: codec encryption
resources/resource: selectors
storage: followed selection
storage/encryption: configuration kms
storage/etcd: client source
storage/sqlite: migration read_only
testing: cluster
wire: byte_streams
wire/grpc: channel
wire/outgoing: json_calls
"""
MODULES = frozenset(
    f"fairlead.{package.replace('/', '.')}.{name}"
    for package, names in (line.split(":") for line in _TABLE.split("\n") if line)
    for name in names.split()
)


# Modules of the standard library, in Python, that others import for cases that a short command
# rarely meets.
STANDARD = frozenset(
    [
        "asyncio.staggered",
        "base64",
        "copy",
        "fnmatch",
        "hashlib",
        "inspect",
        "ipaddress",
        "linecache",
        "locale",
        "ntpath",
        "random",
        "textwrap",
    ]
)


class LazyModule(ModuleType):
    """A module whose body has not run. It becomes a plain module when the body has run."""

    def __getattribute__(self, name: str) -> Any:
        if name not in _SET_BEFORE:
            spec: ModuleSpec = object.__getattribute__(self, "__spec__")
            spec.loader_state.load(self)
        return object.__getattribute__(self, name)

    def __setattr__(self, name: str, value: Any) -> None:
        """Run the body first, which would otherwise overwrite the value later. The import system
        itself sets dunder names and submodules."""
        if not name.startswith("__") and not isinstance(value, ModuleType):
            getattr(self, name, None)
        object.__setattr__(self, name, value)


class LazyLoader:
    """Finds and loads one module when it is first used. Threads wait for the one that runs the
    body. If the body raises, the next use runs it again."""

    def __init__(self, path: Sequence[str] | None) -> None:
        self._path = path  # where its package is; None: on sys.path
        self._lock = RLock()
        self._running = False

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return LazyModule(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Do nothing yet: `load` runs the body."""

    def load(self, module: Any) -> None:
        with self._lock:
            if self._running or type(module) is not LazyModule:
                return  # used by its own body, or loaded by another thread
            self._running = True
            try:
                spec = _found(module.__name__, self._path)
                loader: Any = spec.loader
                module.__file__, module.__cached__ = spec.origin, spec.cached
                loader.exec_module(module)
                object.__setattr__(module, "__class__", ModuleType)
                module.__spec__, module.__loader__ = spec, loader
            finally:
                self._running = False


def _found(name: str, path: Sequence[str] | None) -> ModuleSpec:
    spec = PathFinder.find_spec(name, path)
    if spec is None:
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)
    return spec


class LazyFinder:
    """Answers for the modules with the given names, without looking for their files, and leaves
    all others to the next finders. They must not be packages."""

    def __init__(self, names: Collection[str]) -> None:
        self.names = names

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name not in self.names:
            return None
        loader: Any = LazyLoader(path)
        return ModuleSpec(name, loader, loader_state=loader)


def install(names: Collection[str] = MODULES) -> None:
    """Make modules lazy for this process, by default those of the table. Does it once."""
    if not any(
        isinstance(finder, LazyFinder) and finder.names == names for finder in sys.meta_path
    ):
        sys.meta_path.insert(0, LazyFinder(names))
