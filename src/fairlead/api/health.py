"""/healthz, /livez and /readyz: named health checks, singly or all together."""

from __future__ import annotations

import logging
from collections.abc import Callable
from time import monotonic

from fairlead.api.answers import NO_SNIFF, Answer, no_such_page, text_answer
from fairlead.api.request import Request
from fairlead.base.dialect import Dialect

# A check returns None if healthy, else a description of the problem.
Check = Callable[[], str | None]


class Health:
    """The checks of one endpoint, in display order."""

    def __init__(self, dialect: Dialect, name: str, checks: dict[str, Check]) -> None:
        self._checks = checks
        self._shown_name = "healthz" if dialect.verbose_always_healthz else name

    async def answer(self, request: Request) -> Answer:
        """Answer `/readyz`, or `/readyz/<check>` for a single check."""
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
                # The reason goes to the log only: this page is public.
                lines.append(f"[-]{name} failed: reason withheld")
                failed = True
        return lines, failed


# The named checks and the startup progress that they depend on.

logger = logging.getLogger("fairlead")

# The startup stage that each check waits for. Clients of the API know these check names.
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
# The checks of the overload protection: with priority and fairness, or with in-flight limits.
FAIR = {"priority-and-fairness-config-consumer": WORK, "priority-and-fairness-filter": WORK}
PLAIN = {"max-in-flight-filter": WORK}
# All others have the prefix `poststarthook/`.
_BARE = ("autoregister-completion",)


class Progress:
    """The startup stages that are complete."""

    def __init__(self) -> None:
        self._done: set[str] = set()
        self._begun = monotonic()

    def done(self, stage: str) -> None:
        self._done.add(stage)
        logger.debug("start: reached stage %s after %.3f s", stage, self.waited)

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
    """The checks by endpoint. For `grace` seconds after the start, incomplete stages fail readiness
    only."""

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
