"""Links in the files of simulated containers: programs, archives, and links without an end."""

from __future__ import annotations

from time import thread_time

import pytest
from support.pace import in_time
from support.programs import shell

from fairlead.controllers.simulation.runtime.files import Files

_TREE = (
    "mkdir /t && echo text > /t/file && ln -s file /t/near && ln -s /t /tmp/far && ln -s no /t/void"
)


@pytest.mark.parametrize(
    ("script", "printed"),
    [
        ("cat /t/near /tmp/far/near", "text\ntext\n"),
        ("echo more >> /t/near; cat /t/file", "text\nmore\n"),
        ("echo new > /t/void; cat /t/no", "new\n"),
        ("readlink /t/near /t/void; readlink /t/file || echo none", "file\nno\nnone\n"),
        ("readlink -f /tmp/far/near; realpath /tmp/far/void", "/t/file\n/t/no\n"),
        ("ls /tmp/far", "file\nnear\nvoid\n"),
        ("cd /tmp/far; ls -l near | sed 's/ .* / /'", "lrwxrwxrwx file\n"),
        (
            "[ -L /t/void ] && [ ! -e /t/void ] && [ -e /t/near ] && [ ! -h /t/file ]; echo $?",
            "0\n",
        ),
        ("[ -d /tmp/far ] && [ -f /t/near ]; echo $?", "0\n"),
        ("stat -c '%F %A' /t/near", "symbolic link lrwxrwxrwx\n"),
        ("find /t -type l; find /t -type f", "/t/near\n/t/void\n/t/file\n"),
        ("rm /tmp/far; rm -r /t/near; ls /t", "file\nvoid\n"),
        ("mv /t/near /t/moved; readlink /t/moved; ls /t", "file\nfile\nmoved\nvoid\n"),
        ("cp /t/near /tmp/n; cp -r /t /tmp/c; readlink /tmp/c/near; readlink /tmp/n", "file\n"),
        ("ln -s x /t/near; ln -sf x /t/near; readlink /t/near", "x\n"),
        ("ln -s a /tmp/far; ln -sfn b /tmp/far; readlink /t/a /tmp/far", "a\nb\n"),
        ("ln /t/file /t/hard; cat /t/hard", "text\n"),
        ("chmod 600 /t/near; stat -c %a /t/file /t/near", "600\n777\n"),
        ("ln -s .. /t/up; ls /t/up/t", "file\nnear\nup\nvoid\n"),
        ("mkdir -p /tmp/far/a/b; ls /t/a", "b\n"),
    ],
)
def test_programs_follow_links_or_show_them(script: str, printed: str) -> None:
    assert shell(f"{_TREE}; {script}").output == printed


def test_an_archive_keeps_links() -> None:
    files = Files([])
    archive = shell(f"{_TREE}; ln /t/file /t/hard; tar cf /dev/stdout -C / t | base64", files=files)
    unpacked = shell(
        "mkdir /o; base64 -d | tar xf - -C /o; readlink /o/t/near; cat /o/t/near; ls /o/t",
        data=archive.output.encode(),
    )
    assert unpacked.output == "file\ntext\nfile\nhard\nnear\nvoid\n"


def test_a_file_of_an_archive_replaces_a_link() -> None:
    script = f"{_TREE}; mkdir /s /o; echo own > /s/f; ln -s /t/file /o/f"
    assert (
        shell(f"{script}; tar cf - -C /s . | tar xf - -C /o; cat /t/file /o/f").output
        == "text\nown\n"
    )


@pytest.mark.parametrize(
    "script",
    [
        "ln -s b /tmp/a; ln -s a /tmp/b; cat /tmp/a",
        "ln -s a/x /tmp/a; cat /tmp/a",
        "ln -s b /tmp/a; ln -s a /tmp/b; echo > /tmp/a",
        "for i in $(seq 50); do ln -s $((i + 1)) /tmp/$i; done; echo > /tmp/51; cat /tmp/1",
        "cd /tmp; x=; for i in $(seq 2000); do x=./$x; done; ln -s /tmp/$x/l l; ls l/",
        "cd /tmp; ln -s . l; x=; for i in $(seq 1000); do x=l/$x; done; cat $x/f",
    ],
)
def test_links_without_an_end_fail_soon(script: str) -> None:
    began = thread_time()
    result = shell(script)
    assert result.code != 0
    assert "No such file or directory" in result.errors or "symbolic links" in result.errors
    assert in_time(thread_time() - began, 1.0)


def test_a_link_takes_room() -> None:
    files = Files([])
    before = files.root.size
    shell("ln -s /some/where /tmp/l", files=files)
    assert files.root.size == before + len("/tmp/l") + len("/some/where")
    shell("rm /tmp/l", files=files)
    assert files.root.size == before
