"""Caches are bounded for any input, and all caches are bounded ones."""

from __future__ import annotations

import asyncio
import tracemalloc
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import fairlead
from fairlead.api.negotiation import ITEM, for_errors
from fairlead.api.parameters import _manager_of
from fairlead.api.request import _parse_query
from fairlead.auth.authentication.bearer import Grant, TokenCache
from fairlead.auth.authentication.user import User
from fairlead.auth.authentication.webhook import TokenWebhook
from fairlead.auth.authorization.attributes import Attributes, Decision, UserRules, of_path
from fairlead.auth.authorization.chain import Authorizer, ImmediateMode
from fairlead.auth.authorization.requests import _selected_name
from fairlead.base.caches import (
    MAX_SHAPE_BYTES,
    MAX_SHAPES,
    BoundedCache,
    Shapes,
    cache_sizes,
    hashed,
    memoized,
)
from fairlead.base.dialect import KUBERNETES
from fairlead.codec.types.memo import ContentCache
from fairlead.codec.types.names import qualified_name
from fairlead.codec.types.quantity import QuantityError, canonical
from fairlead.fields.values import string_json
from fairlead.resources.core.pods.defaults import default_pull_policy
from fairlead.resources.core.pods.resources import container_resource_errors
from fairlead.storage.selection import SelectorError, parse_fields, parse_labels

SOURCES = Path(fairlead.__file__).parent
MAX_KEPT = 4 * 1024 * 1024
MANY = 1_500  # more than a cache keeps


def test_the_oldest_is_dropped_when_there_are_too_many() -> None:
    cache: BoundedCache[str, int] = BoundedCache(maximum=2)
    for number, key in enumerate("abc"):
        cache.keep(key, number, 1)
    assert [cache.get(key) for key in "abc"] == [None, 1, 2]


def test_a_key_that_is_kept_again_is_counted_once() -> None:
    cache: BoundedCache[str, int] = BoundedCache()
    cache.keep("a", 1, 100)
    size = cache.bytes
    cache.keep("a", 2, 100)
    assert (cache.get("a"), cache.bytes, len(cache)) == (2, size, 1)
    assert cache.drop("a") == 2
    assert cache.bytes == 0


def test_bytes_are_bounded() -> None:
    cache: BoundedCache[int, str] = BoundedCache(max_bytes=10_000, longest=1000, per_byte=1)
    for number in range(1000):
        cache.keep(number, "x" * 900, 900)
    assert cache.bytes <= 10_000
    assert len(cache) == 9


def test_long_keys_are_not_kept() -> None:
    cache: BoundedCache[str, int] = BoundedCache(longest=10)
    cache.keep("a" * 11, 1, 11)
    assert len(cache) == 0


def test_what_a_function_raises_is_not_remembered() -> None:
    calls: list[str] = []

    @memoized()
    def function(text: str) -> None:
        calls.append(text)
        if text == "bad":
            raise ValueError

    for text in ("good", "good", "bad", "bad"):
        with suppress(ValueError):
            function(text)
    assert calls == ["good", "bad", "bad"]


def ignoring(function: Callable[[Any], Any]) -> Callable[[str], Any]:
    """Return a function of a text that ignores refusals."""

    def call(text: str) -> None:
        with suppress(SelectorError, QuantityError):
            function(text)

    return call


# A function, distinct texts for it by number and by how often they repeat a part, and how many
# repetitions make a text long.
FED: dict[str, tuple[Callable[[str], Any], Callable[[int, int], str], int]] = {
    "accept": (
        lambda text: for_errors(KUBERNETES, text, None, ITEM),
        lambda n, times: f"x{n}," + "a," * times,
        250_000,
    ),
    "query": (
        lambda text: _parse_query(text.encode()),
        lambda n, times: f"x{n}&" + "a=1&" * times,
        16_000,
    ),
    "labels": (ignoring(parse_labels), lambda n, times: f"x{n}," + "a=b," * times + "a", 8_000),
    "fields": (ignoring(parse_fields), lambda n, times: f"x{n}=1," + "a=b," * times, 8_000),
    "named by a selector": (
        _selected_name,
        lambda n, times: f"metadata.name=x{n}," + "a=b," * times,
        8_000,
    ),
    "user agents": (_manager_of, lambda n, times: f"{n}" + "a" * times, 1_000_000),
    "names": (qualified_name, lambda n, times: f"{n}/" + "a" * times, 1_000_000),
    "resources": (
        lambda text: container_resource_errors(text, KUBERNETES),
        lambda n, times: f"{n}/" + "a" * times,
        1_000_000,
    ),
    "images": (default_pull_policy, lambda n, times: f"{n}" + "a" * times, 100_000),
    "quantities": (ignoring(canonical), lambda n, times: f"{n}" + "1" * times, 1_000_000),
    "texts": (string_json, lambda n, times: f"{n}" + "a" * times, 1_000_000),
}


@pytest.mark.parametrize("name", FED)
def test_memory_stays_flat_under_long_texts(name: str) -> None:
    function, make, times = FED[name]
    function(make(0, times))
    numbers = range(1, 12)
    assert kept_by(lambda: [function(make(n, times)) for n in numbers].clear()) < 1_000_000


@pytest.mark.parametrize("name", FED)
def test_memory_stays_flat_under_many_texts(name: str) -> None:
    function, make, _ = FED[name]
    assert kept_by(lambda: [function(make(n, 200)[:200]) for n in range(MANY)].clear()) < MAX_KEPT


def kept_by(work: Callable[[], None]) -> int:
    """The bytes that are held after some work and were not before."""
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        work()
        return tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()


class Agreeing(ImmediateMode):
    def decide(self, attributes: Attributes) -> Decision:
        return Decision(allowed=True, reason=attributes.name[:10])

    def rules_for(self, user: User, namespace: str) -> UserRules:
        return UserRules()


def test_decisions_about_long_names_and_paths_are_not_kept() -> None:
    authorizer = Authorizer([Agreeing()])
    alice = User("alice", "", ("dev",))

    async def ask() -> None:
        for number in range(40):
            name = f"{number}" + "a" * 500_000
            await authorizer.authorize(Attributes(alice, "get", resource="pods", name=name))
            await authorizer.authorize(of_path(alice, "get", f"/{name}"))

    assert kept_by(lambda: asyncio.run(ask())) < 1_000_000
    short = Attributes(alice, "get", resource="pods", name="a")
    asyncio.run(authorizer.authorize(short))
    long = Attributes(alice, "get", resource="pods", name="39" + "a" * 500_000)
    assert authorizer.decide_cached(short) is not None
    assert authorizer.decide_cached(long) is None


def test_decisions_for_users_of_many_groups_are_not_kept() -> None:
    authorizer = Authorizer([Agreeing()])

    async def ask() -> None:
        for number in range(40):
            groups = tuple(f"{number}-{n}-" + "g" * 100 for n in range(1000))
            await authorizer.authorize(Attributes(User("alice", "", groups), "get"))

    assert kept_by(lambda: asyncio.run(ask())) < 1_000_000


class Unknowing:
    async def post_with_retries(self, body: dict[str, Any], timeout: float) -> dict[str, Any]:
        return {"apiVersion": "v1", "kind": "TokenReview", "status": {"authenticated": False}}


def test_unknown_tokens_are_remembered_by_their_hash() -> None:
    webhook = TokenWebhook(Unknowing(), "v1", (), 600.0)

    async def check() -> None:
        for number in range(30):
            assert await webhook.check(f"{number}" + "t" * 900_000, ()) is None

    assert kept_by(lambda: asyncio.run(check())) < 1_000_000


def test_good_tokens_are_remembered_by_their_hash() -> None:
    cache = TokenCache()
    user = User("alice")
    for number in range(100):
        cache.add(hashed(f"Bearer secret-{number}"), Grant(user, ()))
    grant = cache.get(hashed("Bearer secret-7"))
    assert grant is not None
    assert grant.user is user
    assert not [text for text in map(repr, vars(cache).values()) if "secret" in text]


def test_specs_are_remembered_within_bounds() -> None:
    memory: ContentCache[bytes] = ContentCache("specs")

    def fill() -> None:
        for number in range(2000):
            memory.keep(b"%d" % number + b"x" * 30_000, b"y" * 30_000)

    assert kept_by(fill) < 10 * 1024 * 1024


def test_a_memory_that_finds_nothing_rests_until_something_comes_again() -> None:
    memory: ContentCache[bool] = ContentCache("texts of a test")

    def look_at(content: str) -> bool:
        key = memory.key(content)
        result = memory.get(key)
        if result is None:
            memory.keep(key, True)
        return key is not None

    assert all(look_at(f"new {number}") for number in range(32))
    assert sum(look_at(f"other {number}") for number in range(160)) == 10
    for _ in range(2 * 16):
        look_at("again")
    assert all(look_at("again") for _ in range(20))


def test_shapes_are_remembered_within_bounds() -> None:
    caches: list[Shapes[list[int]]] = [Shapes() for _ in range(3)]

    def fill() -> None:
        for number in range(MAX_SHAPES + 1000):
            caches[number % 3].keep((f"a{number}", "b"), [number])

    assert kept_by(fill) < MAX_SHAPE_BYTES
    assert cache_sizes()["shapes of objects"].entries <= MAX_SHAPES
    assert caches[0].get(("a0", "b")) is None


def test_what_caches_hold_is_told_by_name() -> None:
    cache: BoundedCache[str, int] = BoundedCache(name="things of a test")
    other: BoundedCache[str, int] = BoundedCache(max_bytes=1000, name="things of a test")
    cache.keep("a", 1, 1)
    other.keep("b", 1, 1)
    reported = cache_sizes()["things of a test"]
    assert reported == (2, cache.bytes + other.bytes, cache.max_bytes + 1000)
    del other
    assert cache_sizes()["things of a test"].entries == 1


def test_no_cache_is_bounded_by_count_alone() -> None:
    """`lru_cache` counts entries and not bytes; `cache` is for keys that clients cannot choose."""
    users = [path.name for path in SOURCES.rglob("*.py") if "lru_cache" in path.read_text()]
    assert users == []
