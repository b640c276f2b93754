"""What the environment and the mounted files of a container come from: ConfigMaps, Secrets, fields
of the pod, resources of containers, tokens."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import ROUND_CEILING
from typing import Protocol

from fairlead.codec.types.model import Object
from fairlead.codec.types.quantity import quantity
from fairlead.controllers.simulation.runtime.files import Entry
from fairlead.resources.core.pods.totals import POD_LEVEL_RESOURCES

CONFIG_MAPS, SECRETS = "core/v1/configmaps", "core/v1/secrets"
SERVICES, CLAIMS = "core/v1/services", "core/v1/persistentvolumeclaims"
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_SUBSCRIPT = re.compile(r"metadata\.(labels|annotations)\['(.*)'\]", re.DOTALL)
_REFERENCE = re.compile(r"\$(\$|\(([-._a-zA-Z][-._a-zA-Z0-9]*)\))")
# Every namespace gets this ConfigMap; no pod waits for it.
_OWN_CERTIFICATES = "kube-root-ca.crt"
_KINDS = {CONFIG_MAPS: "ConfigMap", SECRETS: "Secret"}
_MAX_ARGUMENTS = 2 * 1024 * 1024  # characters of variables, and of arguments, as in a kernel
_MAX_SHOWN = 8 * 1024 * 1024  # bytes that are read for all volumes and variables of a pod
_TOKEN_COST = 128 * 1024  # bytes as which a token counts: it takes as long as reading them
_MAX_PATH = 4096
_DEFAULTED = ("cpu", "memory", "ephemeral-storage")  # resources whose limit has a default


class MissingSource(Exception):
    """An object or a key that is not optional is missing, or there is too much of it; the text is
    that of a node agent."""


class Room:
    """How many characters may still be added to variables or arguments."""

    __slots__ = ("_left",)

    def __init__(self, size: int = _MAX_ARGUMENTS) -> None:
        self._left = size

    def take(self, text: str) -> str:
        """Raises MissingSource."""
        self._left -= len(text)
        if self._left < 0:
            raise MissingSource("argument list too long")
        return text


class Issuer(Protocol):
    def __call__(self, pod: Object, projection: Object) -> str: ...


class Sources:
    """Values for the containers of one pod. `find` returns an object by resource, namespace and
    name, `services` lists those of a namespace, `token` issues a token of the pod's account,
    `allocatable` returns what the pod's node has."""

    def __init__(
        self,
        pod: Object,
        find: Callable[[str, str, str], Object | None],
        services: Callable[[str], Iterator[Object]],
        token: Issuer,
        allocatable: Callable[[], Mapping[str, str]],
        current: Callable[[], Object] | None = None,
    ) -> None:
        """`current` returns the pod as it is now."""
        self._pod = pod
        self.current = current or (lambda: pod)
        self._find = find
        self._services = services
        self._token = token
        self._allocatable = allocatable
        # The bytes that were read last for each volume, and for the variables of each container.
        self._sizes: dict[tuple[str, str], int] = {}
        self._read_for = ("", "")
        self._total = 0
        # What was read for that: the pod, and the data of objects.
        self._seen: Object | None = None
        self._data: dict[tuple[str, str], dict[str, bytes]] = {}

    def _begin(self, family: str, name: str) -> None:
        """What is read from now on is for this volume or container, and as it is now."""
        self._read_for = family, name
        self._seen = None
        self._data.clear()
        self._total -= self._sizes.pop(self._read_for, 0)

    def _count(self, size: int) -> None:
        """Count bytes before they are read. Raises MissingSource."""
        self._sizes[self._read_for] = self._sizes.get(self._read_for, 0) + size
        self._total += size
        if self._total > _MAX_SHOWN:
            raise MissingSource("volumes and variables of the pod are too large")

    # Objects with data

    def data(self, resource: str, reference: Object) -> dict[str, bytes] | None:
        """The data of a ConfigMap or Secret; None if it is missing and may be. Raises
        MissingSource."""
        name = reference.get("name") or reference.get("secretName") or ""
        known = self._data.get((resource, name))
        if known is None:
            known = self._decoded(resource, name, reference)
            if known is not None:
                self._data[resource, name] = known
        return known

    def _decoded(self, resource: str, name: str, reference: Object) -> dict[str, bytes] | None:
        value = self._find(resource, self._pod["metadata"]["namespace"], name)
        if value is None:
            if reference.get("optional") or name == _OWN_CERTIFICATES:
                return None
            raise MissingSource(f'{_KINDS[resource].lower()} "{name}" not found')
        families = (value.get("data") or {}, value.get("binaryData") or {})
        self._count(sum(len(text) for family in families for text in family.values()))
        if resource == SECRETS:
            return {key: base64.b64decode(text) for key, text in (value.get("data") or {}).items()}
        binary = value.get("binaryData") or {}
        texts = {key: text.encode() for key, text in (value.get("data") or {}).items()}
        return texts | {key: base64.b64decode(text) for key, text in binary.items()}

    def _key(self, resource: str, reference: Object) -> bytes | None:
        data = self.data(resource, reference)
        if data is None:
            return None
        key = reference["key"]
        if key not in data and not reference.get("optional"):
            where = f"{self._pod['metadata']['namespace']}/{reference.get('name', '')}"
            raise MissingSource(f"couldn't find key {key} in {_KINDS[resource]} {where}")
        return data.get(key)

    def volume_of(self, claim: str) -> str:
        """The name of the volume that is bound to a claim; empty if there is none."""
        found = self._find(CLAIMS, self._pod["metadata"]["namespace"], claim)
        name: str = (found or {}).get("spec", {}).get("volumeName") or ""
        return name

    # Fields

    def field(self, path: str) -> str:
        """The text of a field of the pod; empty if it has none."""
        text = self._field(path)
        self._count(len(text))
        return text

    def _now(self) -> Object:
        """The pod, which takes long to read if it is large."""
        if self._seen is None:
            self._seen = self.current()
        return self._seen

    def _field(self, path: str) -> str:
        pod = self._now()
        if match := _SUBSCRIPT.fullmatch(path):
            return str((pod["metadata"].get(match[1]) or {}).get(match[2], ""))
        if path in ("metadata.labels", "metadata.annotations"):
            return _listed(pod["metadata"].get(path.partition(".")[2]) or {})
        if path in ("status.podIPs", "status.hostIPs"):
            addresses = pod["status"].get(path.partition(".")[2]) or ()
            return ",".join(address["ip"] for address in addresses)
        value: object = pod
        for name in path.split("."):
            value = value.get(name) if isinstance(value, dict) else None
        return "" if value is None else str(value)

    def resource(self, reference: Object, container: Object) -> str:
        """The text of a request or limit of a container, in units of its divisor. A missing limit
        is that of the pod, or what the node has."""
        name = reference.get("containerName") or container.get("name")
        spec = self._now()["spec"]
        for each in (*spec["containers"], *(spec.get("initContainers") or ())):
            if each["name"] == name:
                container = each
        family, _, resource = reference["resource"].partition(".")
        resources = container.get("resources") or {}
        text = (resources.get(family) or {}).get(resource, "0")
        if family == "limits" and resource in _DEFAULTED and not quantity(text):
            text = self._default_limit(spec, resource)
        divisor = quantity(str(reference.get("divisor") or "1")) or quantity("1")
        return str((quantity(text) / divisor).to_integral_value(ROUND_CEILING))

    def _default_limit(self, spec: Object, resource: str) -> str:
        own: Object = (spec.get("resources") or {}).get("limits") or {}
        if resource in POD_LEVEL_RESOURCES and quantity(own.get(resource, "0")):
            return str(own[resource])
        return self._allocatable().get(resource, "0")

    # Environment

    def environment(
        self, container: Object, read: Callable[[Object], str | None] = lambda reference: None
    ) -> dict[str, str]:
        """The environment of a container. `read` returns a variable of a file. Raises
        MissingSource."""
        environment = {"PATH": _PATH, "HOSTNAME": hostname_of(self._pod), "HOME": "/root"}
        self._begin("container", container["name"])
        room = Room()
        environment |= self._service_variables()
        for source in container.get("envFrom") or ():
            prefix = source.get("prefix") or ""
            for resource, name in ((CONFIG_MAPS, "configMapRef"), (SECRETS, "secretRef")):
                if source.get(name) is not None:
                    data = self.data(resource, source[name]) or {}
                    for key, content in data.items():
                        environment[prefix + key] = room.take(content.decode(errors="replace"))
        for variable in container.get("env") or ():
            origin = variable.get("valueFrom")
            if origin is None:
                value: str | None = expand(variable.get("value") or "", environment, room)
            elif (value := self._value(origin, container, read)) is not None:
                room.take(value)
            if value is not None:
                environment[variable["name"]] = value
        return environment

    def _value(
        self, origin: Object, container: Object, read: Callable[[Object], str | None]
    ) -> str | None:
        for resource, name in ((CONFIG_MAPS, "configMapKeyRef"), (SECRETS, "secretKeyRef")):
            if origin.get(name) is not None:
                value = self._key(resource, origin[name])
                return None if value is None else value.decode(errors="replace")
        if origin.get("resourceFieldRef") is not None:
            return self.resource(origin["resourceFieldRef"], container)
        if origin.get("fileKeyRef") is not None:
            return read(origin["fileKeyRef"])
        return self.field((origin.get("fieldRef") or {}).get("fieldPath", ""))

    def _service_variables(self) -> dict[str, str]:
        """The addresses of the services in the pod's namespace, and of the API's own service."""
        namespace = self._pod["metadata"]["namespace"]
        links = self._pod["spec"].get("enableServiceLinks") is not False
        variables: dict[str, str] = {}
        own = [service for service in self._services("default") if _is_api(service)]
        linked = self._services(namespace) if links else ()
        for service in (*own, *linked):
            address = service["spec"].get("clusterIP")
            ports = service["spec"].get("ports") or ()
            if not address or address == "None" or not ports:
                continue
            prefix = service["metadata"]["name"].upper().replace("-", "_")
            variables |= _variables_of(prefix, address, ports)
        return variables

    # Files of volumes

    def projected(self, sources: Sequence[Object], mode: int) -> dict[str, Entry]:
        """The files of a projected volume. Raises MissingSource."""
        entries: dict[str, Entry] = {}
        for source in sources:
            if (config_map := source.get("configMap")) is not None:
                entries |= self._items(CONFIG_MAPS, config_map, mode)
            if (secret := source.get("secret")) is not None:
                entries |= self._items(SECRETS, secret, mode)
            if (downward := source.get("downwardAPI")) is not None:
                entries |= self.downward(downward.get("items") or (), mode)
            if (token := source.get("serviceAccountToken")) is not None:
                self._count(_TOKEN_COST)
                text = self._token(self._pod, token)
                entries[f"/{token['path']}"] = self._token_file(text, mode)
        return entries

    def _token_file(self, text: str, mode: int) -> Entry:
        """A token can be read by the user of all containers, or by the group of the pod."""
        spec = self._pod["spec"]
        common = spec.get("securityContext") or {}
        if common.get("fsGroup") is not None:
            return Entry(text.encode(), 0o640, 0, common["fsGroup"])
        users = {
            (each.get("securityContext") or {}).get("runAsUser", common.get("runAsUser"))
            for each in (*(spec.get("initContainers") or ()), *spec["containers"])
        }
        user = users.pop() if len(users) == 1 else None
        return Entry(text.encode(), mode) if user is None else Entry(text.encode(), 0o600, user)

    def downward(self, items: Sequence[Object], mode: int) -> dict[str, Entry]:
        entries = {}
        for item in items:
            if item.get("resourceFieldRef") is not None:
                text = self.resource(item["resourceFieldRef"], {})
            else:
                text = self.field((item.get("fieldRef") or {}).get("fieldPath", ""))
            entries[f"/{item['path']}"] = Entry(text.encode(), item.get("mode") or mode)
        return entries

    def _items(self, resource: str, source: Object, mode: int) -> dict[str, Entry]:
        data = self.data(resource, source)
        if data is None:
            return {}
        items = source.get("items")
        if not items:
            return {f"/{key}": Entry(value, mode) for key, value in data.items()}
        entries = {}
        for item in items:
            if item["key"] in data:
                entries[f"/{item['path']}"] = Entry(data[item["key"]], item.get("mode") or mode)
            elif not source.get("optional"):
                kind = _KINDS[resource].lower()
                raise MissingSource(f"{kind} references non-existent {kind} key: {item['key']}")
        return entries

    def check(self, volume: Object) -> None:
        """Raises MissingSource if a volume shows objects or keys that are missing."""
        self._begin("volume", volume["name"])
        for name, resource in (("configMap", CONFIG_MAPS), ("secret", SECRETS)):
            projected = (volume.get("projected") or {}).get("sources") or ()
            for source in (volume, *projected):
                if source.get(name) is not None:
                    self._items(resource, source[name], 0)

    def files(self, volume: Object) -> dict[str, Entry] | None:
        """The files of a volume that shows other objects; None for any other volume. Raises
        MissingSource."""
        self._begin("volume", volume["name"])
        for name, resource in (("configMap", CONFIG_MAPS), ("secret", SECRETS)):
            if (source := volume.get(name)) is not None:
                return self._items(resource, source, source.get("defaultMode") or 0o644)
        if (source := volume.get("downwardAPI")) is not None:
            return self.downward(source.get("items") or (), source.get("defaultMode") or 0o644)
        if (source := volume.get("projected")) is not None:
            return self.projected(source.get("sources") or (), source.get("defaultMode") or 0o644)
        return None


def hostname_of(pod: Object) -> str:
    spec = pod["spec"]
    name = spec.get("hostnameOverride") or spec.get("hostname") or pod["metadata"]["name"]
    if spec.get("hostNetwork"):
        return str(spec.get("nodeName") or name)
    return str(name)[:63].rstrip("-.")


def expand(text: str, environment: Mapping[str, str], room: Room) -> str:
    """Replace `$(NAME)` by the variable; `$$` is a dollar sign, unknown names stay. Raises
    MissingSource if there is no room for the result."""

    def replacement(match: re.Match[str]) -> str:
        if match[1] == "$":
            return "$"
        return room.take(environment.get(match[2], match[0]))

    room.take(text)
    return _REFERENCE.sub(replacement, text)


def sub_path(mount: Object, environment: Mapping[str, str]) -> str:
    """The part of its volume that a mount shows. Raises MissingSource."""
    expression = mount.get("subPathExpr")
    if not expression:
        return mount.get("subPath") or ""
    names = {match[2] for match in _REFERENCE.finditer(expression) if match[1] != "$"}
    missing = sorted(name for name in names if not environment.get(name))
    if missing:
        raise MissingSource(f"missing value for {', '.join(missing)}")
    path = expand(expression, environment, Room(_MAX_PATH))
    if path.startswith("/"):
        raise MissingSource(f"error SubPath `{path}` must not be an absolute path")
    if ".." in path.split("/"):
        raise MissingSource(f"unable to provision SubPath `{path}`: must not contain '..'")
    return path


def _variables_of(prefix: str, address: str, ports: Sequence[Object]) -> dict[str, str]:
    """The variables of a service, and those that links between containers once had."""
    first = ports[0]
    variables = {
        f"{prefix}_SERVICE_HOST": address,
        f"{prefix}_SERVICE_PORT": str(first["port"]),
    }
    for port in ports:
        if port.get("name"):
            name = port["name"].upper().replace("-", "_")
            variables[f"{prefix}_SERVICE_PORT_{name}"] = str(port["port"])
    host = f"[{address}]" if ":" in address else address
    for port in ports:
        protocol, number = port.get("protocol", "TCP"), port["port"]
        url, link = f"{protocol.lower()}://{host}:{number}", f"{prefix}_PORT_{number}_{protocol}"
        if port is first:
            variables[f"{prefix}_PORT"] = url
        variables |= {
            link: url,
            f"{link}_PROTO": protocol.lower(),
            f"{link}_PORT": str(number),
            f"{link}_ADDR": address,
        }
    return variables


def _listed(values: Mapping[str, str]) -> str:
    """Labels or annotations as lines of `key="value"`."""
    lines = []
    for key in sorted(values):
        escaped = values[key].replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
        lines.append(f'{key}="{escaped}"')
    return "\n".join(lines)


def _is_api(service: Object) -> bool:
    labels = service["metadata"].get("labels") or {}
    return labels.get("provider") is not None and labels.get("component") == "apiserver"
