"""The release of the API that a store is served as.

A later release may serve a store of an earlier one: what it stores differently is rewritten once,
before the server is ready. An earlier release does not know the kinds and fields of a later one, so
the way back is refused.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from fairlead.base.release import RELEASES, V1_25, Release
from fairlead.codec.types.decode import decoder
from fairlead.codec.types.model import Object
from fairlead.operations.api import Api
from fairlead.process.assembly import StartError
from fairlead.resources.registry import Resource
from fairlead.storage.store import Store

logger = logging.getLogger("fairlead")

_COLLECTION, _KEY = "fairlead/release", "api"
_LEVELS = "flowcontrol/v1/prioritylevelconfigurations"


def check_release(store: Store, release: Release) -> None:
    """Raise StartError if a store was served as a later release."""
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


async def adopt_release(api: Api) -> None:
    """Rewrite the objects of an earlier release, and record the release. Interrupted, it starts
    again: the record is written last."""
    release, recorded = api.resources.release, _recorded(api.store)
    if recorded == release.name:
        return
    objects = sum(len(collection) for collection in api.store.collections())
    if objects:
        logger.info("the store was served as release %s of the API", recorded)
        count = await _rewrite(api)
        logger.info("it is served as release %s now; objects rewritten: %d", release.name, count)
    collection = api.store.collection(_COLLECTION)
    record = {"metadata": {"name": _KEY}, "release": release.name}
    await api.store.put(collection, _KEY, record, collection.heads.get(_KEY))


def _recorded(store: Store) -> str:
    """The recorded release; stores without a record are of release 1.25."""
    version = store.collection(_COLLECTION).heads.get(_KEY)
    return str(version.object().get("release")) if version is not None else V1_25.name


async def _rewrite(api: Api) -> int:
    """Write every object again that the types of the release store differently; return how many."""
    count = 0
    for resource in api.resources.stored():
        if resource.custom is not None:
            continue
        collection = api.collection(resource)
        for key, version in list(collection.heads.items()):
            value = _rewritten(resource, version.object())
            if value != version.object() or version.api_version != collection.api_version:
                await api.store.put(collection, key, value, version)
                count += 1
    return count


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
