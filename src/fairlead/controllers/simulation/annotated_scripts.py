"""Scripts in annotations of pods, checked by the schema of Behaviour."""

from __future__ import annotations

from contextlib import suppress
from functools import cached_property
from hashlib import sha256

from fairlead.base.caches import BoundedCache
from fairlead.base.errors import TooManyCauses
from fairlead.codec.bodies import BodyError, parse_yaml
from fairlead.codec.types.builtin import BuiltinTypes
from fairlead.codec.types.decode import unknown_paths_of_custom
from fairlead.codec.types.model import Object
from fairlead.controllers.simulation.behaviour import BehaviourError
from fairlead.controllers.simulation.definitions import BEHAVIOURS, schema_of
from fairlead.controllers.simulation.script import PartialScript, partial_script
from fairlead.resources.causes import Causes
from fairlead.resources.custom.schema.custom_schema import CustomSchema, compile_schema

MAX_BYTES = 16 * 1024  # parsing and checking it may take 50 ms
_MAX_CACHED_BYTES = 8 * 1024 * 1024
_MAX_SHOWN_PROBLEMS = 3


class AnnotatedScripts:
    """Parses scripts. Whoever may create pods must not make the server connect anywhere, so an
    annotation cannot forward ports."""

    def __init__(self, types: BuiltinTypes) -> None:
        self._types = types
        self._parsed: BoundedCache[str, PartialScript | str] = BoundedCache(
            max_bytes=_MAX_CACHED_BYTES, longest=MAX_BYTES
        )

    def parse(self, text: str) -> PartialScript:
        """Raises BehaviourError."""
        result = self._parsed.get(text)
        if result is None:
            try:
                result = self._parse(text)
            except BehaviourError as error:
                result = str(error)
            self._parsed.keep(text, result, len(text))
        if isinstance(result, str):
            raise BehaviourError(result)
        return result

    def _parse(self, text: str) -> PartialScript:
        encoded = text.encode()
        if len(encoded) > MAX_BYTES:
            raise BehaviourError(f"it is longer than {MAX_BYTES // 1024} KiB; use a Behaviour")
        try:
            spec, repeated = parse_yaml(encoded)
        except BodyError as error:
            raise BehaviourError(str(error)) from None
        if not isinstance(spec, dict):
            raise BehaviourError("it is not an object")
        value = {"metadata": {}, "spec": spec}
        causes = Causes()
        with suppress(TooManyCauses):
            self._schema.validate(value, None, causes)
        unknown = unknown_paths_of_custom(self._schema.struct, value)
        problems = [
            *(f"{path} is given twice" for path in repeated),
            *(f"{path} is not a field of scripts in annotations" for path in unknown),
            *(f"{cause.field}: {cause.message}" for cause in causes),
        ]
        if problems:
            raise BehaviourError("; ".join(problems[:_MAX_SHOWN_PROBLEMS]))
        return partial_script(spec, sha256(encoded).hexdigest())

    @cached_property
    def _schema(self) -> CustomSchema:
        schema = schema_of(BEHAVIOURS)
        fields: Object = schema["properties"]["spec"]["properties"]
        del fields["selector"]
        ports = fields["ports"]["items"]
        del ports["properties"]["forward"]
        ports["oneOf"].remove({"required": ["forward"]})
        return compile_schema(
            schema,
            kind="Behaviour",
            api_version="",
            markers="kubernetes",
            metadata=self._types.struct("meta/v1.ObjectMeta"),
        )
