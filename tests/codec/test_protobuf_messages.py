"""Messages have the bytes of the reference's, and are decoded in any order of fields."""

from __future__ import annotations

import random
from typing import Any

import orjson
import pytest
from support.adversarial import sample
from support.recorded_messages import RECORDED

from fairlead.base.dialect import KUBERNETES
from fairlead.codec.messages.reader import reader
from fairlead.codec.messages.writer import writer
from fairlead.codec.protobuf import (
    CONTENT,
    ProtobufError,
    decoded_message,
    envelope,
    from_message,
    to_message,
)
from fairlead.codec.protobuf_wire import BYTES, delimited, field_at, fields, key, varint
from fairlead.codec.types.builtin import BuiltinTypes
from fairlead.codec.types.decode import decoder
from fairlead.codec.types.model import ListOf, Struct, Type, contains_itself
from fairlead.resources.registry import Resources

Object = dict[str, Any]

RESOURCES = Resources(KUBERNETES, BuiltinTypes(KUBERNETES))
DEFINITION = "apiextensions.k8s.io/v1", "CustomResourceDefinition"
LEVELS = 14  # as deep as the deepest kind is


def _kinds() -> dict[str, Struct]:
    """Those that are served, and those of subresources, options and lists."""
    names = [group.table_name for group in RESOURCES.group_versions()]
    listed = [item for name in names for item in RESOURCES.types.group_version(name).values()]
    return {f"{item.group_version} {item.name}": item for item in listed if item.is_kind}


KINDS = _kinds()


def struct_of(api_version: str, kind: str) -> Struct:
    struct = RESOURCES.struct_of(api_version, kind)
    assert struct is not None
    return struct


POD = struct_of("v1", "Pod")


def full(struct: Struct) -> Object:
    """An object that has every field which messages have."""
    levels = 6 if contains_itself(struct) else LEVELS
    value: Object = numbered(struct, decoder(struct)(sample(struct, 3, levels), []))
    return value


def numbered(node: Type, value: Any) -> Any:
    """A value without kinds and apiVersions, which stand before messages and not in them."""
    if isinstance(node, Struct) and value is not None:
        own = {name: field.type for name, field in node.fields.items() if field.number}
        return {name: numbered(own[name], item) for name, item in value.items() if name in own}
    if isinstance(node, ListOf) and value is not None:
        return [numbered(node.element, item) for item in value]
    return value


def parts(raw: bytes) -> list[bytes]:
    """The fields of a message, each as it stands there."""
    result, at = [], 0
    while at < len(raw):
        start = at
        *_, at = field_at(raw, at)
        result.append(raw[start:at])
    return result


@pytest.mark.parametrize("name", RECORDED)
def test_what_the_reference_wrote_is_written_with_the_same_bytes(name: str) -> None:
    api_version, kind, content = envelope(RECORDED[name])
    struct = struct_of(api_version, kind)
    value = decoder(struct)(from_message(struct, content), [])
    assert to_message(struct, {"apiVersion": api_version, "kind": kind, **value}) == RECORDED[name]


@pytest.mark.parametrize("kind", KINDS)
def test_an_object_of_any_kind_comes_back_as_it_was(kind: str) -> None:
    struct = KINDS[kind]
    for value in (full(struct), decoder(struct)({}, [])):
        message = writer(struct)(value)
        assert decoder(struct)(from_message(struct, message), []) == value
        assert writer(struct)(decoder(struct)(from_message(struct, message), [])) == message


class TestDecodingInOneGo:
    @pytest.mark.parametrize("kind", [kind for kind in KINDS if not contains_itself(KINDS[kind])])
    def test_it_gives_what_reading_and_then_decoding_gives(self, kind: str) -> None:
        struct = KINDS[kind]
        for value in (full(struct), decoder(struct)({}, [])):
            message = writer(struct)(value)
            item = decoded_message(struct, message)
            assert orjson.dumps(item) == orjson.dumps(two_steps(struct, message))

    def test_it_does_so_whatever_is_done_to_a_message(self) -> None:
        chance = random.Random(5)
        message = writer(POD)(full(POD))
        taken = 0
        for _ in range(400):
            damaged = bytearray(message)
            for _ in range(chance.choice((1, 1, 2, 5))):
                damaged[chance.randrange(len(damaged))] = chance.choice((0, 1, 10, 127, 128, 255))
            value = decoded_message(POD, bytes(damaged))
            if value is not None:
                taken += 1
                assert orjson.dumps(value) == orjson.dumps(two_steps(POD, bytes(damaged)))
        assert 50 < taken < 400

    def test_fields_may_come_in_any_order_and_again(self) -> None:
        chance = random.Random(7)
        for _ in range(20):
            some = parts(writer(POD)(full(POD)))
            some += [*parts(writer(POD)({})), *some[:2]]
            chance.shuffle(some)
            value = decoded_message(POD, b"".join(some))
            assert orjson.dumps(value) == orjson.dumps(two_steps(POD, b"".join(some)))

    @pytest.mark.parametrize(
        ("kind", "message"),
        [
            ("core/v1.TCPSocketAction", b"\x0a\x0a\x08\x00\x10\x80\x80\x80\x80\x10\x1a\x00"),
            ("core/v1.ContainerPort", b"\x18\x80\x80\x80\x80\x10"),
            ("core/v1.ResourceRequirements", b"\x0a\x0a\x0a\x03cpu\x12\x03\x0a\x01x"),
            ("core/v1.Pod", b"\x0a\x05\x0a\x01a"),
            ("core/v1.Pod", b"\x0b"),
        ],
    )
    def test_what_is_wrong_is_left_to_those_who_can_say_what(
        self, kind: str, message: bytes
    ) -> None:
        struct = RESOURCES.types.struct(kind)
        assert decoded_message(struct, message) is None
        with pytest.raises(ValueError, match=r"."):
            two_steps(struct, message)

    def test_so_is_json_that_may_be_deep(self) -> None:
        raw = delimited(b"\x12", delimited(b"\x0a", b"[" * 200 + b"]" * 200))
        assert decoded_message(struct_of("apps/v1", "ControllerRevision"), raw) is None


def two_steps(struct: Struct, message: bytes) -> Object:
    value: Object = decoder(struct)(from_message(struct, message), [])
    return value


@pytest.mark.parametrize("kind", KINDS)
def test_fields_come_in_the_order_of_their_numbers(kind: str) -> None:
    struct = KINDS[kind]
    numbers = [number for number, _, _ in fields(writer(struct)(full(struct)))]
    assert numbers == sorted(numbers)


class TestZeros:
    """`EnvVar`: name 1, value 2 (never pointers), valueFrom 3 (a pointer)."""

    @pytest.mark.parametrize(
        ("kind", "value", "message"),
        [
            ("EnvVar", {}, b"\x0a\x00\x12\x00"),
            ("EnvVar", {"name": "a", "valueFrom": {}}, b"\x0a\x01a\x12\x00\x1a\x00"),
            ("ResourceFieldSelector", {"resource": "r"}, b"\x0a\x00\x12\x01r\x1a\x03\x0a\x010"),
            ("TCPSocketAction", {"port": 0}, b"\x0a\x06\x08\x00\x10\x00\x1a\x00\x12\x00"),
            ("SecretKeySelector", {"key": "k"}, b"\x0a\x02\x0a\x00\x12\x01k"),
            ("SecretKeySelector", {"name": "n"}, b"\x0a\x03\x0a\x01n\x12\x00"),
            ("Capabilities", {"add": []}, b""),
            ("EmptyDirVolumeSource", {"sizeLimit": None}, b"\x0a\x00"),
            ("SecurityContext", {"privileged": False}, b"\x10\x00"),
            ("Volume", {"name": "v"}, b"\x0a\x01v\x12\x00"),
        ],
    )
    def test_what_is_no_pointer_is_written_in_any_case(
        self, kind: str, value: Object, message: bytes
    ) -> None:
        assert writer(RESOURCES.types.struct(f"core/v1.{kind}"))(value) == message

    def test_a_time_that_is_not_set_is_an_empty_message(self) -> None:
        write = writer(RESOURCES.types.struct("meta/v1.ObjectMeta"))
        result = {number: value for number, _, value in fields(write({"creationTimestamp": None}))}
        assert result == {1: b"", 2: b"", 3: b"", 4: b"", 5: b"", 6: b"", 7: 0, 8: b""}

    def test_bytes_are_written_if_they_are_there(self) -> None:
        write = writer(RESOURCES.types.struct("certificates/v1.CertificateSigningRequestStatus"))
        assert write({}) == b""
        assert write({"certificate": "AAE="}) == b"\x12\x02\x00\x01"

    def test_zeros_that_objects_leave_out_are_not_read(self) -> None:
        assert reader(RESOURCES.types.struct("core/v1.EnvVar"))(b"\x0a\x00\x12\x00") == {"name": ""}


def test_entries_of_maps_come_in_the_order_of_their_names() -> None:
    write = writer(struct_of("v1", "ConfigMap"))
    item = write({"data": {"b": "1", "a": "2", "c": "3"}})
    assert item == write({"data": {"c": "3", "b": "1", "a": "2"}})
    assert b"\x12\x06\x0a\x01a\x12\x012\x12\x06\x0a\x01b\x12\x011" in item


def test_an_item_of_a_list_is_the_field_that_it_would_be_in_an_envelope() -> None:
    lists = [
        struct_of(resource.api_version, resource.list_kind)
        for version in RESOURCES.group_versions()
        for resource in version.resources.values()
        if "list" in resource.verbs
    ]
    lists.append(struct_of(f"{KUBERNETES.meta_group}/v1", "PartialObjectMetadataList"))
    assert {key(list_.fields["items"].number, BYTES) for list_ in lists} == {CONTENT}


class TestUnusualMessages:
    @pytest.mark.parametrize("kind", ["core/v1 Pod", "apps/v1 Deployment", "core/v1 Node"])
    def test_fields_may_come_in_any_order_with_unknown_ones_between(self, kind: str) -> None:
        struct = KINDS[kind]
        message = writer(struct)(full(struct))
        known = reader(struct)(message)
        choice = random.Random(5)
        for _ in range(5):
            mixed = [*parts(message), key(1900, BYTES) + b"\x01x", key(1901, 0) + varint(1 << 40)]
            choice.shuffle(mixed)
            assert reader(struct)(b"".join(mixed)) == known

    def test_items_may_be_apart(self) -> None:
        single, other = (delimited(b"\x12", delimited(b"\x0a", name)) for name in (b"a", b"b"))
        policy = delimited(b"\x1a", b"Never")
        value = reader(POD)(delimited(b"\x12", single + policy + other))
        assert [item["name"] for item in value["spec"]["containers"]] == ["a", "b"]

    def test_of_a_field_that_comes_twice_the_last_counts(self) -> None:
        result = reader(POD)(b"\x0a\x03\x0a\x01a\x0a\x03\x0a\x01b")
        assert result == {"metadata": {"name": "b"}}

    def test_a_zero_takes_back_what_came_before(self) -> None:
        result = reader(POD)(b"\x0a\x05\x0a\x01a\x0a\x00")
        assert result == {"metadata": {}}

    def test_numbers_may_be_packed(self) -> None:
        struct = RESOURCES.types.struct("core/v1.PodSecurityContext")
        apart = b"\x20\x05\x20\xac\x02"  # supplementalGroups
        assert reader(struct)(apart) == reader(struct)(b"\x22\x03\x05\xac\x02")
        assert reader(struct)(apart) == {"supplementalGroups": [5, 300]}

    def test_bad_texts_are_read_with_signs_in_place_of_bad_bytes(self) -> None:
        value = from_message(POD, b"\x0a\x04\x0a\x02a\xff")
        assert value == {"metadata": {"name": "a\ufffd"}}

    def test_bad_texts_at_every_level_cost_no_more_than_good_ones(self) -> None:
        """If each level were read twice it would take for ever."""
        schema = b""
        for _ in range(200):
            schema = delimited(key(4, BYTES), b"\xff") + delimited(key(28, BYTES), schema)
        message = schema
        for number in (1, 4, 7, 2):  # openAPIV3Schema, schema, versions, spec
            message = delimited(key(number, BYTES), message)
        value = from_message(struct_of(*DEFINITION), message)
        assert "spec" in value

    @pytest.mark.parametrize(
        ("message", "why"),
        [
            (b"\x0a\x05\x0a\x01a", "unexpected EOF"),
            (b"\x0a\x03\x0a\x02a", "unexpected EOF"),
            (b"\x0a", "unexpected EOF"),
            (b"\x0a\xff", "unexpected EOF"),
            (b"\x0a\x02\x0a\x05aaaaaaa", "unexpected EOF"),
            (b"\x0a" + b"\xff" * 9 + b"\x01", "unexpected EOF"),
            (b"\x0a" + b"\xff" * 12, "proto: integer overflow"),
            (b"\x08\x01", "proto: wrong wireType = 0 for field metadata"),
            (b"\x0b", "proto: illegal wireType 3"),
            (b"\x00\x00", "proto: illegal tag 0"),
            (b"\x0a\x07\x5a\x05\x0a\x03a\xffb", "proto: a text contains invalid UTF-8"),
            (b"\x0a\x04\x5a\x02\x08\x01", "proto: wrong wireType = 0 for an entry of labels"),
        ],
    )
    def test_what_is_no_message_is_refused(self, message: bytes, why: str) -> None:
        with pytest.raises(ProtobufError) as refusal:
            from_message(POD, message)
        assert str(refusal.value) == why

    @pytest.mark.parametrize("levels", [300, 5000])
    def test_json_inside_of_a_message_is_not_deeper_than_elsewhere(self, levels: int) -> None:
        raw = delimited(b"\x12", delimited(b"\x0a", b"[" * levels + b"]" * levels))
        with pytest.raises(ProtobufError):
            from_message(struct_of("apps/v1", "ControllerRevision"), raw)

    @pytest.mark.parametrize(
        "numbers",
        [
            pytest.param((28,), id="not"),
            pytest.param((2, 29), id="properties"),
            pytest.param((1, 24), id="items"),
            pytest.param((2, 24), id="listed items"),
            pytest.param((2, 30), id="additionalProperties"),
            pytest.param((1, 2, 32), id="dependencies"),
        ],
    )
    @pytest.mark.parametrize("levels", [300, 3000])
    def test_types_that_contain_themselves_are_not_deeper_either(
        self, numbers: tuple[int, ...], levels: int
    ) -> None:
        schema = b""
        for _ in range(levels):
            for number in numbers:
                schema = delimited(key(number, BYTES), schema)
        for number in (1, 4, 7, 2):
            schema = delimited(key(number, BYTES), schema)
        with pytest.raises(ProtobufError, match="exceeded max depth"):
            from_message(struct_of(*DEFINITION), schema)


SCHEMA = RESOURCES.types.struct("apiextensions/v1.JSONSchemaProps")


def test_an_empty_struct_is_there_in_its_message() -> None:
    struct = RESOURCES.types.struct("apiextensions/v1.CustomResourceSubresources")
    assert writer(struct)({"status": {}}) == b"\x0a\x00"
    assert reader(struct)(b"\x0a\x00") == {"status": {}}
    assert reader(struct)(b"") == {}


@pytest.mark.parametrize(
    ("schema", "number", "message"),
    [
        ({"items": {"type": "string"}}, 24, (1, {"type": "string"})),
        ({"items": [{"type": "string"}]}, 24, (2, {"type": "string"})),
        ({"additionalProperties": {"type": "string"}}, 30, (2, {"type": "string"})),
    ],
)
def test_a_schema_stands_in_the_field_of_its_alternative(
    schema: Object, number: int, message: tuple[int, Object]
) -> None:
    place, inner = message
    held = delimited(key(place, BYTES), writer(SCHEMA)(inner))
    if number == 30:
        held = b"\x08\x01" + held  # an object says that it is allowed
    raw = writer(SCHEMA)(schema)
    assert delimited(key(number, BYTES), held) in raw
    assert reader(SCHEMA)(raw) == schema


@pytest.mark.parametrize("allowed", [True, False])
def test_a_switch_stands_in_its_own(allowed: bool) -> None:
    raw = writer(SCHEMA)({"additionalProperties": allowed})
    assert delimited(key(30, BYTES), b"\x08\x01" if allowed else b"\x08\x00") in raw
    assert reader(SCHEMA)(raw) == {"additionalProperties": allowed}


def test_alternatives_stand_in_entries_too() -> None:
    schema = {"dependencies": {"a": ["b", "c"], "d": {"type": "string"}}}
    raw = writer(SCHEMA)(schema)
    names = delimited(key(2, BYTES), b"b") + delimited(key(2, BYTES), b"c")
    entry = delimited(key(1, BYTES), b"a") + delimited(key(2, BYTES), names)
    assert delimited(key(32, BYTES), entry) in raw
    assert reader(SCHEMA)(raw) == schema


def test_halves_of_characters_do_not_stop_a_message() -> None:
    value = reader(POD)(writer(POD)({"metadata": {"name": "a\ud800", "labels": {"\udfff": "b"}}}))
    assert value["metadata"]["name"] == "a?"
