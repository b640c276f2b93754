"""The formats that are checked."""

from __future__ import annotations

import pytest
from support.custom_schemas import errors_of, of_field

GOOD = {
    "bsonobjectid": ["507f1f77bcf86cd799439011"],
    "uri": ["http://example.com/a?b#c", "/path", "urn:isbn:1"],
    "email": ["a@example.com", "Somebody <a@example.com>"],
    "hostname": ["example.com", "a-b.example.com", "localhost"],
    "ipv4": ["10.0.0.1"],
    "ipv6": ["::1", "2001:db8::1"],
    "cidr": ["10.0.0.0/8", "10.1.2.3/8", "2001:db8::/32"],
    "mac": ["01:23:45:67:89:ab", "01-23-45-67-89-ab", "0123.4567.89ab"],
    "uuid": ["A987FBC9-4BED-3078-CF07-9141BA07C9F3", "a987fbc94bed3078cf079141ba07c9f3"],
    "uuid3": ["a987fbc9-4bed-3078-cf07-9141ba07c9f3"],
    "uuid4": ["57b73598-8764-4ad0-a76a-679bb6640eb1"],
    "uuid5": ["987fbc97-4bed-5078-af07-9141ba07c9f3"],
    "isbn": ["0321751043", "978-0321751041"],
    "isbn10": ["0-321-75104-3", "080442957X"],
    "isbn13": ["978-0321751041"],
    "creditcard": ["4111 1111 1111 1111"],
    "ssn": ["111-22-3333"],
    "hexcolor": ["#FFFFFF", "abc"],
    "rgbcolor": ["rgb(255, 0,128)"],
    "byte": ["YWJj", "YQ=="],
    "password": ["anything"],
    "date": ["2024-02-29"],
    "duration": ["1h30m", "0", "22 ns", "3 days", "2weeks"],
    "date-time": ["2024-01-31T12:00:00Z", "2024-01-31t12:00:00.5+01:00"],
    "datetime": ["2024-01-31T12:00:00Z"],
}
BAD = {
    "bsonobjectid": ["507f"],
    "uri": ["example.com", "", "http://a b/", "http://a:port/", "/%zz"],
    "email": ["a", "a@", "a b@c"],
    "hostname": ["-a.com", "a..b", "a" * 64 + ".com", "a_b.com"],
    "ipv4": ["10.0.0", "10.0.0.256", "::1", "010.0.0.1"],
    "ipv6": ["10.0.0.1", ":::", "fe80::1%eth0"],
    "cidr": ["10.0.0.0", "10.0.0.0/33", "10.0.0.0/", "x/8"],
    "mac": ["01:23:45:67:89", "01:23-45:67:89:ab", "g1:23:45:67:89:ab"],
    "uuid": ["a987fbc9"],
    "uuid3": ["57b73598-8764-4ad0-a76a-679bb6640eb1"],
    "uuid4": ["a987fbc9-4bed-3078-cf07-9141ba07c9f3"],
    "uuid5": ["57b73598-8764-4ad0-a76a-679bb6640eb1"],
    "isbn": ["0321751044"],
    "isbn10": ["0321751044", "X321751043"],
    "isbn13": ["978-0321751042"],
    "creditcard": ["4111 1111 1111 1112", "12"],
    "ssn": ["111223333", "11-22-3333"],
    "hexcolor": ["#FFFF", "xyz"],
    "rgbcolor": ["rgb(256,0,0)", "rgb(1,2)"],
    "byte": ["", "YWJ", "Y Q="],
    "date": ["2023-02-29", "20240131", "2024-1-31"],
    "duration": ["", "1", "one hour", "1 fortnight"],
    "date-time": [
        "2024-01-31",
        "2024-01-31T25:00:00Z",
        "2024-01-31T12:00:00",
        "2024-13-01T00:00:00Z",
    ],
}


@pytest.mark.parametrize(("form", "text"), [(form, t) for form, ts in GOOD.items() for t in ts])
def test_a_text_of_a_format_is_good(form: str, text: str) -> None:
    assert errors_of(of_field({"type": "string", "format": form}), {"f": text}) == []


@pytest.mark.parametrize(("form", "text"), [(form, t) for form, ts in BAD.items() for t in ts])
def test_a_text_that_is_not_of_its_format_is_told(form: str, text: str) -> None:
    (reported,) = errors_of(of_field({"type": "string", "format": form}), {"f": text})
    assert reported[:2] == ("spec.f", "TypeInvalid")
    assert f"spec.f in body must be of type {form}: " in reported[2]


@pytest.mark.parametrize(
    ("schema", "value", "shown"),
    [
        ({"type": "string", "format": "cidr"}, 5, ("cidr", "int64")),
        ({"type": "string", "format": "cidr"}, True, ("cidr", "")),
        ({"type": "integer", "format": "int32"}, {}, ("integer", "object")),
        ({"type": "integer", "format": "int32"}, 1.5, ("integer", "number")),
        ({"type": "string", "format": "unknown"}, 5, ("string", "integer")),
    ],
)
def test_a_value_of_another_type_is_told_by_the_format(
    schema: dict[str, str], value: object, shown: tuple[str, str]
) -> None:
    expected, actual = shown
    (reported,) = errors_of(of_field(schema), {"f": value})
    assert f'spec.f in body must be of type {expected}: "{actual}"' in reported[2]
