"""/healthz, /livez and /readyz: named health checks, singly or all together."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from time import monotonic, time
from types import MappingProxyType

from fairlead.api.answers import NO_SNIFF, Answer, no_such_page, text_answer
from fairlead.api.request import Request
from fairlead.base.dialect import Dialect
from fairlead.base.logs import Logger
from fairlead.base.metrics import Counter, Family, Gauge
from fairlead.base.release import Release

# A check returns None if healthy, else a description of the problem.
Check = Callable[[], str | None]


class Health:
    """The checks of one endpoint, in display order."""

    def __init__(
        self,
        dialect: Dialect,
        name: str,
        checks: dict[str, Check],
        counts: CheckCounts | None = None,
    ) -> None:
        self._name = name
        self._checks = checks
        self._counts = counts
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
        if not self._passes(name, check):
            return text_answer(500, "internal server error: check failed\n", NO_SNIFF)
        return text_answer(200, "ok", NO_SNIFF)

    def _run(self, excluded: set[str]) -> tuple[list[str], bool]:
        lines, failed = [], False
        for name, check in self._checks.items():
            group = _group_of(name)
            if name in excluded:
                lines.append(f"[+]{name} excluded: ok")
            elif group in excluded:
                lines.append(f"[+]{name} excluded with {group}: ok")
            elif self._passes(name, check):
                lines.append(f"[+]{name} ok")
            else:
                # The reason goes to the log only: this page is public.
                lines.append(f"[-]{name} failed: reason withheld")
                failed = True
        return lines, failed

    def _passes(self, name: str, check: Check) -> bool:
        passes = check() is None
        if self._counts is not None:
            self._counts.add(name, self._name, passes)
        return passes


class CheckCounts:
    """Counts the results of health checks, for /metrics/slis."""

    def __init__(self) -> None:
        self._started = time()
        self._last = Gauge(
            "kubernetes_healthcheck", "The last result of a health check.", ("name", "type")
        )
        self._total = Counter(
            "kubernetes_healthchecks", "Results of health checks.", ("name", "status", "type")
        )

    def add(self, name: str, endpoint: str, passes: bool) -> None:
        self._last.set(int(passes), (name, endpoint))
        self._total.add(1, (name, "success" if passes else "error", endpoint))

    def families(self) -> list[Family]:
        started = Gauge("process_start_time_seconds", "When the process started.")
        started.set(self._started)
        return [self._last.snapshot(), self._total.snapshot(), started.snapshot()]


# The named checks and the startup progress that they depend on.

logger = Logger("fairlead")

# The startup stage that each check waits for, in display order. Clients of the API know these check
# names. OVERLOAD stands for the checks of the overload protection.
STORE, PARTS, OBJECTS, WORK = "store", "parts", "objects", "work"
_HOOKS = """
start-kube-apiserver-admission-initializer parts until=1.36
start-apiserver-admission-initializer parts since=1.36
generic-apiserver-start-informers work
OVERLOAD work since=1.36
storage-object-count-tracker-hook work since=1.36
start-apiextensions-informers parts
start-apiextensions-controllers work
crd-informer-synced parts
bootstrap-controller objects until=1.36
start-system-namespaces-controller objects since=1.36
peer-endpoint-reconciler-controller work since=1.36
start-cluster-authentication-info-controller objects since=1.36
start-kube-apiserver-identity-lease-controller work since=1.36
start-kube-apiserver-identity-lease-garbage-collector work since=1.36
storage-readiness store since=1.36
start-legacy-token-tracking-controller objects since=1.36
start-service-ip-repair-controllers work since=1.36
rbac/bootstrap-roles objects
scheduling/bootstrap-system-priority-classes objects
priority-and-fairness-config-producer objects
bootstrap-controller objects since=1.36
start-kubernetes-service-cidr-controller objects since=1.36
start-cluster-authentication-info-controller objects until=1.36
aggregator-reload-proxy-client-cert parts
start-kube-aggregator-informers parts
apiservice-status-local-available-controller work since=1.36
apiservice-status-remote-available-controller work since=1.36
apiservice-registration-controller parts
apiservice-discovery-controller work since=1.36
apiservice-status-available-controller work until=1.36
kube-apiserver-autoregistration work
autoregister-completion objects
apiservice-openapi-controller work
apiservice-openapiv3-controller work
OVERLOAD work until=1.36
"""
_OVERLOAD = "OVERLOAD"
# With priority and fairness, or with in-flight limits.
_FAIR = ("priority-and-fairness-config-consumer", "priority-and-fairness-filter")
_PLAIN = ("max-in-flight-filter",)
# All others have the prefix `poststarthook/`.
_BARE = ("autoregister-completion",)
# Checks of other etcd clusters, and the checks of the main one that they are excluded with.
_OVERRIDE, _OVERRIDE_READINESS = "etcd-override-", "etcd-override-readiness-"
_GROUPS = ((_OVERRIDE_READINESS, "etcd-readiness"), (_OVERRIDE, "etcd"))


def _group_of(name: str) -> str | None:
    return next((group for prefix, group in _GROUPS if name.startswith(prefix)), None)


class Progress:
    """The startup stages that are complete."""

    def __init__(self) -> None:
        self._done: set[str] = set()
        self._begun = monotonic()

    def done(self, stage: str) -> None:
        self._done.add(stage)
        logger.debug("a stage of the start is done", stage=stage, seconds=round(self.waited, 3))

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
    release: Release,
    *,
    fair: bool = True,
    of_store: Mapping[str, Check] = MappingProxyType({}),
    overrides_are_healthy: Sequence[Callable[[], bool]] = (),
) -> dict[str, dict[str, Check]]:
    """The checks by endpoint, with further ones of the store and of those in other etcd clusters,
    which release 1.25 does not check. For `grace` seconds after the start, incomplete stages fail
    readiness only."""

    def ping() -> str | None:
        return None

    def answers(is_healthy: Callable[[], bool]) -> Check:
        return lambda: None if is_healthy() else "the store does not answer"

    def shutdown() -> str | None:
        return "the server is shutting down" if is_shutting_down() else None

    def hook(stage: str, patience: float) -> Check:
        def check() -> str | None:
            if progress.has_done(stage) or progress.waited < patience:
                return None
            return "not started"

        return check

    def hooks(patience: float) -> dict[str, Check]:
        rows = _hook_stages(release, _FAIR if fair else _PLAIN)
        return {_shown(name): hook(stage, patience) for name, stage in rows.items()}

    base: dict[str, Check] = {"ping": ping, "log": ping}
    store = answers(store_is_healthy)
    alive, ready = dict(base), {**base, "etcd": store}
    others: dict[str, Check] = {}
    if release.minor >= 36:
        alive["loopback-serving-certificate"] = ping
        ready["etcd-readiness"] = store
        for n, check in enumerate(map(answers, overrides_are_healthy)):
            others[f"{_OVERRIDE}{n}"] = check
            ready |= {f"{_OVERRIDE}{n}": check, f"{_OVERRIDE_READINESS}{n}": check}
    alive |= {"etcd": store, **others, **of_store, **hooks(grace)}
    ready |= {**of_store, "informer-sync": hook(PARTS, 0), **hooks(0), "shutdown": shutdown}
    return {"healthz": alive, "livez": alive, "readyz": ready}


def _hook_stages(release: Release, overload: tuple[str, ...]) -> dict[str, str]:
    stages: dict[str, str] = {}
    for line in release.select(_HOOKS).split("\n"):
        if line:
            name, stage = line.split()
            stages |= dict.fromkeys(overload if name == _OVERLOAD else (name,), stage)
    return stages


def _shown(name: str) -> str:
    return name if name in _BARE else f"poststarthook/{name}"
