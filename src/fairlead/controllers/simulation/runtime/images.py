"""What well-known images run if a container does not say it."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from fairlead.codec.types.model import Object


class Image(NamedTuple):
    """The entry point of an image, its default arguments, the user that it runs as, and files."""

    entry_point: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()
    user: int = 0
    files: Mapping[str, str] = {}


_CERTIFICATE = "-----BEGIN CERTIFICATE-----\nsimulated\n-----END CERTIFICATE-----\n"
_DEMO = '{{\n"image": "{name}.jpg"\n}}\n'
_SYSTEM = 'NAME="Alpine Linux"\nID=alpine\nPRETTY_NAME="Alpine Linux (simulated)"\n'


_UNKNOWN = Image()


def _demo(name: str) -> Mapping[str, str]:
    """The files of an image that tells its name."""
    return {"/data.json": _DEMO.format(name=name), "/etc/os-release": _SYSTEM}


# By the last part of their names, and whose they are: any owner's if none is named.
_OFFICIAL = frozenset(("", "library", "e2e-test-images"))
_OF_ANYBODY = frozenset(("agnhost", "pause"))
IMAGES = {
    "agnhost": Image(
        ("/agnhost",),
        ("pause",),
        files={"/localhost.crt": _CERTIFICATE, "/localhost.key": "simulated\n"},
    ),
    "busybox": Image(),
    "kitten": Image(("update-demo", "kitten"), files=_demo("kitten")),
    "nautilus": Image(("update-demo", "nautilus"), files=_demo("nautilus")),
    "nonewprivs": Image(("nnp",), user=1000),
    "nonroot": Image(("id", "-u"), user=1234),
    "pause": Image(("/pause",), user=65535),
    "resource-consumer": Image(("/consumer",)),
}

# Images of servers that listen on a port without saying so in the spec.
_WEB_SERVERS = {"caddy": 80, "httpd": 80, "nginx": 80}


def is_known_image(container: Object) -> bool:
    return image_of(container) is not _UNKNOWN


def image_of(container: Object) -> Image:
    name, is_official = _named(container)
    if name in _OF_ANYBODY or is_official:
        return IMAGES.get(name, _UNKNOWN)
    return _UNKNOWN


def own_port(container: Object) -> int | None:
    """The port that the program of an image listens on, unless the container runs another one."""
    name, is_official = _named(container)
    if container.get("command") or container.get("args") or not is_official:
        return None
    return _WEB_SERVERS.get(name)


def _named(container: Object) -> tuple[str, bool]:
    """The last part of an image's name, and whether it is that of the official image."""
    reference = (container.get("image") or "").partition("@")[0]
    path, _, last = reference.rpartition("/")
    owner = posixpath.basename(path)
    return last.partition(":")[0], owner in _OFFICIAL or "." in owner


def command_of(container: Object) -> list[str]:
    """The command of a container. Arguments alone are taken for one if the entry point of the image
    is not known: images of shells have none. A container that names no command and wants input runs
    a shell."""
    image = image_of(container)
    command, arguments = container.get("command"), container.get("args")
    first: Sequence[str] = command or image.entry_point
    if command:
        return [*first, *(arguments or ())]
    words = [*first, *(arguments or image.arguments)]
    return words or (["sh"] if container.get("stdin") else [])
