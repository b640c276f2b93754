"""Secrets that expire."""

from __future__ import annotations

import os
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from fairlead.auth.authentication import expiring_secrets
from fairlead.auth.authentication.expiring_secrets import ExpiringSecrets, TooManySecrets
from fairlead.base import clock


@pytest.fixture
def kept(tmp_path: Path) -> ExpiringSecrets:
    return ExpiringSecrets(tmp_path / "kept")


def soon() -> float:
    return clock.time() + 60


def test_what_was_handed_out_is_found_by_its_secret_alone(kept: ExpiringSecrets) -> None:
    first, other = kept.issue("amy", b"one", soon()), kept.issue("amy", b"other", soon())
    result = kept.find(first)
    assert result is not None
    assert result.content == b"one"
    assert kept.find(other) != result
    assert kept.find(first[:-1] + ("A" if first[-1] != "A" else "B")) is None


def test_secrets_are_long_and_not_on_the_disk(kept: ExpiringSecrets, tmp_path: Path) -> None:
    secret = kept.issue("amy", b"one", soon())
    assert len(secret.partition(".")[2]) == 43  # 256 bits
    (path,) = (tmp_path / "kept").iterdir()
    assert secret.partition(".")[2] not in path.name
    assert path.stat().st_mode & 0o777 == 0o600


def test_it_ends_by_itself(kept: ExpiringSecrets) -> None:
    assert kept.find(kept.issue("amy", b"one", clock.time())) is None
    assert kept.take(kept.issue("amy", b"one", clock.time())) is None


def test_one_of_many_takes_it(kept: ExpiringSecrets) -> None:
    secret = kept.issue("amy", b"one", soon())
    begin = threading.Barrier(8)

    def take() -> bool:
        begin.wait()
        return kept.take(secret) is not None

    with ThreadPoolExecutor(8) as pool:
        taken = [future.result() for future in [pool.submit(take) for _ in range(8)]]
    assert taken.count(True) == 1
    assert kept.find(secret) is None


def test_what_was_ended_cannot_be_extended(kept: ExpiringSecrets) -> None:
    secret = kept.issue("amy", b"one", soon())
    ends_at = kept.expiry_reader(secret)
    assert kept.extend(secret, soon() + 60)
    assert ends_at() > soon()
    kept.end(secret)
    assert not kept.extend(secret, soon())
    assert ends_at() == 0
    assert kept.find(secret) is None


@pytest.mark.parametrize("secret", ["", ".", "../x", "a/b", "\0", "x" * 70, "é" * 60])
def test_what_is_no_secret_is_not_looked_for(kept: ExpiringSecrets, secret: str) -> None:
    kept.issue("amy", b"one", soon())
    assert kept.find(secret) is None
    assert kept.take(secret) is None
    kept.end(secret)


def test_of_one_owner_the_oldest_ones_go(
    kept: ExpiringSecrets, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(expiring_secrets, "MAX_PER_OWNER", 3)
    other = kept.issue("bob", b"", soon())
    secrets = [kept.issue("amy", b"", soon() + at) for at in range(5)]
    assert [kept.find(secret) is not None for secret in secrets] == [False] * 2 + [True] * 3
    assert kept.find(other) is not None


def test_there_is_an_end_to_how_many_there_are(
    kept: ExpiringSecrets, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(expiring_secrets, "MAX_SECRETS", 2)
    kept.issue("amy", b"", soon())
    kept.issue("bob", b"", soon())
    with pytest.raises(TooManySecrets):
        kept.issue("eve", b"", soon())


def test_what_a_killed_process_left_is_swept_away(kept: ExpiringSecrets, tmp_path: Path) -> None:
    kept.issue("amy", b"", soon())
    left = tmp_path / "kept" / "0123.new"
    left.write_bytes(b"half")
    kept.issue("amy", b"", soon())
    assert left.exists()  # another process may be about to finish it
    os.utime(left, (1, 1))
    kept.issue("amy", b"", soon())
    assert not left.exists()


def test_users_are_called_what_they_like(kept: ExpiringSecrets) -> None:
    for owner in ("", "a/b", "\0", "\ud800", "é" * 1000):
        assert kept.find(kept.issue(owner, b"", soon())) is not None
