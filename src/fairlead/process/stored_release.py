"""The release of the API that a store is served as.

A later release may serve a store of an earlier one: what it stores differently is rewritten once,
before the server is ready. An earlier release does not know the kinds and fields of a later one, so
the way back is refused.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress

from fairlead.base.logs import Logger
from fairlead.base.release import RELEASES, V1_25, Release
from fairlead.codec.types.decode import decoder
from fairlead.codec.types.model import Object
from fairlead.operations.api import Api
from fairlead.process.assembly import StartError
from fairlead.resources.registry import Resource
from fairlead.storage.backend import Conflict
from fairlead.storage.collection import Collection
from fairlead.storage.store import Store
from fairlead.storage.version import Change

logger = Logger("fairlead")

_COLLECTION, _KEY = "fairlead/release", "api"
_AT_ONCE = 100  # objects that are rewritten together, in few commits
_LEVELS = "flowcontrol/v1/prioritylevelconfigurations"


def check_release(store: Store, release: Release, read_only: bool = False) -> None:
    """Raise StartError if a store was served as a later release, or as an earlier one and cannot be
    rewritten."""
    recorded = _recorded(store)
    if recorded not in RELEASES:
        raise StartError(
            f"the store was served as release {recorded} of the API, which this version of Fairlead"
            " does not know"
        )
    if RELEASES[recorded].minor > release.minor:
        raise StartError(
            f"the store was served as release {recorded} of the API and may hold objects that"
            f" release {release.name} does not know: start with --release {recorded}, or restore a"
            " backup that was made before"
        )
    if read_only and recorded != release.name and _count(store):
        raise StartError(
            f"the store was served as release {recorded} of the API and is read only: start with"
            f" --release {recorded}, or once without --read-only"
        )


def follow_release(store: Store, release: Release, fail: Callable[[str], None]) -> None:
    """Call `fail` as soon as another server records that the store is served as a later release:
    this one does not know what it may hold from then on."""
    collection = store.collection(_COLLECTION)

    def changed(_: Change) -> None:
        recorded = _recorded(store)
        if recorded not in RELEASES or RELEASES[recorded].minor > release.minor:
            fail(f"another server serves the store as release {recorded} of the API now")

    collection.followers.add(changed, store.revision, essential=True)


async def adopt_release(api: Api) -> None:
    """Rewrite the objects of an earlier release, drop their history, and record the release.
    Interrupted, it starts again: the record is written last."""
    release, recorded = api.resources.release, _recorded(api.store)
    if recorded == release.name:
        return
    if _count(api.store):
        logger.info("the store was served as another release of the API", release=recorded)
        count = await _rewrite(api)
        # Drop the history, which has objects of the earlier release: clients that watch from an
        # earlier revision have to list again.
        for store in api.stores:
            await store.compact(store.revision)
        logger.info(
            "the store is served as this release now", release=release.name, rewritten=count
        )
    await _record(api.store, release)


async def _record(store: Store, release: Release) -> None:
    collection = store.collection(_COLLECTION)
    record = {"metadata": {"name": _KEY}, "release": release.name}
    while _recorded(store) != release.name:
        with suppress(Conflict):  # another server of the release records it, too
            await store.put(collection, _KEY, record, collection.get(_KEY))
        await store.catch_up()


def _count(store: Store) -> int:
    return sum(len(collection) for collection in store.collections())


def _recorded(store: Store) -> str:
    """The recorded release; stores without a record are of release 1.25."""
    version = store.collection(_COLLECTION).get(_KEY)
    return str(version.object().get("release")) if version is not None else V1_25.name


async def _rewrite(api: Api) -> int:
    """Write every object again that the types of the release store differently; return how many."""
    count = 0
    for resource in api.resources.stored():
        if resource.custom is not None:
            continue
        collection = api.collection(resource)
        keys = list(collection.heads)
        for start in range(0, len(keys), _AT_ONCE):
            rewriting = (
                _rewrite_object(api.store_of(collection.resource), collection, key, resource)
                for key in keys[start : start + _AT_ONCE]
            )
            for result in await asyncio.gather(*rewriting, return_exceptions=True):
                if isinstance(result, BaseException):
                    raise result
                count += result
    return count


async def _rewrite_object(
    store: Store, collection: Collection, key: str, resource: Resource
) -> bool:
    """Write an object again if the types of the release store it differently. Another server may
    write it meanwhile."""
    while (version := collection.get(key)) is not None:
        try:
            before = version.object()
            del before["metadata"]["resourceVersion"]  # not part of the stored object
            value = _rewritten(resource, before)
        except (AttributeError, LookupError, TypeError, ValueError) as error:
            # One damaged object must not prevent the start.
            logger.error(
                "an object cannot be read and is left alone",
                resource=resource.key,
                key=key,
                err=error,
            )
            return False
        if value == before and version.api_version == collection.api_version:
            return False
        try:
            await store.put(collection, key, value, version)
        except Conflict:
            await store.catch_up()
        else:
            return True
    return False


def _rewritten(resource: Resource, value: Object) -> Object:
    convert = _CONVERSIONS.get(resource.key)
    decoded: Object = decoder(resource.stored_struct)(convert(value) if convert else value, [])
    return decoded


def _nominal_shares(value: Object) -> Object:
    """Rename the shares of a priority level as flowcontrol/v1 does."""
    limited = value["spec"].get("limited") or {}
    if "assuredConcurrencyShares" not in limited:
        return value
    shares = limited["assuredConcurrencyShares"]
    limited = {**limited, "nominalConcurrencyShares": shares, "lendablePercent": 0}
    return {**value, "spec": {**value["spec"], "limited": limited}}


# Objects whose fields have other names in the version that a later release stores.
_CONVERSIONS: dict[str, Callable[[Object], Object]] = {_LEVELS: _nominal_shares}
