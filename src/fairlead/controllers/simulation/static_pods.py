"""Static pods of simulated nodes: each node runs the manifests of a directory, and shows them by
mirror pods."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from fairlead.base.errors import StatusError
from fairlead.base.logs import Logger
from fairlead.codec.bodies import BodyError, parse_yaml
from fairlead.codec.types.decode import decoder
from fairlead.codec.types.mismatch import DecodeError
from fairlead.codec.types.times import now
from fairlead.controllers.framework import Keys
from fairlead.controllers.simulation.node_behaviour import READY
from fairlead.controllers.simulation.node_objects import owner_of_own
from fairlead.controllers.simulation.simulated_nodes import NODES, PODS, SimulatedNodes
from fairlead.operations.api import Api, Object
from fairlead.operations.client import Client
from fairlead.operations.options import DeleteOptions
from fairlead.resources.core.pods import NO_EXECUTE
from fairlead.storage.version import Change, Version

logger = Logger("fairlead.controllers.simulation")

MAX_FILES = 100
MAX_BYTES = 1024 * 1024  # of a file
_DIRECTORY = "/"  # the key that stands for the directory
_READ_AGAIN = 5.0  # seconds
_TRY_AGAIN = 60.0  # seconds, after the server refused a pod
_INVALID = 422
_STAYS = {"operator": "Exists", "effect": NO_EXECUTE}  # static pods stay on unhealthy nodes


class Manifest(NamedTuple):
    """A pod of a file. `file` is its name, `digest` changes with its content."""

    file: str
    digest: str
    pod: Object


class ManifestError(ValueError):
    """A file is not the manifest of a pod."""


class Manifests:
    """The manifests of a directory. Files that are no manifests are logged by name, once each time
    they change."""

    def __init__(self, directory: Path, api: Api) -> None:
        self._directory = directory
        self._pods = api.resources.named(PODS)
        self._seen: dict[str, tuple[int, int]] = {}
        self._read: dict[str, Manifest] = {}
        self._problem = ""

    def __iter__(self) -> Iterator[Manifest]:
        return iter(self._read.values())

    def load(self) -> bool:
        """Read the files that have changed; returns whether there are some."""
        try:
            files = sorted(path for path in self._directory.iterdir() if path.name[0] != ".")
        except OSError as error:
            self._complain(f"{self._directory}: {error.strerror}")
            return False
        too_many = f"{self._directory}: has more than {MAX_FILES} files; the others do not count"
        self._complain(too_many if len(files) > MAX_FILES else "")
        seen = {path.name: state for path in files[:MAX_FILES] if (state := _state(path))}
        if seen == self._seen:
            return False
        changed = [name for name, state in seen.items() if self._seen.get(name) != state]
        self._read = {name: read for name, read in self._read.items() if name in seen}
        for name in changed:
            self._read.pop(name, None)
            try:
                self._read[name] = self._manifest(name)
            except ManifestError as error:
                logger.warning("cannot read a static pod", file=self._directory / name, err=error)
        self._seen = seen
        return True

    def _complain(self, problem: str) -> None:
        if problem and problem != self._problem:
            logger.warning("cannot read static pods", err=problem)
        self._problem = problem

    def _manifest(self, name: str) -> Manifest:
        try:
            with (self._directory / name).open("rb") as file:
                raw = file.read(MAX_BYTES + 1)
            if len(raw) > MAX_BYTES:
                raise ManifestError(f"it has more than {MAX_BYTES} bytes")
            value, _ = parse_yaml(raw)
        except (OSError, BodyError) as error:
            raise ManifestError(str(error)) from None
        if not isinstance(value, dict) or (value.get("apiVersion"), value.get("kind")) != (
            "v1",
            "Pod",
        ):
            raise ManifestError("it is not a v1 Pod")
        try:
            pod = decoder(self._pods.stored_struct)(value, [])
        except DecodeError as error:
            raise ManifestError(str(error)) from None
        if not pod["metadata"].get("name"):
            raise ManifestError("the pod has no name")
        return Manifest(name, hashlib.sha256(raw).hexdigest(), pod)


def _state(path: Path) -> tuple[int, int] | None:
    """What changes with a file; None if it is no file."""
    try:
        found = path.stat()
    except OSError:
        return None
    return (found.st_mtime_ns, found.st_size) if path.is_file() else None


class StaticPods:
    """Keys are names of nodes, and one stands for the directory. `keys_on` names the pods of a
    node."""

    name = "simulated-static-pods"
    workers = 4

    def __init__(
        self,
        api: Api,
        simulated_nodes: SimulatedNodes,
        directory: Path,
        keys_on: Callable[[str], Iterable[str]],
    ) -> None:
        self._simulated_nodes = simulated_nodes
        self._manifests = Manifests(directory, api)
        self._keys_on = keys_on
        self._collection = api.collection(api.resources.named(PODS))
        label = api.dialect.label
        self._mirror, self._hash = label("@/config.mirror"), label("@/config.hash")
        self._others = {label("@/config.source"): "file"}
        self._time_seen = label("@/config.seen")
        self._refused: set[tuple[str, int]] = set()

    def add_by(self, add: Callable[[str], None]) -> None:
        self._add = add
        add(_DIRECTORY)

    def follows(self) -> Mapping[str, Keys]:
        return {NODES: self._own_node, PODS: self._mirror_pod}

    def _own_node(self, change: Change) -> Iterable[str]:
        return (change.name,) if change.name in self._simulated_nodes else ()

    def _mirror_pod(self, change: Change) -> Iterable[str]:
        version = change.after or change.before
        node = version.fields.get("spec.nodeName", "") if version is not None else ""
        if node not in self._simulated_nodes or not self._is_mirror(version):
            return ()
        return (node,)

    def _is_mirror(self, version: Version | None) -> bool:
        return version is not None and version.mentions(self._mirror)

    async def sync(self, key: str) -> float | None:
        if key == _DIRECTORY:
            if await asyncio.to_thread(self._manifests.load):
                self._refused.clear()
                for name in self._simulated_nodes.numbers:
                    self._add(name)
            return _READ_AGAIN
        behaviour = self._simulated_nodes.behaviour(key)
        if behaviour is None or behaviour.state != READY:
            return None
        client = self._simulated_nodes.client(key)
        node = client.find(NODES, "", key)
        if node is None:
            return None
        wanted = dict(self._wanted(node))
        for pod_key, hash_ in self._present(key):
            if pod_key not in wanted or wanted[pod_key][1] != hash_:
                await self._remove(client, pod_key)
        again = [await self._ensure(client, node, *entry) for entry in wanted.values()]
        return _TRY_AGAIN if any(again) else None

    def _wanted(self, node: Object) -> Iterator[tuple[str, tuple[Manifest, str]]]:
        """The static pods of a node by key, each with its hash."""
        name = node["metadata"]["name"]
        for manifest in self._manifests:
            pod = manifest.pod
            if pod["spec"].get("nodeName", name) == name:
                seed = f"{manifest.digest}/{manifest.file}/{name}/{node['metadata']['uid']}"
                hash_ = hashlib.md5(seed.encode(), usedforsecurity=False).hexdigest()
                namespace = pod["metadata"].get("namespace") or "default"
                yield f"{namespace}/{pod['metadata']['name']}-{name}", (manifest, hash_)

    def _present(self, node: str) -> Iterator[tuple[str, str]]:
        """The mirror pods of a node that come from files, with their hashes; that of one that is
        being deleted counts as another."""
        for key in tuple(self._keys_on(node)):
            version = self._collection.get(key)
            if version is None or not self._is_mirror(version):
                continue
            metadata = version.object()["metadata"]
            annotations = metadata.get("annotations") or {}
            if self._others.items() <= annotations.items():
                is_ending = metadata.get("deletionTimestamp")
                yield key, "" if is_ending else annotations.get(self._mirror, "")

    async def _remove(self, client: Client, key: str) -> None:
        namespace, _, name = key.partition("/")
        try:
            await client.delete(PODS, namespace, name, DeleteOptions(grace_period=0))
        except StatusError as error:
            if error.code != 404:
                raise

    async def _ensure(self, client: Client, node: Object, manifest: Manifest, hash_: str) -> bool:
        """Create a mirror pod that is missing; returns whether to try again."""
        pod = self._mirror_of(manifest, node, hash_)
        metadata = pod["metadata"]
        if client.find(PODS, metadata["namespace"], metadata["name"]) is not None:
            return False
        try:
            await client.create(PODS, pod)
        except StatusError as error:
            if (manifest.file, error.code) not in self._refused:
                self._refused.add((manifest.file, error.code))
                node = pod["spec"]["nodeName"]
                logger.warning("a static pod is refused", file=manifest.file, node=node, err=error)
            return error.code != _INVALID
        return False

    def _mirror_of(self, manifest: Manifest, node: Object, hash_: str) -> Object:
        given, spec, name = manifest.pod["metadata"], manifest.pod["spec"], node["metadata"]["name"]
        tolerations = spec.get("tolerations") or []
        own = {self._hash: hash_, self._mirror: hash_, self._time_seen: now(), **self._others}
        return {
            "metadata": {
                "name": f"{given['name']}-{name}",
                "namespace": given.get("namespace") or "default",
                "labels": given.get("labels") or {},
                "annotations": {**(given.get("annotations") or {}), **own},
                "ownerReferences": [{**owner_of_own(node), "controller": True}],
            },
            "spec": {
                **spec,
                "nodeName": name,
                "tolerations": [*(each for each in tolerations if each != _STAYS), _STAYS],
            },
            "status": {"phase": "Pending"},
        }
