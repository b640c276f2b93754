"""Strategic merge patch: a merge patch that knows which lists to merge and by which key.

Directives in a patch, beside plain members:

- `$patch: replace` replaces an object with the patch instead of merging it, `$patch: delete`
  empties it. In a list element they apply to the list: `delete` removes the item with the same
  key, `replace` replaces the list with the other elements of the patch.
- `$retainKeys` lists the only members that an object keeps.
- `$setElementOrder/<list>` gives the order of a merged list.
- `$deleteFromPrimitiveList/<list>` removes values from a list of scalars.
"""

from __future__ import annotations

from typing import Any

from fairlead.codec.types.mismatch import json_kind, mismatch, plain_text
from fairlead.codec.types.model import Field, ListOf, MapOf, Scalar, Struct, Type
from fairlead.codec.types.model import Object as Object
from fairlead.fields.errors import MalformedPatch, OperationFailed, UnsupportedPatch
from fairlead.fields.values import compact_json, copied, string_json

DIRECTIVE = "$patch"
RETAIN_KEYS = "$retainKeys"
SET_ORDER = "$setElementOrder/"
DELETE_VALUES = "$deleteFromPrimitiveList/"
_SET_ORDER, _DELETE_VALUES = SET_ORDER.rstrip("/"), DELETE_VALUES.rstrip("/")  # with any suffix
_INTEGERS = ("int32", "int64", "IntOrString")
_INT64_END = 2.0**63
_FORMATS = {_SET_ORDER: "setElementOrder list", _DELETE_VALUES: "primitive list"}


def strategic_document(document: Any) -> Object:
    """Check the form of a decoded strategic merge patch: an object, or null for an empty patch."""
    if document is None:
        return {}
    if not isinstance(document, dict):
        raise MalformedPatch(
            f"json: cannot unmarshal {json_kind(document)}"
            " into Go value of type map[string]interface {}"
        )
    return document


def apply_strategic_patch(
    struct: Struct, document: Object, patch: Object, *, drops_directives: bool = False
) -> Object:
    """The document merged with the patch by the rules of its type. `drops_directives`: an object
    with a directive that has nothing to act on is left out, rather than added with the directive.

    Keeps `apiVersion` and `kind` of the document. Raises `MalformedPatch` for malformed directives,
    `UnsupportedPatch` for unknown ones and for items without their key, and `DecodeError` for an
    `apiVersion` or `kind` that is not a string.
    """
    result = _merged_object(struct, document, patch)
    if drops_directives and _has_directive(patch):
        result = _without_directives(result)
    for name in ("apiVersion", "kind"):
        if not isinstance(result.get(name, ""), str):
            raise mismatch(result[name], "string")
        if name in document:
            result[name] = document[name]
    return _with_integers(struct, result) if _has_fractions(patch) else result


def _has_directive(value: Any) -> bool:
    if isinstance(value, dict):
        return DIRECTIVE in value or any(map(_has_directive, value.values()))
    return any(map(_has_directive, value)) if isinstance(value, list) else False


def _without_directives(value: Any) -> Any:
    """A value without the objects in it that hold a directive."""
    if isinstance(value, dict):
        kept = {name: item for name, item in value.items() if not _is_directed(item)}
        return {name: _without_directives(item) for name, item in kept.items()}
    if isinstance(value, list):
        return [_without_directives(item) for item in value if not _is_directed(item)]
    return value


def _is_directed(value: Any) -> bool:
    return isinstance(value, dict) and DIRECTIVE in value


def _has_fractions(value: Any) -> bool:
    """Whether a value contains numbers that are not written as integers."""
    if isinstance(value, dict):
        return any(map(_has_fractions, value.values()))
    return any(map(_has_fractions, value)) if isinstance(value, list) else isinstance(value, float)


def _with_integers(kind: Type | None, value: Any) -> Any:
    """Convert floats such as `3.0` and `1e2` to integers in integer fields. Unlike in other
    patches, the value of a number counts and not its notation."""
    if isinstance(value, float):
        is_integer = isinstance(kind, Scalar) and kind.name in _INTEGERS
        return (
            int(value) if is_integer and value.is_integer() and abs(value) < _INT64_END else value
        )
    if isinstance(value, list) and isinstance(kind, ListOf):
        return [_with_integers(kind.element, item) for item in value]
    if not isinstance(value, dict):
        return value
    result = {}
    for name, item in value.items():
        field = _field(kind, name)
        result[name] = _with_integers(field.type, item) if field else item
    return result


def _merged_object(kind: Type | None, original: Object, patch: Object) -> Object:
    if DIRECTIVE in patch:
        return _directed(patch)
    result = dict(original)
    if RETAIN_KEYS in patch:
        result = _retained(result, patch)
    # Lists with a given order are merged here; the loop below must not merge them again.
    merged_names = _merge_ordered(kind, result, patch)
    for name, value in patch.items():
        if name in merged_names or name == RETAIN_KEYS or name.startswith(_SET_ORDER):
            continue
        if name.startswith(_DELETE_VALUES):
            _delete_values(kind, result, _list_of(name, _DELETE_VALUES), value)
        elif value is None:
            result.pop(name, None)
        elif name not in result:
            result[name] = _without_nulls(value)
        else:
            result[name] = _merged(_field(kind, name), result[name], value)
    return result


def _list_of(directive: str, prefix: str) -> str:
    """The name of the list that a directive applies to, which follows its prefix."""
    if not directive.startswith(f"{prefix}/"):
        raise MalformedPatch(f"invalid patch format of {_FORMATS[prefix]}")
    return directive.removeprefix(f"{prefix}/")


def _directed(patch: Object) -> Object:
    directive = patch[DIRECTIVE]
    if directive == "replace":
        return {name: copied(value) for name, value in patch.items() if name != DIRECTIVE}
    if directive == "delete":
        return {}
    raise _unknown(directive, patch)


def _unknown(directive: Any, patch: Object) -> UnsupportedPatch:
    return UnsupportedPatch(
        f"unknown patch type: {plain_text(directive)} in map: {plain_text(patch)}"
    )


def _is_directive(name: str) -> bool:
    return name in (DIRECTIVE, RETAIN_KEYS) or name.startswith((_SET_ORDER, _DELETE_VALUES))


def _without_nulls(value: Any) -> Any:
    """A patch value for a member that does not exist yet, without nulls. Directives have nothing to
    act on there and stay as ordinary members."""
    if isinstance(value, dict):
        return {name: _without_nulls(item) for name, item in value.items() if item is not None}
    if isinstance(value, list):
        return [_without_nulls(item) for item in value]
    return value


def _retained(original: Object, patch: Object) -> Object:
    names = patch[RETAIN_KEYS]
    if not isinstance(names, list):
        raise MalformedPatch("invalid patch format of retainKeys")
    for name, value in patch.items():
        if value is not None and not _is_directive(name) and name not in names:
            raise MalformedPatch("invalid patch format of retainKeys")
    return {name: value for name, value in original.items() if name in names}


def _field(kind: Type | None, name: str) -> Field | None:
    """The field of an object; values of a map are fields without a patch strategy."""
    if isinstance(kind, Struct):
        return kind.fields.get(name)
    return Field(name, kind.element) if isinstance(kind, MapOf) else None


def _merged(field: Field | None, original: Any, patch: Any) -> Any:
    if isinstance(original, dict) and isinstance(patch, dict):
        if field is not None and field.replace:
            return copied(patch)
        return _merged_object(field.type if field else None, original, patch)
    if isinstance(original, list) and isinstance(patch, list):
        return _merged_list(field, original, patch)
    return _without_nulls(patch)


def _merged_list(field: Field | None, original: list[Any], patch: list[Any]) -> list[Any]:
    if field is None or not field.merge:
        return [copied(item) for item in patch]
    if not original and not patch:
        return original
    if _of_objects(original, patch):
        if not field.merge_key:
            raise UnsupportedPatch(f"cannot merge lists without merge key for {field.name}")
        return _merged_items(field, original, patch)
    return in_order(_without_repeats(original + patch), patch, original, "")


def _of_objects(*lists: list[Any]) -> bool:
    """Whether lists hold objects rather than scalars; raises if they are mixed."""
    kinds = {json_kind(item): None for items in lists for item in items}
    if next(iter(kinds)) == "array":
        raise OperationFailed("lists of lists are not supported")
    if len(kinds) > 1:
        raise UnsupportedPatch(f"list element types are not identical: {sorted(kinds)}")
    return "object" in kinds


def _without_repeats(values: list[Any]) -> list[Any]:
    return list({name_of(value): value for value in reversed(values)}.values())[::-1]


def _merged_items(field: Field, original: list[Any], patch: list[Any]) -> list[Any]:
    key = field.merge_key
    element = field.type.element if isinstance(field.type, ListOf) else None
    patch_items: list[Object] = []
    deleted: set[str] = set()
    replaced = False
    for item in patch:
        directive = item.get(DIRECTIVE)
        if DIRECTIVE not in item:
            patch_items.append(item)
        elif directive == "delete":
            deleted.add(name_of(_key_value(item, key)))
        elif directive == "replace":
            replaced = True
        elif directive == "merge":
            raise UnsupportedPatch("merging lists cannot yet be specified in the patch")
        else:
            raise _unknown(directive, item)
    if replaced:
        return [copied(item) for item in patch_items]
    remaining = [item for item in original if name_of(item.get(key)) not in deleted]
    merged = list(remaining)
    indexes = {name_of(item.get(key)): index for index, item in reversed([*enumerate(merged)])}
    for item in patch_items:
        name = name_of(_key_value(item, key))
        index = indexes.get(name)
        if index is None:
            indexes[name] = len(merged)
            merged.append(copied(item))
        else:
            merged[index] = _merged_object(element, merged[index], item)
    return in_order(merged, patch_items, remaining, key)


def _key_value(item: Any, key: str) -> Any:
    if not isinstance(item, dict) or key not in item:
        raise UnsupportedPatch(
            f"map: {plain_text(item)} does not contain declared merge key: {key}"
        )
    return item[key]


def _delete_values(kind: Type | None, result: Object, name: str, values: Any) -> None:
    """Remove values from a list. Values that are not lists are merged like the plain member."""
    present = result.get(name)
    if values is None:
        result.pop(name, None)
    elif isinstance(values, list) and isinstance(present, list):
        removed = set(map(name_of, values))
        result[name] = [item for item in present if name_of(item) not in removed]
    elif name in result and json_kind(present) == json_kind(values):
        result[name] = _merged(_field(kind, name), present, values)


def _merge_ordered(kind: Type | None, result: Object, patch: Object) -> set[str]:
    """Merge the lists for which the patch gives an order. Returns their names."""
    merged_names: set[str] = set()
    for directive, order in patch.items():
        if not directive.startswith(_SET_ORDER):
            continue
        _check_list(order)
        name = _list_of(directive, _SET_ORDER)
        original, patch_items = result.get(name), patch.get(name)
        for value in (original, patch_items):
            if value is not None:
                _check_list(value)
        field = _field(kind, name)
        _check_ordered(kind, field, name)
        if original is None and patch_items is None:
            continue
        key = field.merge_key if field else ""
        _check_order(patch_items or [], order, key)
        if original is None:
            merged = copied(patch_items)
        elif patch_items is None:
            merged = original
        else:
            merged = _merged_list(field, original, patch_items)
        result[name] = in_order(merged, order, original or [], key)
        merged_names.add(name)
    return merged_names


def _check_list(value: Any) -> None:
    if not isinstance(value, list):
        raise UnsupportedPatch(f"expected a list, but received a {json_kind(value)}")


def _check_ordered(kind: Type | None, field: Field | None, name: str) -> None:
    """Raise `UnsupportedPatch` if the field is known not to be a list."""
    if isinstance(kind, MapOf):
        raise UnsupportedPatch(
            "merging an object in json but data type is not struct, instead is: map"
        )
    if field is None and isinstance(kind, Struct):
        raise UnsupportedPatch(
            f'unable to find api field in struct {kind.name} for the json field "{name}"'
        )
    if field is not None and not isinstance(field.type, ListOf):
        raise UnsupportedPatch("expected slice or array type, but got: struct")


def _check_order(patch_items: list[Any], order: list[Any], key: str) -> None:
    """Raise `UnsupportedPatch` unless the order contains the elements of the patch in the sequence
    of the patch. An empty order is always accepted."""
    if not order:
        return
    following = iter([name_of(_key_value(item, key) if key else item) for item in order])
    for item in patch_items:
        if key and isinstance(item, dict) and item.get(DIRECTIVE) == "delete":
            continue
        if name_of(_key_value(item, key) if key else item) not in following:
            raise UnsupportedPatch(
                f"The order in patch list:\n{plain_text(patch_items)}\n doesn't match"
                f" $setElementOrder list:\n{plain_text(order)}\n"
            )


def in_order(merged: list[Any], patch_items: list[Any], live: list[Any], key: str) -> list[Any]:
    """Sort a merged list by the order of the patch, then by the order of the live list.

    Elements that the patch states come in its order, the others in the live order. The two
    sequences are merged so that an unstated element comes before a stated one only if the live list
    has both in that order; so new elements come first. `key` identifies the elements; if it is
    empty, their values do.
    """
    patch_places = _places(patch_items, key)
    live_places = _places(live, key)
    pairs = [(_name(item, key), item) for item in merged]
    stated_pairs = [pair for pair in pairs if pair[0] in patch_places]
    stated_pairs.sort(key=lambda pair: patch_places[pair[0]])
    unstated_pairs = [pair for pair in pairs if pair[0] not in patch_places]
    unstated_pairs.sort(key=lambda pair: live_places.get(pair[0], len(live_places)))

    result: list[Any] = []
    waiting = iter(unstated_pairs)
    unstated = next(waiting, None)
    for name, item in stated_pairs:
        place = live_places.get(name)
        while unstated is not None and place is not None:
            live_place = live_places.get(unstated[0])
            if live_place is None or live_place > place:
                break
            result.append(unstated[1])
            unstated = next(waiting, None)
        result.append(item)
    if unstated is not None:
        result.append(unstated[1])
    result += [item for _, item in waiting]
    return result


def _places(items: list[Any], key: str) -> dict[str, int]:
    places: dict[str, int] = {}
    for index, item in enumerate(items):
        places.setdefault(_name(item, key), index)
    return places


def _name(item: Any, key: str) -> str:
    return name_of(item.get(key) if key and isinstance(item, dict) else item)


def name_of(value: Any) -> str:
    """A text that uniquely identifies a scalar or the value of a merge key."""
    return string_json(value) if type(value) is str else compact_json(value)
