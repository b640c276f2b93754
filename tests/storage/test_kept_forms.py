"""The cache of derived forms of stored versions: lookup, bound, and dropping with the version."""

from __future__ import annotations

import gc
from weakref import ref

import pytest

from fairlead.storage.derived_cache import DerivedCache, Forms
from fairlead.storage.version import Version

_SIZE = 1000


def version(name: str = "a") -> Version:
    return Version(f"default/{name}", 7, "v1", b'"metadata":{"name":"a"}}')


def with_form(forms: DerivedCache, name: str = "a") -> Version:
    api_version = version(name)
    forms.keep(api_version, "protobuf", name.encode(), _SIZE)
    return api_version


@pytest.fixture
def forms() -> DerivedCache:
    return DerivedCache(limit=20 * _SIZE)


def test_a_kept_form_is_found_again_under_its_key_only(forms: DerivedCache) -> None:
    first, other = with_form(forms), version("b")
    assert forms.get(first, "protobuf") == b"a"
    assert forms.get(first, "cells") is None
    assert forms.get(other, "protobuf") is None


def test_derived_cache_keeps_the_first_form_of_a_key(forms: DerivedCache) -> None:
    item = with_form(forms)
    before = forms.bytes
    forms.keep(item, "protobuf", b"again", _SIZE)
    assert forms.get(item, "protobuf") == b"a"
    assert forms.bytes == before


def test_derived_cache_drops_forms_with_their_version_without_the_collector(
    forms: DerivedCache,
) -> None:
    gc.disable()
    try:
        item = with_form(forms)
        held: ref[Forms] | None = ref(item.forms) if item.forms is not None else None
        assert forms.bytes > _SIZE
        del item
        assert held is not None
        assert held() is None
        assert forms.bytes == 0
    finally:
        gc.enable()


def test_derived_cache_is_empty_after_many_versions_went(forms: DerivedCache) -> None:
    for turn in range(1000):
        with_form(forms, str(turn))
    assert forms.bytes == 0
    assert not forms._young
    assert not forms._old


def test_derived_cache_stays_below_its_bound(forms: DerivedCache) -> None:
    kept = [with_form(forms, str(turn)) for turn in range(200)]
    assert 0 < forms.bytes <= forms.limit
    results = [item for item in kept if forms.get(item, "protobuf") is not None]
    assert sum(result.forms.size for result in results if result.forms is not None) == forms.bytes


def test_derived_cache_evicts_the_least_recently_used(forms: DerivedCache) -> None:
    used = with_form(forms)
    others = []
    for turn in range(200):
        others.append(with_form(forms, str(turn)))
        assert forms.get(used, "protobuf") == b"a", turn
    assert forms.get(others[0], "protobuf") is None


def test_derived_cache_takes_an_evicted_form_again(forms: DerivedCache) -> None:
    kept = [with_form(forms, str(turn)) for turn in range(200)]
    dropped = next(item for item in kept if forms.get(item, "protobuf") is None)
    forms.keep(dropped, "protobuf", b"again", _SIZE)
    assert forms.get(dropped, "protobuf") == b"again"
    assert forms.bytes <= forms.limit


def test_derived_cache_does_not_take_a_form_as_large_as_its_bound(forms: DerivedCache) -> None:
    small, huge = with_form(forms), version("b")
    forms.keep(huge, "protobuf", b"", forms.limit)
    assert forms.get(huge, "protobuf") is None
    assert forms.get(small, "protobuf") == b"a"


def test_derived_cache_with_a_bound_of_zero_keeps_nothing() -> None:
    forms = DerivedCache(limit=0)
    assert forms.get(with_form(forms), "protobuf") is None
    assert forms.bytes == 0


def test_a_version_that_settles_at_another_revision_has_no_forms(forms: DerivedCache) -> None:
    item = Version("a", 7, "v1", b'"metadata":{"name":"a","resourceVersion":"7"}}')
    forms.keep(item, "protobuf", b"a", _SIZE)
    item.set_revision(8)
    assert forms.get(item, "protobuf") is None
    assert forms.bytes == 0


def test_derived_cache_gives_versions_each_with_its_form(forms: DerivedCache) -> None:
    kept, bare, gone = with_form(forms, "a"), version("b"), with_form(forms, "c")
    gone.drop_facts()
    results = list(forms.each([kept, bare, gone], "protobuf"))
    assert results == [(kept, b"a"), (bare, None), (gone, None)]


def test_derived_cache_counts_a_lookup_of_many_as_use(forms: DerivedCache) -> None:
    used = with_form(forms, "a")
    others = []
    for turn in range(300):
        others.append(with_form(forms, f"other-{turn}"))
        assert list(forms.each([used], "protobuf")) == [(used, b"a")]
    assert forms.get(others[0], "protobuf") is None
