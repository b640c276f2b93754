"""`dataclass` and `field` like those of `dataclasses`, but methods are generated on first call:
generating all of them for every class took a fifth of a server's start.

Unsupported because unused: inherited fields, ordering, keyword-only fields. Compiled modules use
`dataclasses`, which mypyc supports.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
    from dataclasses import field as field
else:
    from dataclasses import field as field

    def dataclass(cls=None, /, *, frozen=False, slots=False, eq=True, repr=True):
        """Add the methods that the fields of a class imply."""
        made = partial(_made, frozen=frozen, slots=slots, eq=eq, shown=repr)
        return made if cls is None else made(cls)


_Fields = dict[str, "dataclasses.Field[Any]"]
_FIELDS = "__dataclass_fields__"
_POSITIONS = "__match_args__"
_MISSING = dataclasses.MISSING


def _made(cls: type, *, frozen: bool, slots: bool, eq: bool, shown: bool) -> type:
    if any(hasattr(base, _FIELDS) for base in cls.__bases__):
        raise TypeError(f"{cls.__name__}: fields of bases are not taken over; use dataclasses")
    fields = _fields_of(cls)
    if slots:
        cls = _with_slots(cls, fields)
    else:
        _keep_defaults(cls, fields)
    made: Any = cls
    setattr(cls, _FIELDS, _LazyFields(cls, fields))
    setattr(cls, _POSITIONS, tuple(name for name, one in fields.items() if one.init))
    _generate_on_first_call(cls, "__init__", partial(_init, cls, fields, frozen))
    if shown and "__repr__" not in cls.__dict__:
        _generate_on_first_call(cls, "__repr__", partial(_repr, fields))
    if eq and "__eq__" not in cls.__dict__:
        _generate_on_first_call(cls, "__eq__", partial(_eq, fields))
        made.__hash__ = None
        if frozen:
            _generate_on_first_call(cls, "__hash__", partial(_hash, fields))
    if frozen:
        made.__setattr__, made.__delattr__ = _refuse_setting, _refuse_deleting
        if slots:
            made.__getstate__, made.__setstate__ = _state, _set_state
    return cls


def _fields_of(cls: type) -> _Fields:
    fields: _Fields = {}
    for name, kind in inspect.get_annotations(cls).items():
        if "ClassVar" in str(kind):
            continue
        default = cls.__dict__.get(name, _MISSING)
        fields[name] = (
            default
            if isinstance(default, dataclasses.Field)
            else dataclasses.field(default=default)
        )
    return fields


def _with_slots(cls: type, fields: Iterable[str]) -> type:
    """Recreate the class: slots are laid out at creation."""
    left_out = {"__dict__", "__weakref__", *fields}
    own = {name: value for name, value in cls.__dict__.items() if name not in left_out}
    made = type(cls)(cls.__name__, cls.__bases__, {**own, "__slots__": tuple(fields)})
    made.__qualname__ = cls.__qualname__
    return made


def _keep_defaults(cls: type, fields: _Fields) -> None:
    """Replace `field(...)` in the class by the default, or remove it."""
    for name, one in fields.items():
        if one.default is not _MISSING:
            setattr(cls, name, one.default)
        elif name in cls.__dict__:
            delattr(cls, name)


class _LazyFields:
    """Builds `__dataclass_fields__` on first access, by `dataclasses` itself."""

    def __init__(self, cls: type, fields: _Fields) -> None:
        self._cls, self._fields = cls, fields

    def __get__(self, instance: object, owner: type) -> _Fields:
        kinds = inspect.get_annotations(self._cls)
        told = [(name, kinds[name], one) for name, one in self._fields.items()]
        found: _Fields = getattr(dataclasses.make_dataclass(self._cls.__name__, told), _FIELDS)
        setattr(self._cls, _FIELDS, found)
        return found


def _generate_on_first_call(cls: type, name: str, write: Callable[[], Callable[..., Any]]) -> None:
    def first(self: object, *args: Any, **more: Any) -> Any:
        written = write()
        written.__qualname__ = f"{cls.__qualname__}.{name}"
        setattr(cls, name, written)
        return written(self, *args, **more)

    setattr(cls, name, first)


def _written(text: str, known: dict[str, Any]) -> Callable[..., Any]:
    exec(text, known)
    written: Callable[..., Any] = known.popitem()[1]
    return written


def _init(cls: type, fields: _Fields, frozen: bool) -> Callable[..., Any]:
    known: dict[str, Any] = {"__builtins__": {}, "_set": object.__setattr__, "_missing": _MISSING}
    taken, lines = ["self"], []
    for name, one in fields.items():
        value = name
        if one.default_factory is not _MISSING:
            known[f"_make_{name}"] = one.default_factory
            taken += [f"{name}=_missing"] if one.init else []
            made = f"_make_{name}()"
            value = f"{made} if {name} is _missing else {name}" if one.init else made
        elif one.default is not _MISSING:
            known[f"_default_{name}"] = one.default
            taken += [f"{name}=_default_{name}"] if one.init else []
            value = name if one.init else f"_default_{name}"
        elif one.init:
            taken.append(name)
        else:
            continue
        lines.append(f"_set(self, {name!r}, {value})" if frozen else f"self.{name} = {value}")
    if hasattr(cls, "__post_init__"):
        lines.append("self.__post_init__()")
    return _written(f"def __init__({', '.join(taken)}):\n " + "\n ".join(lines or ["pass"]), known)


def _repr(fields: _Fields) -> Callable[..., str]:
    shown = [name for name, one in fields.items() if one.repr]

    def __repr__(self: object) -> str:
        told = ", ".join(f"{name}={getattr(self, name)!r}" for name in shown)
        return f"{type(self).__qualname__}({told})"

    return __repr__


def _tuple(owner: str, fields: Iterable[str]) -> str:
    return f"({''.join(f'{owner}.{name}, ' for name in fields)})"


def _eq(fields: _Fields) -> Callable[..., Any]:
    compared = [name for name, one in fields.items() if one.compare]
    text = (
        "def __eq__(self, other):\n"
        " if other.__class__ is not self.__class__: return NotImplemented\n"
        f" return {_tuple('self', compared)} == {_tuple('other', compared)}"
    )
    return _written(text, {"__builtins__": {"NotImplemented": NotImplemented}})


def _hash(fields: _Fields) -> Callable[..., int]:
    hashed = [
        name for name, one in fields.items() if (one.compare if one.hash is None else one.hash)
    ]
    text = f"def __hash__(self):\n return hash({_tuple('self', hashed)})"
    return _written(text, {"__builtins__": {"hash": hash}})


def _refuse_setting(self: object, name: str, value: object) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_deleting(self: object, name: str) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")


def _state(self: Any) -> list[Any]:
    return [getattr(self, name) for name in getattr(type(self), _FIELDS)]


def _set_state(self: Any, state: list[Any]) -> None:
    for name, value in zip(getattr(type(self), _FIELDS), state, strict=True):
        object.__setattr__(self, name, value)
