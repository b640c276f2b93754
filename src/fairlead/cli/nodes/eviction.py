"""Evicts pods, and waits until they are gone."""

from __future__ import annotations

import asyncio
from time import monotonic
from typing import Any

from fairlead.base.terminal import printable
from fairlead.cli.delete.removal import DeletedObject, wait_until_gone
from fairlead.cli.errors import CommandError, CommandFailed
from fairlead.cli.invocation import Invocation
from fairlead.cli.nodes.pods import title
from fairlead.cli.write_options import EXPECTED, Failures, dry_run, note, seconds_of
from fairlead.client import ApiError, Resource
from fairlead.client.errors import NotFound

Object = dict[str, Any]
_RETRY_PAUSE = 5.0  # seconds until an eviction that a budget refused is tried again
_MAX_CONCURRENT = 16


class Evictions:
    """Removes the pods of one node."""

    def __init__(self, invocation: Invocation, pods: Resource) -> None:
        self._invocation = invocation
        self._pods = pods
        options = invocation.options
        timeout = seconds_of(options.timeout, "--timeout")
        self._ends = monotonic() + timeout if timeout > 0 else None
        self._grace = options.grace_period
        self._pretends = dry_run(options) == "client"
        self._tries = dry_run(options) == "server"
        self._room = asyncio.Semaphore(_MAX_CONCURRENT)

    async def remove(self, pods: list[Object]) -> None:
        """Raises CommandFailed with what could not be removed."""
        failures = Failures()

        async def remove_one(pod: Object) -> DeletedObject | None:
            async with self._room:
                try:
                    return await self._remove(pod)
                except (CommandFailed, *EXPECTED) as error:
                    failures.add(_of(pod, error))
                    return None

        removed = [one for one in await asyncio.gather(*map(remove_one, pods)) if one is not None]
        if not self._pretends and not self._tries:
            left = None if self._ends is None else max(self._ends - monotonic(), 0.001)
            await wait_until_gone(self._invocation, removed, left)
            for deleted in removed:
                word = "deleted" if self._invocation.options.disable_eviction else "evicted"
                self._invocation.screen.print(f"pod/{deleted.name} {word}")
        failures.finish()

    async def _remove(self, pod: Object) -> DeletedObject | None:
        """Evict or delete a pod. An eviction that a budget refuses is tried again until the
        timeout."""
        metadata = pod["metadata"]
        name, namespace = metadata["name"], metadata["namespace"]
        screen, options = self._invocation.screen, self._invocation.options
        doing = "deleting" if options.disable_eviction else "evicting"
        screen.print(f"{doing} pod {printable(title(pod))}{note(options)}")
        screen.flush()
        gone = DeletedObject(self._pods, namespace, name, str(metadata.get("uid") or ""))
        is_late = False
        while not self._pretends:
            try:
                await self._request(name, namespace)
                return gone
            except NotFound:
                return gone
            except ApiError as error:
                if error.code != 429 or self._tries:
                    raise
                if self._ends is not None and monotonic() + _RETRY_PAUSE > self._ends:
                    raise CommandError(f"not evicted within --timeout: {error.message}") from None
                if not is_late:
                    screen.warn(
                        f"pod {printable(title(pod))}: {printable(error.message)} (trying again"
                        f" every {_RETRY_PAUSE:g}s)"
                    )
                is_late = True
            await asyncio.sleep(_RETRY_PAUSE)
        return None

    async def _request(self, name: str, namespace: str) -> None:
        options: Object = {"apiVersion": "v1", "kind": "DeleteOptions"}
        if self._grace >= 0:
            options["gracePeriodSeconds"] = self._grace
        if self._tries:
            options["dryRun"] = ["All"]
        if self._invocation.options.disable_eviction:
            await self._pods.delete(name, namespace, options)
            return
        eviction = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": name, "namespace": namespace},
            "deleteOptions": options,
        }
        await self._pods.create(eviction, namespace, name=name, subresource="eviction")


def _of(pod: Object, error: Exception) -> Exception:
    """The error with the pod in its message, unless the server cannot be reached."""
    if isinstance(error, ApiError):
        return CommandError(f"pod {printable(title(pod))}: {printable(error.message)}")
    if isinstance(error, CommandFailed):
        text = str(error).removeprefix("error: ")
        return CommandError(f"pod {printable(title(pod))}: {text}")
    return error
