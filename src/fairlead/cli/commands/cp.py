"""`cp`: copies files and directories to and from containers, with the `tar` of the container."""

from __future__ import annotations

import asyncio
import posixpath
import tarfile
from pathlib import Path
from typing import Any, NamedTuple

from fairlead.base.terminal import printable
from fairlead.cli.arguments import ArgumentReader
from fairlead.cli.errors import CommandError, UsageError
from fairlead.cli.invocation import Invocation
from fairlead.cli.pods.archives import HostileArchive, ReceivedBytes, SentBytes, Unpacking, pack
from fairlead.cli.pods.attaching import check_running
from fairlead.cli.pods.choice import container_of, pod_of
from fairlead.client import Unreachable
from fairlead.client.processes import STDOUT, RemoteProcess, Streams

_NOT_FOUND = (126, 127)
_HARMLESS = "tar: Removing leading"
_MAX_ERRORS = 64 * 1024
_PAUSE = 1.0  # seconds before a copy begins again


class _Place(NamedTuple):
    """A path in a container, or a local one: then there is no pod."""

    path: str
    pod: str = ""
    namespace: str = ""


class _BrokenOff(CommandError):
    """An archive that ends too early."""


class _Container(NamedTuple):
    namespace: str
    pod: str
    name: str


def add_flags(parser: ArgumentReader) -> None:
    parser.add_argument("words", metavar="[[NAMESPACE/]POD:]PATH", nargs="*")
    parser.add_argument(
        "-c", "--container", metavar="NAME", default="", help="container to copy from or to"
    )
    parser.add_switch("--no-preserve", help="do not keep owners and permissions in the container")
    parser.add_argument(
        "--retries",
        metavar="NUMBER",
        type=int,
        default=0,
        help="how often a copy from a container begins again if it breaks off; -1 for ever",
    )


async def run(invocation: Invocation) -> int:
    words = invocation.options.words
    if len(words) != 2:
        raise UsageError("give what is copied and where to: fairlead cp SOURCE TARGET")
    source, target = (_parsed(word) for word in words)
    if bool(source.pod) == bool(target.pod):
        raise UsageError("one of the two must be in a pod: [NAMESPACE/]POD:PATH")
    if not source.path or not target.path:
        raise CommandError("a path is empty")
    container = await _container(invocation, source if source.pod else target)
    if source.pod:
        await _download_again(invocation, container, source.path, Path(target.path))
    else:
        await _upload(invocation, container, Path(source.path), target.path)
    return 0


def _parsed(word: str) -> _Place:
    pod, colon, path = word.partition(":")
    if not colon or word.startswith((".", "/", "~")):
        return _Place(word)
    namespace, _, name = pod.rpartition("/")
    if not name or "/" in namespace:
        raise UsageError(f"{word!r}: a path in a pod is [NAMESPACE/]POD:PATH")
    return _Place(path, name, namespace)


async def _container(invocation: Invocation, place: _Place) -> _Container:
    pod = await pod_of(invocation, place.pod, place.namespace or invocation.namespace, 0.0)
    check_running(pod)
    name = await container_of(invocation, pod, invocation.options.container)
    return _Container(pod["metadata"]["namespace"], pod["metadata"]["name"], name)


def _opened(
    invocation: Invocation, container: _Container, command: list[str], *, stdin: bool = False
) -> Any:
    return invocation.client.exec(
        container.pod,
        command,
        container.namespace,
        container=container.name,
        streams=Streams(stdin=stdin),
    )


# To a container


async def _upload(invocation: Invocation, container: _Container, source: Path, target: str) -> None:
    name_of_source = _existing(source)
    target = posixpath.normpath(target) if target.strip("/") else "/"
    probe = await invocation.client.execute(
        container.pod, ["test", "-d", target], container.namespace, container=container.name
    )
    if probe.code == 0:
        target = posixpath.join(target, name_of_source)
    directory, name = posixpath.split(target)
    command = ["tar", "-xmf", "-"]
    if invocation.options.no_preserve:
        command[1:1] = ["--no-same-permissions", "--no-same-owner"]
    command += ["-C", directory or "."]
    async with _opened(invocation, container, command, stdin=True) as process:
        packing = asyncio.create_task(_pack(process, source, name))
        try:
            errors = await _read_errors(process)
            code = await process.wait()
        finally:
            packing.cancel()
            packed = await asyncio.gather(packing, return_exceptions=True)
    if isinstance(packed[0], OSError):
        raise CommandError(_told(packed[0]))
    _check(invocation, container, code, errors)


def _existing(source: Path) -> str:
    """The name of a file or directory; raises CommandError."""
    if not source.exists() and not source.is_symlink():
        raise CommandError(f"{source}: No such file or directory")
    return source.resolve().name


async def _pack(process: RemoteProcess, source: Path, name: str) -> None:
    loop = asyncio.get_running_loop()

    def send(data: bytes) -> None:
        asyncio.run_coroutine_threadsafe(process.write(data), loop).result()

    try:
        await asyncio.to_thread(pack, source, name, SentBytes(send))
    except OSError:
        await process.close()  # half an archive must not look whole
        raise
    await process.end_input()


async def _read_errors(process: RemoteProcess) -> str:
    written = b""
    while (piece := await process.read()) is not None:
        written += piece[1][: _MAX_ERRORS - len(written)]
    return written.decode(errors="replace")


# From a container


async def _download_again(
    invocation: Invocation, container: _Container, source: str, target: Path
) -> None:
    """Copy from a container, and begin again if the connection is lost, as often as --retries
    allows."""
    left = invocation.options.retries
    while True:
        try:
            await _download(invocation, container, source, target)
            return
        except (_BrokenOff, Unreachable) as error:
            if not left:
                raise
            left -= 1
            invocation.screen.warn(printable(f"{error}: it begins again"))
            await asyncio.sleep(_PAUSE)


async def _download(
    invocation: Invocation, container: _Container, source: str, target: Path
) -> None:
    source = posixpath.normpath(source)
    is_file = await _is_file(invocation, container, source)
    if is_file:
        target = _inside(target, posixpath.basename(source))
    prefix = source.lstrip("/")
    while prefix.startswith("../"):
        prefix = prefix[3:]
    received = ReceivedBytes()
    unpacking = Unpacking(
        "" if prefix in (".", "..") else prefix,
        target.absolute(),
        lambda text: invocation.screen.warn(printable(text)),
    )
    writing = asyncio.create_task(asyncio.to_thread(unpacking.run, received))
    command = ["tar", "cf", "-", source]
    async with _opened(invocation, container, command) as process:
        try:
            code, errors = await _receive(process, received)
        finally:
            received.end()
            try:
                await writing
            except HostileArchive as error:
                raise CommandError(f"refused: {error}") from None
            except OSError as error:
                raise CommandError(_told(error)) from None
            except tarfile.TarError as error:
                raise _BrokenOff(f"the archive of the pod cannot be read: {error}") from None
    _check(invocation, container, code, errors)


def _inside(target: Path, name: str) -> Path:
    """The path of a file that is copied to a directory or a file."""
    return target / name if target.is_dir() else target


async def _is_file(invocation: Invocation, container: _Container, path: str) -> bool:
    probe = await invocation.client.execute(
        container.pod, ["test", "-d", path], container.namespace, container=container.name
    )
    return probe.code != 0


async def _receive(process: RemoteProcess, received: ReceivedBytes) -> tuple[int, str]:
    errors = b""
    while (piece := await process.read()) is not None:
        if piece[0] == STDOUT:
            await asyncio.to_thread(received.put, piece[1])
        else:
            errors += piece[1][: _MAX_ERRORS - len(errors)]
    return await process.wait(), errors.decode(errors="replace")


def _check(invocation: Invocation, container: _Container, code: int, errors: str) -> None:
    """Tell what `tar` says; raises CommandError if it failed."""
    for line in errors.splitlines():
        if not line.startswith(_HARMLESS):
            invocation.screen.warn(printable(line))
    if code in _NOT_FOUND:
        raise CommandError(f"the container {container.name} has no program tar, which cp needs")
    if code:
        raise CommandError(f"the copy is not complete: tar ended with exit code {code}")


def _told(error: OSError) -> str:
    return f"{error.filename}: {error.strerror}" if error.filename else str(error)
