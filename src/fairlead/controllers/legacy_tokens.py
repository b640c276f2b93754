"""Tokens in Secrets: records the day of their last use, and invalidates unused ones.

A config map holds the first day of the records. A token that was made for an account (the account
lists its Secret), was not used for a year and is in no pod is marked invalid, and deleted after
another year.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date, datetime, timedelta

from fairlead.auth.authentication.factory import Authentication
from fairlead.auth.authentication.service_accounts import ACCOUNTS, PODS, SECRETS, account_claims
from fairlead.auth.authorization import pod_references
from fairlead.base import clock
from fairlead.base.dialect import Dialect
from fairlead.base.errors import StatusError
from fairlead.codec.types.model import Object
from fairlead.controllers.framework import Keys
from fairlead.controllers.root_ca import CONFIG_MAPS
from fairlead.operations.client import Client
from fairlead.operations.options import DeleteOptions

_SINCE = "since"
_UNUSED = timedelta(days=365)
_DAY = 24 * 3600.0
_RACE_REASONS = ("Conflict", "NotFound", "AlreadyExists")


def _config_map_name(dialect: Dialect) -> str:
    return f"{dialect.system_prefix}-apiserver-legacy-service-account-token-tracking"


def _today() -> str:
    return clock.now().date().isoformat()


def _day(text: str | None) -> date | None:
    try:
        return date.fromisoformat(text or "")
    except ValueError:
        return None


class LegacyTokenTracking:
    """Labels Secrets with the day of their last use. Keys are `namespace/name` of Secrets whose
    token was used; an empty key is the config map."""

    name = "legacy-token-tracking"
    workers = 1

    def __init__(self, objects: Client, dialect: Dialect, authentication: Authentication) -> None:
        self._objects = objects
        self._label = account_claims(dialect).last_used_label
        self._place = dialect.system_namespace, _config_map_name(dialect)
        self._authentication = authentication

    def add_by(self, add: Callable[[str], None]) -> None:
        self._authentication.on_legacy_use(add)
        add("")

    def follows(self) -> Mapping[str, Keys]:
        place = "/".join(self._place)
        return {CONFIG_MAPS: lambda change: ("",) if change.key == place else ()}

    async def sync(self, key: str) -> None:
        try:
            if key:
                await self._note_use(*key.split("/", 1))
            else:
                await self._begin()
        except StatusError as error:
            if error.reason not in _RACE_REASONS:
                raise

    async def _begin(self) -> None:
        namespace, name = self._place
        current = self._objects.find(CONFIG_MAPS, namespace, name)
        if current is None:
            metadata = {"namespace": namespace, "name": name}
            value = {"metadata": metadata, "data": {_SINCE: _today()}}
            await self._objects.create(CONFIG_MAPS, value)
        elif _day((current.get("data") or {}).get(_SINCE)) is None:
            await self._objects.replace(CONFIG_MAPS, {**current, "data": {_SINCE: _today()}})

    async def _note_use(self, namespace: str, name: str) -> None:
        secret = self._objects.find(SECRETS, namespace, name)
        labels = (secret["metadata"].get("labels") or {}) if secret is not None else {}
        if secret is not None and labels.get(self._label, "") < _today():
            await _label(self._objects, namespace, name, self._label)


async def _label(objects: Client, namespace: str, name: str, label: str) -> None:
    """Label a Secret with today."""

    def labelled(secret: Object) -> Object:
        metadata = secret["metadata"]
        labels = {**(metadata.get("labels") or {}), label: _today()}
        return {**secret, "metadata": {**metadata, "labels": labels}}

    await objects.change(SECRETS, namespace, name, labelled, verb="patch")


class LegacyTokenCleaner:
    """Has one key, for all Secrets, once a day."""

    name = "legacy-serviceaccount-token-cleaner-controller"
    workers = 1

    def __init__(self, objects: Client, dialect: Dialect) -> None:
        self._objects = objects
        self._place = dialect.system_namespace, _config_map_name(dialect)
        self._type = dialect.label("@/service-account-token")
        self._account = dialect.label("@/service-account.name")
        names = account_claims(dialect)
        self._used, self._invalid = names.last_used_label, names.invalid_since_label

    def add_by(self, add: Callable[[str], None]) -> None:
        add("all")

    def follows(self) -> Mapping[str, Keys]:
        return {}

    async def sync(self, key: str) -> float:
        tracking = self._objects.find(CONFIG_MAPS, *self._place) or {}
        since = _day((tracking.get("data") or {}).get(_SINCE))
        kept_since = clock.now() - _UNUSED
        # The first day may have been counted in another time zone.
        if since is not None and since + timedelta(days=1) <= kept_since.date():
            for version in list(self._objects.collection(SECRETS).current("")):
                if version.fields.get("type") == self._type:
                    await self._clean(version.object(), kept_since)
        return _DAY

    async def _clean(self, secret: Object, kept_since: datetime) -> None:
        metadata = secret["metadata"]
        labels, day = metadata.get("labels") or {}, kept_since.date()
        used = _day(labels.get(self._used))
        if (
            metadata.get("deletionTimestamp")
            or datetime.fromisoformat(metadata["creationTimestamp"]) >= kept_since
            or (self._used in labels and (used is None or used >= day))
            or not self._is_listed(metadata)
            or self._is_mounted(metadata)
        ):
            return
        invalid = _day(labels.get(self._invalid))
        namespace, name = metadata["namespace"], metadata["name"]
        try:
            if invalid is None:
                await _label(self._objects, namespace, name, self._invalid)
            elif invalid < day:
                options = DeleteOptions(revision=metadata["resourceVersion"])
                await self._objects.delete(SECRETS, namespace, name, options)
        except StatusError as error:
            if error.reason not in _RACE_REASONS:
                raise

    def _is_listed(self, metadata: Object) -> bool:
        """Whether the account lists the Secret, as it does if it was made for it."""
        name = (metadata.get("annotations") or {}).get(self._account, "")
        account = self._objects.find(ACCOUNTS, metadata["namespace"], name) if name else None
        listed = (account or {}).get("secrets") or ()
        return any(reference.get("name") == metadata["name"] for reference in listed)

    def _is_mounted(self, metadata: Object) -> bool:
        reference = pod_references.SECRETS, metadata["namespace"], metadata["name"]
        pods = self._objects.collection(PODS).current(metadata["namespace"])
        return any(reference in pod_references.pod_references(pod.object()) for pod in pods)
