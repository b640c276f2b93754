"""Variables that containers take from files of their pod's volumes, as an init container wrote
them: lines `NAME='value'`."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Mapping

from fairlead.codec.types.model import Object
from fairlead.controllers.simulation.runtime.files import FileError, Files, Mount, Volume
from fairlead.controllers.simulation.runtime.sources import MissingSource

_BLANKS = " \t"
_AGENT_DIRECTORY = "/var/lib/kubelet/pods"


def file_references(container: Object) -> list[Object]:
    """The variables of a container that come from files."""
    sources = (each.get("valueFrom") or {} for each in container.get("env") or ())
    return [each["fileKeyRef"] for each in sources if each.get("fileKeyRef") is not None]


def reader(pod: Object, volumes: Mapping[str, Volume]) -> Callable[[Object], str | None]:
    """Returns a function that reads a variable from the volumes of a pod, None if it is missing and
    may be. That raises MissingSource."""

    def read(reference: Object) -> str | None:
        name, path, key = reference["volumeName"], reference["path"], reference["key"]
        try:
            if name not in volumes:  # nobody has written there
                raise FileError(path, "No such file or directory")
            files = Files([Mount("/", volumes[name])])
            value = _value(files.read(files.absolute(path)).decode(errors="replace"), key)
        except (FileError, ValueError):
            raise MissingSource("couldn't parse env file") from None
        if value:
            return value
        if reference.get("optional"):
            return None
        directory = f"{_AGENT_DIRECTORY}/{pod['metadata']['uid']}/volumes/kubernetes.io~empty-dir"
        file = posixpath.join(directory, name, path)
        raise MissingSource(f'environment variable key "{key}" not found in file "{file}"')

    return read


def _value(text: str, key: str) -> str:
    """The first value of a variable, empty if there is none. Raises ValueError if a line before it
    is no assignment."""
    text = text.replace("\r\n", "\n")
    position = 0
    while position < len(text):
        end = _end_of_line(text, position)
        line = text[position:end].lstrip(_BLANKS)
        position, begin = end + 1, end - len(line)
        if not line or line.startswith("#"):
            continue
        name, equals, value = line.partition("=")
        if not equals or not name or name.endswith((" ", "\t")):
            raise ValueError("not an assignment")
        if value.startswith((" ", "\t")):  # nothing is assigned
            if name == key:
                return ""
            continue
        opened = begin + len(name) + 1
        closed = text.find("'", opened + 1)
        if not value.startswith("'") or closed < 0:
            raise ValueError("not in single quotes")
        end = _end_of_line(text, closed)
        rest = text[closed + 1 : end].lstrip(_BLANKS)
        if rest and not rest.startswith("#"):
            raise ValueError("not at the end of its line")
        if name == key:
            return text[opened + 1 : closed]
        position = end + 1
    return ""


def _end_of_line(text: str, position: int) -> int:
    end = text.find("\n", position)
    return len(text) if end < 0 else end
