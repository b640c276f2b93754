"""Builder of service account token requests."""

from __future__ import annotations

from fairlead.cli.create.form import Flag, Form, FormArguments, Object
from fairlead.cli.errors import CommandError
from fairlead.cli.write_options import seconds_of

_BOUND = {"Pod": "v1", "Secret": "v1"}


async def _request(arguments: FormArguments) -> Object:
    """The TokenRequest; the server returns the token in its status."""
    spec: Object = {}
    audiences = arguments.values("audience")
    if audiences:
        spec["audiences"] = audiences
    if arguments.text("duration"):
        spec["expirationSeconds"] = _seconds(arguments.text("duration"))
    kind, name = arguments.text("bound_object_kind"), arguments.text("bound_object_name")
    if kind:
        if kind not in _BOUND:
            kinds = ", ".join(_BOUND)
            raise CommandError(f"--bound-object-kind takes {kinds}")
        if not name:
            raise CommandError("--bound-object-kind needs --bound-object-name")
        spec["boundObjectRef"] = {"apiVersion": _BOUND[kind], "kind": kind, "name": name}
        if arguments.text("bound_object_uid"):
            spec["boundObjectRef"]["uid"] = arguments.text("bound_object_uid")
    elif name:
        raise CommandError("--bound-object-name needs --bound-object-kind")
    return {
        "apiVersion": arguments.dialect.group_name("authentication.@/v1"),
        "kind": "TokenRequest",
        "metadata": {},
        "spec": spec,
    }


def _seconds(text: str) -> int:
    duration = seconds_of(text, "--duration")
    if duration <= 0:
        raise CommandError("--duration must not be negative")
    return int(duration)


FORMS = {
    "token": Form(
        "a token of a service account",
        _request,
        (
            Flag("audience", "audience of the token", "NAME", many=True),
            Flag("duration", "lifetime of the token", "DURATION"),
            Flag(
                "bound_object_kind",
                "bind the token to the life of an object: Pod or Secret",
                "KIND",
            ),
            Flag("bound_object_name", "the object's name", "NAME"),
            Flag("bound_object_uid", "the object's uid", "UID"),
        ),
        "failed to create token: ",
    )
}
