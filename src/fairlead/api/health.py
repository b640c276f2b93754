"""/healthz, /livez and /readyz: named checks, one by one or all together."""

from __future__ import annotations

from collections.abc import Callable

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
