"""Cache of applies that changed nothing.

Controllers apply the same configuration over and over. An apply that changed nothing in one version
of an object is answered with that version the next time, without merging. That is correct only if
the result depends on nothing but the request (user, body, options), the version of the object and
that of its namespace. So an apply is not cached

- if it was a dry run, had warnings or long audit annotations, or changed or created something;
- if an admission plugin or a rule of the kind looked up another object or called the authorizer
  meanwhile (`Api.consultations` counts both);
- if an admission plugin declares that its decision on updates of the resource depends on more than
  the write. A plugin that declares so later invalidates the cached applies.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING, NamedTuple

from fairlead.base.caches import BoundedCache
from fairlead.base.deferred import Outcome
from fairlead.operations.operation import Operation
from fairlead.operations.options import WriteOptions
from fairlead.storage.version import Version

if TYPE_CHECKING:
    from fairlead.operations.api import Api

MAX_CACHED = 4096
MAX_ANNOTATION_LENGTH = 256  # characters of audit annotations
LONGEST_NAME = 1024


class _CachedApply(NamedTuple):
    """The revisions of the object and of its namespace, and the audit annotations."""

    revision: int
    namespace: int
    annotations: dict[str, str]


class PriorState(NamedTuple):
    """The state before an apply: the object, `Api.consultations` and the namespace's revision."""

    version: Version | None
    consultations: int
    namespace: int


class KnownApplies:
    """The newest applies that changed nothing, with the revisions they were tried on. Requests are
    keyed by digest, so every entry takes the same memory."""

    def __init__(self) -> None:
        self._applies: BoundedCache[bytes, _CachedApply] = BoundedCache(
            MAX_CACHED, name="unchanged applies"
        )
        # The cached revision by object: other revisions are ruled out without computing a digest.
        self._versions: BoundedCache[tuple[str, str], int] = BoundedCache(
            MAX_CACHED, longest=LONGEST_NAME, name="versions of unchanged applies"
        )

    def find(
        self, api: Api, operation: Operation, raw: bytes, options: WriteOptions
    ) -> Outcome[Version | None]:
        """The version that answers a cached apply, or None."""
        if not api.admission.updates_are_cacheable(operation.resource):
            return None
        current = api.collection(operation.resource).latest(operation.key)
        if current is None or self._versions.get(_object(operation)) != current.revision:
            return None
        custom = operation.resource.main.custom
        if custom is not None and not custom.keeps(current):  # the schema changed
            return None
        cached = self._applies.get(_digest(operation, raw, options))
        if cached is None or cached[:2] != (current.revision, _namespace(api, operation)):
            return None
        operation.annotations.update(cached.annotations)
        operation.result = current
        if current.commit is None:
            return current
        return _once_committed(api, current)

    def before(self, api: Api, operation: Operation) -> PriorState:
        """The state that `keep` needs from before the apply."""
        version = api.collection(operation.resource).latest(operation.key)
        return PriorState(version, api.consultations, _namespace(api, operation))

    def keep(
        self, api: Api, operation: Operation, raw: bytes, options: WriteOptions, state: PriorState
    ) -> None:
        """Cache a finished apply if it qualifies."""
        version, consultations, namespace = state
        if (
            operation.result is version
            and version is not None
            and not operation.warnings
            and sum(map(len, operation.annotations.values())) <= MAX_ANNOTATION_LENGTH
            and not options.dry_run
            and api.consultations == consultations
            and namespace == _namespace(api, operation)
            and api.admission.updates_are_cacheable(operation.resource)
        ):
            apply = _CachedApply(version.revision, namespace, operation.annotations)
            key = _digest(operation, raw, options)
            self._applies.keep(key, apply, len(key) + MAX_ANNOTATION_LENGTH // 4)
            self._versions.keep(_object(operation), version.revision, len(operation.key))


async def _once_committed(api: Api, version: Version) -> Version | None:
    await api.store.wait_committed(version)
    return version


def _object(operation: Operation) -> tuple[str, str]:
    return operation.resource.key, operation.key


def _namespace(api: Api, operation: Operation) -> int:
    """The revision of the operation's namespace; 0 if there is none."""
    version = api.namespace(operation.namespace) if operation.namespace else None
    return version.revision if version is not None else 0


def _digest(operation: Operation, raw: bytes, options: WriteOptions) -> bytes:
    user = operation.user
    parameters = (
        operation.resource.key,
        operation.key,
        options.manager,
        options.force,
        options.validation,
        (user.name, user.uid, user.groups, sorted(user.extra.items())),
    )
    return blake2b(raw, digest_size=16, key=blake2b(repr(parameters).encode()).digest()).digest()
