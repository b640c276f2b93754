"""Checks the objects of a store: what is held back, cannot be called, is not served, or is open to
everybody."""

from __future__ import annotations

from base64 import b64decode
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any

from fairlead.cli.checks.findings import Finding, error, note, warning
from fairlead.codec.types.times import parse_time
from fairlead.process.certificates.validity import validity_of

Object = dict[str, Any]

_HELD = timedelta(minutes=10)  # a deletion that takes longer waits for somebody
_SOON = timedelta(days=14)
_MANY = 100_000
_LARGE = 1 << 20  # bytes
_MB = 1 << 20
_EVERYBODY = ("system:anonymous", "system:unauthenticated", "system:authenticated")
_ADMIN_ROLES = ("cluster-admin", "admin", "edit")
# Groups of resources that are stored without a definition, besides those of the API.
_INTERNAL = ("fairlead",)


class ObjectCheck:
    """Collects the objects that checks need, one after the other; `findings` are about all.
    Resources are named as in the store: `core/pods`, with the group of the API in full."""

    def __init__(self, now: datetime, built_in: Iterable[str] = ()) -> None:
        """`built_in` are the groups that need no definition; without them, missing definitions are
        not looked for."""
        self._now = now
        self._built_in = frozenset(built_in)
        self._counts: Counter[str] = Counter()
        self._large: list[tuple[str, str, int]] = []
        self._held: dict[tuple[str, ...], list[str]] = defaultdict(list)
        self._kept: dict[str, dict[str, Object]] = defaultdict(dict)

    @property
    def count(self) -> int:
        return self._counts.total()

    def add(self, resource: str, key: str, value: Object, size: int = 0) -> None:
        self._counts[resource] += 1
        if size > _LARGE:
            self._large.append((resource, key, size))
        metadata = value.get("metadata") or {}
        if self._has_waited(metadata):
            holders = metadata.get("finalizers") or (value.get("spec") or {}).get("finalizers")
            self._held[tuple(holders or ("nothing that it names",))].append(f"{resource} {key}")
        short = short_name(resource)
        if short in _CHECKS or short == _SERVICES:
            self._kept[short][key] = value

    def _has_waited(self, metadata: Object) -> bool:
        since = metadata.get("deletionTimestamp")
        return isinstance(since, str) and self._now - parse_time(since) > _HELD

    def findings(self) -> Iterator[Finding]:
        for short, check in _CHECKS.items():
            for key, value in self._kept[short].items():
                yield from check(self, key, value)
        yield from self._find_held()
        yield from self._find_unserved()
        for resource, number in self._counts.items():
            if number > _MANY:
                yield note(resource, f"there are {number:,} objects", "Each takes memory")
        for resource, key, size in self._large:
            yield note(f"{resource} {key}", f"has {size / _MB:.1f} MB; 1.5 MB are allowed")

    def _find_held(self) -> Iterator[Finding]:
        for holders, objects in self._held.items():
            more = f" and {len(objects) - 1} more" if len(objects) > 1 else ""
            yield warning(
                f"{objects[0]}{more}",
                f"waits for {', '.join(holders)} since it was deleted",
                "Start the controller that removes the finalizer, or remove it by hand",
            )

    def _find_unserved(self) -> Iterator[Finding]:
        if not self._built_in:
            return
        definitions = self._kept[_DEFINITIONS]
        for resource, number in self._counts.items():
            group, _, plural = resource.partition("/")
            if group in self._built_in or group in _INTERNAL:
                continue
            if f"{plural}.{group}" not in definitions:
                yield warning(
                    resource,
                    f"{number} objects are stored that no definition serves",
                    "Create the definition again to reach them",
                )

    # What is wrong with a single object.

    def check_webhooks(self, key: str, value: Object) -> Iterator[Finding]:
        for hook in value.get("webhooks") or ():
            subject = f"webhook {hook.get('name')} of {key}"
            client = hook.get("clientConfig") or {}
            yield from self._check_client(subject, client, blocks=_blocks(hook))

    def check_definition(self, key: str, value: Object) -> Iterator[Finding]:
        spec, status = value.get("spec") or {}, value.get("status") or {}
        subject = f"definition {key}"
        states = {each["type"]: each for each in status.get("conditions") or ()}
        accepted = states.get("NamesAccepted") or {}
        if accepted.get("status") == "False":
            yield warning(subject, f"is not served: {accepted.get('message')}")
        versions = {version["name"] for version in spec.get("versions") or ()}
        gone = [name for name in status.get("storedVersions") or () if name not in versions]
        if gone:
            yield error(
                subject,
                f"objects may be stored in {', '.join(gone)}, which it no longer has",
                "Add the version again, rewrite the objects, then change status.storedVersions",
            )
        webhook = (spec.get("conversion") or {}).get("webhook") or {}
        if client := webhook.get("clientConfig"):
            yield from self._check_client(f"conversion of {key}", client, blocks=True)

    def check_api_service(self, key: str, value: Object) -> Iterator[Finding]:
        if not (value.get("spec") or {}).get("service"):
            return
        states = (value.get("status") or {}).get("conditions") or ()
        for state in states:
            if state["type"] == "Available" and state["status"] == "False":
                text = f"is not available: {state.get('message') or state.get('reason')}"
                yield warning(f"APIService {key}", text)

    def check_binding(self, key: str, value: Object) -> Iterator[Finding]:
        role = (value.get("roleRef") or {}).get("name")
        if role not in _ADMIN_ROLES:
            return
        for subject in value.get("subjects") or ():
            name = subject.get("name")
            if name in _EVERYBODY:
                weigh = warning if name == _EVERYBODY[-1] else error
                yield weigh(
                    f"ClusterRoleBinding {key}",
                    f"gives {role} to {name}",
                    "Delete it, unless everybody who reaches the server may do everything",
                )

    def check_node(self, key: str, value: Object) -> Iterator[Finding]:
        for state in (value.get("status") or {}).get("conditions") or ():
            if state["type"] == "Ready" and state["status"] != "True":
                yield warning(f"node {key}", f"is not ready: {state.get('message')}")

    def _check_client(
        self, subject: str, client: Object, *, blocks: str | bool
    ) -> Iterator[Finding]:
        """How a webhook is called; `blocks` says what fails if it cannot be called."""
        service = client.get("service")
        effect = f": {blocks}" if isinstance(blocks, str) and blocks else ""
        if service is not None:
            name = f"{service.get('namespace')}/{service.get('name')}"
            if name not in self._kept[_SERVICES]:
                weigh = error if blocks else note
                yield weigh(subject, f"the service {name} does not exist{effect}")
        bundle = client.get("caBundle")
        if not bundle:
            return
        try:
            end = validity_of(b64decode(bundle)).end
        except ValueError as problem:
            yield warning(subject, f"its caBundle cannot be read: {problem}")
            return
        if end <= self._now:
            yield warning(subject, f"its caBundle expired on {end:%Y-%m-%d}{effect}")
        elif end - self._now < _SOON:
            yield note(subject, f"its caBundle expires on {end:%Y-%m-%d}")


def _blocks(hook: Object) -> str:
    """What fails while a webhook cannot be called; empty if it is ignored then."""
    if hook.get("failurePolicy") != "Fail":
        return ""
    resources = {name for rule in hook.get("rules") or () for name in rule.get("resources") or ()}
    return f"every write of {', '.join(sorted(resources))} that it selects is refused"


def short_name(resource: str) -> str:
    """The name of a resource in any dialect: `rbac.authorization.k8s.io/roles` is `rbac/roles`."""
    group, _, plural = resource.partition("/")
    return f"{group.partition('.')[0]}/{plural}"


_SERVICES = "core/services"
_DEFINITIONS = "apiextensions/customresourcedefinitions"
_CHECKS: Mapping[str, Callable[[ObjectCheck, str, Object], Iterator[Finding]]] = {
    "admissionregistration/mutatingwebhookconfigurations": ObjectCheck.check_webhooks,
    "admissionregistration/validatingwebhookconfigurations": ObjectCheck.check_webhooks,
    _DEFINITIONS: ObjectCheck.check_definition,
    "apiregistration/apiservices": ObjectCheck.check_api_service,
    "rbac/clusterrolebindings": ObjectCheck.check_binding,
    "core/nodes": ObjectCheck.check_node,
}
READ = (_SERVICES, *_CHECKS)  # what the checks of single objects need
