"""/healthz, /livez and /readyz: named checks, one by one or all together."""

from __future__ import annotations

import logging
from collections.abc import Callable
from time import monotonic

from fairlead.api.answers import NO_SNIFF, Answer, no_such_page, text_answer
from fairlead.api.request import Request
from fairlead.base.dialect import Dialect

# A check gives nothing when all is well, and what is wrong when not.
Check = Callable[[], str | None]


class Health:
    """The checks of one endpoint, in the order in which they are shown."""

    def __init__(self, dialect: Dialect, name: str, checks: dict[str, Check]) -> None:
        self._checks = checks
        self._shown_name = "healthz" if dialect.verbose_always_healthz else name

    async def answer(self, request: Request) -> Answer:
        """`/readyz`, or `/readyz/<check>` for a single one."""
        _, slash, single = request.target.path[1:].partition("/")
        if slash:
            return self._one(single)
        excluded = set(request.query.get("exclude", ()))
        lines, failed = self._run(excluded)
        if failed:
            lines.append(f"{self._shown_name} check failed")
            return text_answer(500, "\n".join(lines) + "\n", NO_SNIFF)
        if "verbose" not in request.query:
            return text_answer(200, "ok", NO_SNIFF)
        unknown = sorted(excluded - set(self._checks))
        if unknown:
            listed = ",".join(f'"{name}"' for name in unknown)
            lines.append(f"warn: some health checks cannot be excluded: no matches for {listed}")
        lines.append(f"{self._shown_name} check passed")
        return text_answer(200, "\n".join(lines) + "\n", NO_SNIFF)

    def _one(self, name: str) -> Answer:
        check = self._checks.get(name)
        if check is None:
            return no_such_page()
        if check() is not None:
            return text_answer(500, "internal server error: check failed\n", NO_SNIFF)
        return text_answer(200, "ok", NO_SNIFF)

    def _run(self, excluded: set[str]) -> tuple[list[str], bool]:
        lines, failed = [], False
        for name, check in self._checks.items():
            if name in excluded:
                lines.append(f"[+]{name} excluded: ok")
            elif check() is None:
                lines.append(f"[+]{name} ok")
            else:
                # Why a check fails is for the log: strangers may read this page.
                lines.append(f"[-]{name} failed: reason withheld")
                failed = True
        return lines, failed


# The named checks of the health endpoints, and how far the start has come.

logger = logging.getLogger("fairlead")

# What must be done before a check holds. The names are those that clients of the API know.
STORE, PARTS, OBJECTS, WORK = "store", "parts", "objects", "work"
HOOKS = {
    "start-kube-apiserver-admission-initializer": PARTS,
    "generic-apiserver-start-informers": WORK,
    "start-apiextensions-informers": PARTS,
    "start-apiextensions-controllers": WORK,
    "crd-informer-synced": PARTS,
    "bootstrap-controller": OBJECTS,
    "rbac/bootstrap-roles": OBJECTS,
    "scheduling/bootstrap-system-priority-classes": OBJECTS,
    "priority-and-fairness-config-producer": OBJECTS,
    "start-cluster-authentication-info-controller": OBJECTS,
    "aggregator-reload-proxy-client-cert": PARTS,
    "start-kube-aggregator-informers": PARTS,
    "apiservice-registration-controller": PARTS,
    "apiservice-status-available-controller": WORK,
    "kube-apiserver-autoregistration": WORK,
    "autoregister-completion": OBJECTS,
    "apiservice-openapi-controller": WORK,
    "apiservice-openapiv3-controller": WORK,
}
# And by what bounds how many requests are under way.
FAIR = {"priority-and-fairness-config-consumer": WORK, "priority-and-fairness-filter": WORK}
PLAIN = {"max-in-flight-filter": WORK}
# All others are called hooks.
_BARE = ("autoregister-completion",)


class Progress:
    """Which stages of the start are done; all others are still to come."""

    def __init__(self) -> None:
        self._done: set[str] = set()
        self._begun = monotonic()

    def done(self, stage: str) -> None:
        self._done.add(stage)
        logger.debug("the start has come to %s after %.3f s", stage, self.waited)

    def has_done(self, stage: str) -> bool:
        return stage in self._done

    @property
    def waited(self) -> float:
        """Seconds since the start began."""
        return monotonic() - self._begun


def named_checks(
    progress: Progress,
    store_is_healthy: Callable[[], bool],
    is_shutting_down: Callable[[], bool],
    grace: float,
    *,
    fair: bool = True,
) -> dict[str, dict[str, Check]]:
    """The checks by endpoint. While starting, only readiness minds what is not done yet before
    `grace` seconds are over."""

    def ping() -> str | None:
        return None

    def store() -> str | None:
        return None if store_is_healthy() else "the store does not answer"

    def shutdown() -> str | None:
        return "the server is shutting down" if is_shutting_down() else None

    def hook(stage: str, patience: float) -> Check:
        def check() -> str | None:
            if progress.has_done(stage) or progress.waited < patience:
                return None
            return "not started"

        return check

    def hooks(patience: float) -> dict[str, Check]:
        wanted = {**HOOKS, **(FAIR if fair else PLAIN)}
        return {_shown(name): hook(stage, patience) for name, stage in wanted.items()}

    common: dict[str, Check] = {"ping": ping, "log": ping, "etcd": store}
    alive = {**common, **hooks(grace)}
    return {
        "healthz": alive,
        "livez": alive,
        "readyz": {**common, "informer-sync": hook(PARTS, 0), **hooks(0), "shutdown": shutdown},
    }


def _shown(name: str) -> str:
    return name if name in _BARE else f"poststarthook/{name}"
