"""The file of a backup: round trips, and detection of every flipped bit."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import replace
from hashlib import sha256

import pytest
from support.backups import HEADER, ROWS, archive, packed

from fairlead.process.backup.archive import ArchiveError, ClusterState, Header, pieces
from fairlead.storage.backend import Row


def sealed(content: bytes, count: int, header: bytes = HEADER.encode()) -> bytes:
    """A file with a right sum, whatever is in it."""
    body = header + zlib.compress(content) + b"\nrows %020d sha256 " % count
    return body + sha256(body).hexdigest().encode() + b"\n"


def problem(content: bytes) -> str:
    with pytest.raises(ArchiveError) as raised:
        archive(content).verify()
    return str(raised.value)


def test_what_was_written_is_read() -> None:
    result = archive(packed())
    assert result.header == HEADER
    assert list(result.rows()) == ROWS
    assert result.verify() == 3


def test_the_revisions_of_other_clusters_are_read() -> None:
    header = replace(HEADER, others=(ClusterState(("core/events", "core/leases"), 70),))
    assert archive(packed(header)).header == header
    assert header.highest == 70


def test_a_store_may_be_empty() -> None:
    result = archive(packed(rows=[]))
    assert list(result.rows()) == []


def test_a_person_can_see_what_it_is() -> None:
    lines = packed().split(b"\n")
    assert lines[0] == b"fairlead backup 1"
    assert lines[1] == b'{"dialect":"cluster","revision":9,"created":"2026-01-02T03:04:05Z"}'


def test_every_flipped_bit_is_found() -> None:
    content = bytearray(packed())
    for place in range(len(content) * 8):
        content[place // 8] ^= 1 << place % 8
        with pytest.raises(ArchiveError):
            archive(bytes(content)).verify()
        content[place // 8] ^= 1 << place % 8


def test_every_missing_end_is_found() -> None:
    content = packed()
    for length in range(len(content)):
        with pytest.raises(ArchiveError):
            archive(content[:length]).verify()


@pytest.mark.parametrize("more", [b"\n", b"more", packed()])
def test_something_behind_the_end_is_found(more: bytes) -> None:
    assert "damaged" in problem(packed() + more)


def test_a_missing_middle_is_found() -> None:
    rows = [Row(1, "core/things", str(n), 0, "v1", sha256(b"%d" % n).digest()) for n in range(4000)]
    content = packed(rows=rows)
    assert "damaged" in problem(content[:50_000] + content[60_000:])


def test_other_files_are_no_backups() -> None:
    for content in (
        b"",
        b"\x1f\x8b\x08",
        b"fairlead backup\n",
        b"fairlead backup x\n" + b"y" * 500,
    ):
        assert problem(content) == "FILE is not a backup that Fairlead made"


def test_a_newer_format_is_refused_by_its_number() -> None:
    newer = packed().replace(b"backup 1\n", b"backup 2\n", 1)
    assert problem(newer) == (
        "FILE has format 2, written by a newer release; this one reads format 1"
    )


@pytest.mark.parametrize(
    "header",
    [
        b"[]",
        b"{}",
        b'{"dialect":"latin","revision":1,"created":""}',
        b'{"dialect":"cluster","revision":-1,"created":""}',
        b'{"dialect":"cluster","revision":true,"created":""}',
        b'{"dialect":["cluster"],"revision":1,"created":""}',
        b'{"dialect":"cluster","revision":1,"created":"","others":7}',
        b'{"dialect":"cluster","revision":1,"created":"","others":[{"resources":["a"]}]}',
        b'{"dialect":"cluster","revision":1,"created":"","others":[{"resources":[],"revision":""}]}',
        b'{"dialect":"cluster","revision":' + b"9" * 5000 + b',"created":""}',
    ],
)
def test_a_header_that_says_nothing_is_refused(header: bytes) -> None:
    assert "damaged" in problem(sealed(b"", 0, b"fairlead backup 1\n%b\n" % header))


@pytest.mark.parametrize(
    "content",
    [
        b"x\n{}\n",
        b"[]\n{}\n",
        b'["core/things","a",1,"v1"]\n{}\n',
        b'["core/things",7,1,"v1",2]\n{}\n',
        b'["core/things","a",1.5,"v1",2]\n{}\n',
        b'["core/things","a",0,"v1",2]\n{}\n',
        b'["core/things","a",10,"v1",2]\n{}\n',
        b'["core/things","a",1,"v1",0]\n\n',
        b'["core/things","a",1,"v1",-1]\n{}\n',
        b'["core/things","a",1,"v1",99999999999999]\n{}\n',
        b'["core/things","a",1,"v1",3]\n{}\n',
        b'["core/things","a",1,"v1",2]\n{}',
        b'["core/things","' + b"a" * 70_000 + b'",1,"v1",2]\n{}\n',
    ],
)
def test_rows_that_nobody_wrote_are_refused(content: bytes) -> None:
    assert "damaged" in problem(sealed(content, 1))


def test_a_wrong_number_of_rows_is_refused() -> None:
    rows = b'["core/things","a",1,"v1",2]\n{}\n'
    assert archive(sealed(rows, 1)).verify() == 1
    assert problem(sealed(rows, 2)) == "FILE is damaged: it has 1 objects and should have 2"


def test_rows_are_taken_as_they_are_written() -> None:
    taken = 0

    def rows() -> Iterator[Row]:
        nonlocal taken
        for number in range(1, 40):
            taken = number
            yield Row(number, "core/things", str(number), 0, "v1", noise(number))

    def noise(number: int) -> bytes:
        return b"".join(sha256(b"%d %d" % (number, part)).digest() for part in range(4096))

    stream = pieces(Header("cluster", 40, ""), rows())
    first = next(stream)
    assert taken < 10
    assert archive(first + b"".join(stream)).verify() == 39


def test_what_unpacks_to_much_more_is_read_in_bounded_pieces() -> None:
    bomb = b'["core/things","' + b"a" * (64 << 20)
    assert problem(sealed(bomb, 1)) == "FILE is damaged: an object in it cannot be read"
