"""IP addresses and CIDR networks."""

from __future__ import annotations

import re
from functools import partial
from ipaddress import IPv4Address, IPv6Address
from typing import Any, NoReturn

from fairlead.base.quotes import quote
from fairlead.codec.cel.costs import PER_CHARACTER, Cost, first_tenth, tenth, twice_tenth
from fairlead.codec.cel.errors import EvaluationError, no_such_overload
from fairlead.codec.cel.library import EstimateRule, Library, declared, scanned
from fairlead.codec.cel.ranges import Estimate, Sizes, fixed
from fairlead.codec.cel.syntax import Call
from fairlead.codec.cel.types import BOOL, CIDR, INT, IP, STRING

_GROUP = re.compile(r"[0-9a-fA-F]*")
_BITS = re.compile(r"0|[1-9][0-9]{0,2}", re.ASCII)
_LONGEST = 200  # characters of an address
_BROADCAST = IPv4Address("255.255.255.255")
_MAPPED = 0xFFFF  # the high bits of an IPv4 address within IPv6


class Ip:
    type_name, class_name = "net.IP", "cel.IP"
    __slots__ = ("address",)

    def __init__(self, address: IPv4Address | IPv6Address) -> None:
        self.address = address

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Ip) and self.address == other.address

    def __hash__(self) -> int:
        return hash(self.address)

    def __len__(self) -> int:
        """The number of bytes, for costs."""
        return self.address.max_prefixlen // 8


class Cidr:
    type_name, class_name = "net.CIDR", "cel.CIDR"
    __slots__ = ("address", "bits")

    def __init__(self, address: IPv4Address | IPv6Address, bits: int) -> None:
        self.address, self.bits = address, bits

    def __eq__(self, other: object) -> bool:
        is_same = isinstance(other, Cidr) and self.bits == other.bits
        return is_same and self.address == other.address  # type: ignore[attr-defined]

    def __hash__(self) -> int:
        return hash((self.address, self.bits))

    def __len__(self) -> int:
        """The number of bytes of the prefix, for costs."""
        return -(-self.bits // 8)

    def __str__(self) -> str:
        return f"{self.address}/{self.bits}"

    def covers(self, address: IPv4Address | IPv6Address) -> bool:
        if address.version != self.address.version:
            return False
        shift = self.address.max_prefixlen - self.bits
        return int(address) >> shift == int(self.address) >> shift


class AddressError(ValueError):
    """Text that is not an address; the message says why."""


def _fail(text: str, message: str, at: str = "") -> NoReturn:
    where = f" (at {quote(at)})" if at else ""
    raise AddressError(f"ParseAddr({quote(text)}): {message}{where}")


def _parse(text: str) -> IPv4Address | IPv6Address:
    mark = next((letter for letter in text[: _LONGEST + 1] if letter in ".:%"), "")
    if mark == "%":
        _fail(text, "missing IPv6 address")
    if not mark or len(text) > _LONGEST:
        _fail(text, "unable to parse IP")
    if mark == ".":
        return IPv4Address(_dotted(text, text))
    return _colons(text)


def _dotted(text: str, part: str) -> int:
    """The number of four octets."""
    value = -1
    fields: list[int] = []
    for index, letter in enumerate(part):
        if letter in "0123456789":
            if value == 0:
                _fail(text, "IPv4 field has octet with leading zero")
            value = max(value, 0) * 10 + int(letter)
            if value > 255:
                _fail(text, "IPv4 field has value >255")
        elif letter != ".":
            _fail(text, "unexpected character", part[index:])
        elif value < 0 or index == len(part) - 1:
            _fail(text, "IPv4 field must have at least one digit", part[index:])
        elif len(fields) == 3:
            _fail(text, "IPv4 address too long")
        else:
            fields.append(value)
            value = -1
    if len(fields) < 3:
        _fail(text, "IPv4 address too short")
    return int.from_bytes((*fields, value))


def _colons(text: str) -> IPv6Address:
    fail = partial(_fail, text)
    rest, percent, zone = text.partition("%")
    if percent and not zone:
        fail("zone must be a non-empty string")
    groups, gap = _groups(text, rest, fail)
    if len(groups) < 8:
        if gap < 0:
            fail("address string too short")
        groups[gap:gap] = [0] * (8 - len(groups))
    elif gap >= 0:
        fail("the :: must expand to at least one field of zeros")
    number = 0
    for group in groups:
        number = number << 16 | group
    address = IPv6Address(number)
    if percent:
        raise AddressError(f"IP address {quote(text)} with zone value is not allowed")
    return address


def _groups(text: str, rest: str, fail: Any) -> tuple[list[int], int]:
    """The groups of an address, and the index of `::` among them; -1 if there is none."""
    groups: list[int] = []
    gap = -1
    if rest.startswith("::"):
        gap, rest = 0, rest[2:]
        if not rest:
            return groups, gap
    while len(groups) < 8:
        match = _GROUP.match(rest)
        digits = match[0] if match else ""
        if len(digits) > 4:
            fail("each group must have 4 or less digits", rest)
        if not digits:
            fail("each colon-separated field must have at least one digit", rest)
        if rest[len(digits) : len(digits) + 1] == ".":
            if gap < 0 and len(groups) != 6:
                fail("embedded IPv4 address must replace the final 2 fields of the address", rest)
            if len(groups) > 6:
                fail("too many hex fields to fit an embedded IPv4 at the end of the address", rest)
            return [*groups, *divmod(_dotted(text, rest), 0x10000)], gap
        groups.append(int(digits, 16))
        rest = rest[len(digits) :]
        if not rest:
            return groups, gap
        if rest[0] != ":":
            fail("unexpected character, want colon", rest)
        if len(rest) == 1:
            fail("colon must be followed by more characters", rest)
        rest = rest[1:]
        if rest[0] == ":":
            if gap >= 0:
                fail("multiple :: in address", rest)
            gap, rest = len(groups), rest[1:]
            if not rest:
                return groups, gap
    fail("trailing garbage after address", rest)
    raise AssertionError


def _is_mapped(address: IPv4Address | IPv6Address) -> bool:
    return address.version == 6 and int(address) >> 32 == _MAPPED


def parse_ip(text: str) -> Ip:
    """Parse an address; raises AddressError."""
    try:
        address = _parse(text)
    except AddressError as error:
        if not str(error).startswith("ParseAddr"):
            raise
        problem = f"IP Address {quote(text)} parse error during conversion from string: {error}"
        raise AddressError(problem) from None
    if _is_mapped(address):
        raise AddressError(f"IPv4-mapped IPv6 address {quote(text)} is not allowed")
    return Ip(address)


def parse_cidr(text: str) -> Cidr:
    """Parse a network; raises AddressError."""
    conversion = "network address parse error during conversion from string: "
    prefix = f"{conversion}netip.ParsePrefix({quote(text)}): "
    head, slash, tail = text.rpartition("/")
    if not slash:
        raise AddressError(f"{prefix}no '/'")
    try:
        address = _parse(head)
    except AddressError as error:
        message = str(error)
        if not message.startswith("ParseAddr"):
            message = "IPv6 zones cannot be present in a prefix"
        raise AddressError(f"{prefix}{message}") from None
    if not _BITS.fullmatch(tail):
        raise AddressError(f"{prefix}bad bits after slash: {quote(tail)}")
    if int(tail) > address.max_prefixlen:
        raise AddressError(f"{prefix}prefix length out of range")
    if _is_mapped(address):
        raise AddressError(f"IPv4-mapped IPv6 address {quote(text)} is not allowed")
    return Cidr(address, int(tail))


def _ip(text: str) -> Ip:
    try:
        return parse_ip(text)
    except AddressError as error:
        raise EvaluationError(str(error)) from None


def _cidr(text: str) -> Cidr:
    try:
        return parse_cidr(text)
    except AddressError as error:
        problem = f"network address parse error during conversion from string: {error}"
        raise EvaluationError(problem) from None


def _other_ip(text: str) -> Ip:
    """An address to compare with, given as text."""
    try:
        return parse_ip(text)
    except AddressError:
        raise no_such_overload() from None


def _is(parse: Any) -> Any:
    def check(text: str) -> bool:
        try:
            return parse(text) is not None
        except AddressError:
            return False

    return check


def _is_global_unicast(ip: Ip) -> bool:
    address = ip.address
    special = address.is_unspecified or address.is_loopback or address.is_multicast
    return not (special or address.is_link_local or address == _BROADCAST)


def _is_link_local_multicast(ip: Ip) -> bool:
    number = int(ip.address)
    if ip.address.version == 4:
        return number >> 8 == 0xE00000
    return number >> 112 & 0xFF0F == 0xFF02


def _contains(network: Cidr, other: Cidr) -> bool:
    return network.bits <= other.bits and network.covers(other.address)


def _masked(network: Cidr) -> Cidr:
    shift = network.address.max_prefixlen - network.bits
    return Cidr(type(network.address)(int(network.address) >> shift << shift), network.bits)


# Costs: two comparisons of the bytes of the prefix, one more for networks, and reading a text


def _comparison(extra: int) -> Cost:
    def cost(network: Cidr, other: Any, _: Any) -> int:
        size = len(network)
        more = tenth(size) + 1 if extra else 0
        return tenth(2 * size) + more + (tenth(len(other)) if type(other) is str else 0)

    return cost


def _comparison_estimate(extra: int) -> EstimateRule:
    size = Estimate(4, 16)

    def estimate(call: Call, sizes: Sizes) -> tuple[Estimate, Estimate | None]:
        cost = size.plus(size).scaled(PER_CHARACTER)
        if extra:
            cost = cost.plus(size.scaled(PER_CHARACTER)).plus(fixed(1))
        if call.arguments[1].type == STRING:
            cost = cost.plus(sizes[1].scaled(PER_CHARACTER))
        return cost, None

    return estimate


def _ip_estimate(call: Call, sizes: Sizes) -> tuple[Estimate, Estimate | None]:
    return (fixed(1) if call.method else sizes[0].scaled(PER_CHARACTER)), None


_OF_IP: dict[str, Any] = {
    "family": lambda ip: ip.address.version,
    "isUnspecified": lambda ip: ip.address.is_unspecified,
    "isLoopback": lambda ip: ip.address.is_loopback,
    "isLinkLocalMulticast": _is_link_local_multicast,
    "isLinkLocalUnicast": lambda ip: ip.address.is_link_local,
    "isGlobalUnicast": _is_global_unicast,
}
_TEXT_FUNCTIONS = ("cidr", "isIP", "isCIDR")
LIBRARY = Library(
    declared(
        [
            ("ip", (STRING,), IP),
            ("ip.isCanonical", (STRING,), BOOL),
            ("isIP", (STRING,), BOOL),
            ("string", (IP,), STRING),
            ("cidr", (STRING,), CIDR),
            ("isCIDR", (STRING,), BOOL),
            ("string", (CIDR,), STRING),
        ],
        [
            ("family", (IP,), INT),
            *((name, (IP,), BOOL) for name in _OF_IP if name != "family"),
            ("containsIP", (CIDR, STRING), BOOL),
            ("containsIP", (CIDR, IP), BOOL),
            ("containsCIDR", (CIDR, STRING), BOOL),
            ("containsCIDR", (CIDR, CIDR), BOOL),
            ("ip", (CIDR,), IP),
            ("prefixLength", (CIDR,), INT),
            ("masked", (CIDR,), CIDR),
        ],
    ),
    {
        "ip": {(str,): _ip, (Cidr,): lambda network: Ip(network.address)},
        "ip.isCanonical": {(str,): lambda text: str(_ip(text).address) == text},
        "isIP": {(str,): _is(parse_ip)},
        "string": {(Ip,): lambda ip: str(ip.address), (Cidr,): str},
        "cidr": {(str,): _cidr},
        "isCIDR": {(str,): _is(parse_cidr)},
        **{name: {(Ip,): function} for name, function in _OF_IP.items()},
        "containsIP": {
            (Cidr, str): lambda network, text: network.covers(_other_ip(text).address),
            (Cidr, Ip): lambda network, ip: network.covers(ip.address),
        },
        "containsCIDR": {
            (Cidr, str): lambda network, text: _contains(network, _cidr(text)),
            (Cidr, Cidr): _contains,
        },
        "prefixLength": {(Cidr,): lambda network: network.bits},
        "masked": {(Cidr,): _masked},
    },
    {
        **dict.fromkeys(_TEXT_FUNCTIONS, first_tenth),
        "ip": {str: first_tenth},
        "ip.isCanonical": twice_tenth,
        "containsIP": _comparison(0),
        "containsCIDR": _comparison(1),
    },
    {
        **dict.fromkeys(_TEXT_FUNCTIONS, scanned(1)),
        "ip": _ip_estimate,
        "ip.isCanonical": scanned(2),
        "containsIP": _comparison_estimate(0),
        "containsCIDR": _comparison_estimate(1),
    },
    {"net.IP": IP, "net.CIDR": CIDR},
)
