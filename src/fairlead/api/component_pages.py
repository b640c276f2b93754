"""/flagz, /statusz and /metrics/slis: pages about the process, from release 1.36 on."""

from __future__ import annotations

import platform
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from fairlead.api.answers import Answer, encode, text_answer
from fairlead.api.chain import Handler
from fairlead.api.health import CheckCounts
from fairlead.api.negotiation import JSON, YAML, Representation, clauses
from fairlead.api.request import Request
from fairlead.base.errors import not_acceptable
from fairlead.base.metrics import format_text
from fairlead.codec.types.times import format_time

_TEXT = "text/plain"
_VERSIONS = ("v1beta1", "v1alpha1")
_NOTE = "For people, not for programs: the layout of this page may change.\n"


class ComponentPages:
    """`flags` are the flags of the process with their values, `counts` the results of its health
    checks, `metrics_type` the media type of metrics."""

    def __init__(
        self,
        handler: Handler,
        flags: Mapping[str, object],
        counts: CheckCounts,
        advertised: str,
        metrics_type: str,
    ) -> None:
        self._handler = handler
        self._flags = flags
        self._counts = counts
        self._advertised = advertised
        self._metrics_type = metrics_type
        self._started = time.time()

    def add(self) -> None:
        """Register the pages with the handler."""
        gates = self._handler.api.gates
        if gates["ComponentFlagz"]:
            self._handler.pages["/flagz"] = self._flagz
        if gates["ComponentStatusz"]:
            self._handler.pages["/statusz"] = self._statusz
        self._handler.pages["/metrics/slis"] = self._slis

    async def _flagz(self, request: Request) -> Answer:
        shown = {name: _flag_text(value) for name, value in sorted(self._flags.items())}
        form = self._form(request, "Flagz")
        if form is not None:
            return self._structured(form, "Flagz", {"flags": shown})
        lines = (f"{name}={value}\n" for name, value in shown.items())
        return text_answer(200, f"apiserver flagz\n{_NOTE}\n{''.join(lines)}")

    async def _statusz(self, request: Request) -> Answer:
        release = self._handler.api.resources.release
        uptime = int(time.time() - self._started)
        paths = sorted(
            path
            for path in (*self._handler.pages, *self._handler.prefixes)
            if path in ("/flagz", "/healthz", "/livez", "/metrics", "/readyz", "/statusz")
            or path == "/version"
        )
        started = datetime.fromtimestamp(self._started, UTC)
        form = self._form(request, "Statusz")
        if form is not None:
            status = {
                "startTime": format_time(started),
                "uptimeSeconds": uptime,
                "goVersion": f"python{platform.python_version()}",
                "binaryVersion": self._advertised.removeprefix("v"),
                "emulationVersion": release.name,
                "paths": paths,
            }
            return self._structured(form, "Statusz", status)
        hours, rest = divmod(uptime, 3600)
        text = (
            f"apiserver statusz\n{_NOTE}\n"
            f"Started: {started:%a %b %d %H:%M:%S UTC %Y}\n"
            f"Up: {hours} hr {rest // 60:02} min {rest % 60:02} sec\n"
            f"Python version: {platform.python_version()}\n"
            f"Binary version: {self._advertised.removeprefix('v')}\n"
            f"Emulation version: {release.name}\n"
            f"Paths: {' '.join(paths)}\n"
        )
        return text_answer(200, text)

    async def _slis(self, request: Request) -> Answer:
        return Answer(200, format_text(self._counts.families()), self._metrics_type)

    def _form(self, request: Request, kind: str) -> Representation | None:
        """The form of the structured page; None for text. Raises 406."""
        accept = request.header(b"accept")
        group = self._handler.api.dialect.group_name("config.@")
        for clause in clauses(accept):
            wanted = clause.parameters
            if clause.media_type in (_TEXT, "*/*", "text/*"):
                return None
            if (
                clause.media_type in (JSON, YAML)
                and (wanted.get("as"), wanted.get("g")) == (kind, group)
                and wanted.get("v") in _VERSIONS
            ):
                return Representation(clause.media_type, transform=kind, version=wanted["v"])
        if not accept:
            return None
        raise not_acceptable((JSON, YAML, _TEXT))

    def _structured(self, form: Representation, kind: str, content: dict[str, Any]) -> Answer:
        resources = self._handler.api.resources
        group = resources.dialect.group_name("config.@")
        value = {
            "kind": kind,
            "apiVersion": f"{group}/{form.version}",
            "metadata": {"name": "apiserver"},
            **content,
        }
        media_type = f"{form.media_type};g={group};v={form.version};as={kind}"
        return Answer(200, encode(value, form, resources), media_type)


def _flag_text(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list | tuple):
        return f"[{','.join(map(str, value))}]"
    return str(value)
