"""Builders of config maps and secrets."""

from __future__ import annotations

import os
import re
import ssl
from base64 import b64encode
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import orjson

from fairlead.cli.create.form import Flag, Form, FormArguments, Object
from fairlead.cli.errors import CommandError
from fairlead.fields.values import compact_json

_KEY = re.compile(r"[-._a-zA-Z0-9]+")
_BAD_KEY = "letters, digits, '-', '_' and '.' make a key, as in 'key.name'"
_VARIABLE = re.compile(r"[-._a-zA-Z][-._a-zA-Z0-9]*")
_HASH = Flag("append_hash", "append a hash of the content to the name", switch=True)
_SOURCES = (
    Flag("from_literal", "key and value", "KEY=VALUE", many=True),
    Flag("from_file", "file or folder; file names become keys", "[KEY=]FILE", many=True),
    Flag("from_env_file", "file with lines KEY=VALUE", "FILE", many=True),
)


def _contents(arguments: FormArguments, kind: str) -> dict[str, bytes]:
    """The keys and values from the flags; raises CommandError."""
    options = arguments.options
    if options.from_env_file and (options.from_file or options.from_literal):
        raise CommandError(
            "--from-env-file sets all keys: leave out --from-file and --from-literal"
        )
    contents: dict[str, bytes] = {}
    for key, value in (
        *_literals(options.from_literal),
        *(pair for text in arguments.values("from_file") for pair in _file(text)),
        *(pair for text in arguments.values("from_env_file") for pair in _variables(text)),
    ):
        if not _KEY.fullmatch(key) or len(key) > 253 or key in (".", ".."):
            raise CommandError(f'"{key}" cannot be a key of a {kind}: {_BAD_KEY}')
        if key in contents:
            raise CommandError(f'the key "{key}" of {kind} "{arguments.name}" is given twice')
        contents[key] = value
    return contents


def _literals(texts: list[str]) -> Iterator[tuple[str, bytes]]:
    for text in texts:
        key, sign, value = text.partition("=")
        if not sign or not key:
            raise CommandError(f"--from-literal takes KEY=VALUE, not {text}")
        yield key, value.encode()


def _file(text: str) -> Iterator[tuple[str, bytes]]:
    key, sign, file_name = text.partition("=")
    if not sign:
        key, file_name = "", text
    if "=" in file_name:
        raise CommandError("--from-file takes FILE or KEY=FILE: neither has another '=' in it")
    if sign and (not key or not file_name):
        missing = "key name" if not key else "file path"
        raise CommandError(f"{missing} for {'file path' if not key else 'key name'} {text} missing")
    path = Path(file_name)
    if path.is_dir():
        if key:
            raise CommandError("file names become the keys of a folder: leave out KEY=")
        for file in sorted(path.iterdir()):
            if file.is_file():
                yield file.name, content_of(file)
        return
    yield key or path.name, content_of(path)


def content_of(path: Path) -> bytes:
    """Raises CommandError."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise CommandError(
            f"error reading {path}: {(error.strerror or str(error)).lower()}"
        ) from None


def _variables(name: str) -> Iterator[tuple[str, bytes]]:
    """Parse lines KEY=VALUE. A key without `=` takes its value from the environment, or is
    empty."""
    try:
        text = content_of(Path(name)).decode()
    except UnicodeDecodeError:
        raise CommandError(f"{name} is not UTF-8") from None
    for line in text.removeprefix("\ufeff").splitlines():
        line = line.lstrip()
        if not line or line.startswith("#"):
            continue
        key, sign, value = line.partition("=")
        if not _VARIABLE.fullmatch(key):
            raise CommandError(f'"{key}" cannot name a variable')
        yield key, (value if sign else os.environ.get(key, "")).encode()


async def _config_map(arguments: FormArguments) -> Object:
    config_map: Object = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": arguments.name},
    }
    for key, content in _contents(arguments, "ConfigMap").items():
        try:
            config_map.setdefault("data", {})[key] = content.decode()
        except UnicodeDecodeError:
            config_map.setdefault("binaryData", {})[key] = b64encode(content).decode()
    return _named(arguments, config_map)


def _named(arguments: FormArguments, value: Object) -> Object:
    return with_hash(value) if arguments.options.append_hash else value


def _secret(arguments: FormArguments, contents: dict[str, bytes], type: str = "") -> Object:
    secret: Object = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": arguments.name}}
    if contents:
        secret["data"] = {key: b64encode(value).decode() for key, value in contents.items()}
    if type:
        secret["type"] = type
    return _named(arguments, secret)


async def _generic(arguments: FormArguments) -> Object:
    return _secret(arguments, _contents(arguments, "Secret"), arguments.text("type"))


async def _tls(arguments: FormArguments) -> Object:
    files = {"tls.crt": arguments.text("cert"), "tls.key": arguments.text("key")}
    if not all(files.values()):
        raise CommandError("both files are needed: --cert and --key")
    contents = {name: content_of(Path(file)) for name, file in files.items()}
    _check_pair(files["tls.crt"], files["tls.key"])
    return _secret(arguments, contents, arguments.dialect.label("@/tls"))


def _check_pair(certificate: str, key: str) -> None:
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key)
    except (ssl.SSLError, OSError) as error:
        why = getattr(error, "reason", None) or error
        raise CommandError(f"tls: failed to load the certificate and its key: {why}") from None


async def _registry(arguments: FormArguments) -> Object:
    type, file = arguments.dialect.label("@/dockerconfigjson"), ".dockerconfigjson"
    sources = arguments.values("from_file")
    if sources:
        values = [value for text in sources for _, value in _file(text)]
        if len(values) != 1:
            raise CommandError("only one file can be given for a registry's credentials")
        return _secret(arguments, {file: values[0]}, type)
    user, password, server = (
        arguments.text(f"docker_{name}") for name in ("username", "password", "server")
    )
    if not (user and password and server):
        raise CommandError(
            "credentials are missing: --docker-server with --docker-username and"
            " --docker-password, or"
            " --from-file"
        )
    entry = {"username": user, "password": password}
    if arguments.text("docker_email"):
        entry["email"] = arguments.text("docker_email")
    entry["auth"] = b64encode(f"{user}:{password}".encode()).decode()
    return _secret(arguments, {file: orjson.dumps({"auths": {server: entry}})}, type)


FORMS = {
    "configmap": Form(
        "a config map", _config_map, (*_SOURCES, _HASH), "failed to create configmap: "
    ),
    "secret generic": Form(
        "a secret of any kind",
        _generic,
        (*_SOURCES, Flag("type", "type of the secret", "TYPE"), _HASH),
        "failed to create secret ",
    ),
    "secret tls": Form(
        "a secret with a certificate and its key",
        _tls,
        (Flag("cert", "certificate (PEM)", "FILE"), Flag("key", "its key (PEM)", "FILE"), _HASH),
        "failed to create secret ",
    ),
    "secret docker-registry": Form(
        "a secret with which images are pulled",
        _registry,
        (
            Flag("docker_username", "user of the registry", "NAME"),
            Flag("docker_password", "password of the registry", "PASSWORD"),
            Flag("docker_email", "address of the user", "ADDRESS"),
            Flag("docker_server", "the registry", "URL", default="https://index.docker.io/v1/"),
            Flag("from_file", "file with all credentials", "FILE", many=True),
            _HASH,
        ),
        "failed to create secret ",
    ),
}


# Content hashes in names

_LETTERS = 10
# Replaces vowels and similar digits so that no hash spells a word.
_HARMLESS = str.maketrans({"0": "g", "1": "h", "3": "k", "a": "m", "e": "t"})


def with_hash(value: Object) -> Object:
    """The config map or secret with the hash appended to its name. The hash equals that of other
    tools for the same content."""
    content: Object = {"kind": value["kind"], "name": value["metadata"]["name"]}
    content["data"] = value.get("data") or {}
    if value["kind"] == "Secret":
        content["type"] = value.get("type", "")
    elif value.get("binaryData"):
        content["binaryData"] = value["binaryData"]
    digest = sha256(compact_json(content).encode()).hexdigest()[:_LETTERS].translate(_HARMLESS)
    return {**value, "metadata": {**value["metadata"], "name": f"{content['name']}-{digest}"}}
