"""Commands of simulated containers: what ordinary manifests use of a shell and its programs."""

from __future__ import annotations

import tarfile
import zlib
from time import thread_time

import pytest
from support.programs import MAX_STEPS, run, shell

from fairlead.controllers.simulation.runtime import main_processes
from fairlead.controllers.simulation.runtime.files import MAX_BYTES, Entry, Files, LiveVolume, Mount
from fairlead.controllers.simulation.runtime.lifetimes import FOREVER
from fairlead.controllers.simulation.runtime.main_processes import MainProcess
from fairlead.controllers.simulation.runtime.memory import Held
from fairlead.controllers.simulation.runtime.process import Process
from fairlead.controllers.simulation.runtime.programs import find_program


@pytest.mark.parametrize(
    ("script", "output"),
    [
        ("seq 3 | tail -n +2; printf äbc | tail -c+3; printf abc | tail -c 1", "2\n3\nbcc"),
        ("echo a; echo b", "a\nb\n"),
        ("false || echo yes && echo both", "yes\nboth\n"),
        ("false && echo no; true", ""),
        ("echo $GREETING; echo \"$GREETING\" '$GREETING'", "good day\ngood day $GREETING\n"),
        ("echo ${NONE:-default} ${#HOME} ${HOME##*/} ${GREETING%day}", "default 5 root good\n"),
        ("echo $((2 + 3 * 4)) $(( (1+2)*3 )) $((7/2)) $((1 < 2))", "14 9 3 1\n"),
        ("echo $(echo inner) `echo old`", "inner old\n"),
        ("x=1; x=$((x+1)); (x=9); echo $x", "2\n"),
        ("echo $# $1; shift; echo $1", "2 first\nsecond\n"),
        ("for i in a b; do echo $i; done", "a\nb\n"),
        ("i=0; while [ $i -lt 3 ]; do i=$((i+1)); done; echo $i", "3\n"),
        ("until true; do :; done; echo $?", "0\n"),
        ("for i in 1 2 3; do [ $i = 2 ] && continue; echo $i; done", "1\n3\n"),
        ("if [ -f /none ]; then echo a; elif true; then echo b; else echo c; fi", "b\n"),
        ("case $HOME in /r*) echo root;; *) echo other;; esac", "root\n"),
        ("f() { echo f $1; return 4; }; f x; echo $?", "f x\n4\n"),
        ("{ echo a; echo b; } > /tmp/f; cat < /tmp/f", "a\nb\n"),
        ("cat <<END\n$HOME\nEND\n", "/root\n"),
        ("cat <<'END'\n$HOME\nEND\n", "$HOME\n"),
        ("seq 3 | while read n; do echo got $n; done", "got 1\ngot 2\ngot 3\n"),
        ("printf '%s-%03d\\n' a 5 b 6", "a-005\nb-006\n"),
        ("echo one two | wc -w; echo b a | tee /tmp/t; cat /tmp/t", "2\nb a\nb a\n"),
        ("mkdir -p /a/b; echo z > /a/b/c; ls /a/b; echo /a/b/*", "c\n/a/b/c\n"),
        ("tar cf - -C /etc . | wc -c > /tmp/n; test -s /tmp/n && echo full", "full\n"),
        ("env A=1 printenv A; hostname; pwd", "1\nhost\n/\n"),
        ("! true; echo $?", "1\n"),
        ("echo line # a comment\n# another\necho next", "line\nnext\n"),
        ("if true\nthen\n  echo lines\nfi\n", "lines\n"),
        ("[[ -r /tmp ]] && ! [[ $HOME == /tmp ]] && echo yes", "yes\n"),
        ("expr 7 % 2; expr a = a; expr 2 + 3 \\* 4", "1\n1\n14\n"),
        (
            "mkdir -p /s/d /o; echo a > /s/d/f; tar -czf /o/x.tgz -C /s d; cd /o; tar tzf x.tgz;"
            " head -c 2 x.tgz | base64; tar -xzf x.tgz; cat d/f",
            "d/\nd/f\nH4s=\na\n",
        ),
        ("cd /tmp; echo > a; tar zcf - a | gunzip | tar tf -", "a\n"),
        ("echo -n packed | gzip | gunzip", "packed"),
        ("command -v cat && ! command -v nothing", "cat\n"),
        ("echo 'x=1; f() { echo f$x; }; return 3; x=2' > /l; . /l; echo $?; f", "3\nf1\n"),
        ("set -e; . /opt/of/image.sh; source /opt/of/image.sh; echo on", "on\n"),
        (
            "mkdir /v; cp --preserve=mode /usr/bin/own /v/; [ -f /v/own ] && cp -n /app/own /v/b;"
            " chmod +x /v/own; ls /v",
            "b\nown\n",
        ),
        ("echo x > /f; cp --preserve=mode /f /g && ls --color=auto /g", "/g\n"),
        (
            "mkdir /a; ln -s /f /a/l; echo x > /f; cp --remove-destination /a/l /c; rm /f; cat /c",
            "x\n",
        ),
        (
            "mkdir /b; cd /b; mkdir -m 700 a; stat -c %a a; ls",
            "700\na\n",
        ),
        (
            "seq 3 | wc --lines; seq 12 | head --lines=2 | tail --lines 1; seq 9 | head -3 | wc -l",
            "3\n2\n3\n",
        ),
        (
            "echo x > /5; seq 9 | tail -n 1; cat -- /5; cd /; head -n 1 5; rm -- 5; [ ! -e 5 ]",
            "9\nx\nx\n",
        ),
        ("printf 'b\na\n' | sort --unique --reverse; echo aXb | grep -e b -e c", "b\na\naXb\n"),
        ("bash --norc -c 'echo ran'; sh -o pipefail -c 'false; echo on'", "ran\non\n"),
        ("env -i A=1 env; env -u HOME sh -c 'echo ${HOME:-none}'", "A=1\nnone\n"),
        (
            "seq 3 | xargs -n 2 echo; seq 2 | xargs -I % echo %-%; timeout -k 1 5 echo -n x",
            "1 2\n3\n1-1\n2-2\nx",
        ),
        (
            "echo x > /f; chmod 777 /f; chmod -x /f; stat --format=%a /f; uname -sm",
            "666\nLinux x86_64\n",
        ),
        (
            "echo abc | cut --characters=2; echo a-b | tr -d -- -; printf 'a\na\n' | uniq --count",
            "b\nab\n      2 a\n",
        ),
        ("mkdir /v; cp -r /opt/own /v/c; touch /v/c/d; cp /etc/own/* /v; ls /v/c; ls /v", "d\nc\n"),
    ],
)
def test_what_a_script_prints(script: str, output: str) -> None:
    assert shell(script)[:3] == (0, output, "")


@pytest.mark.parametrize(
    ("script", "output"),
    [
        ("gzip f; ls; gunzip f.gz; ls; cat f", "f.gz\nf\ntext\n"),
        ("gzip -k f; ls; rm f; gunzip --keep f.gz; ls", "f\nf.gz\nf\nf.gz\n"),
        ("gzip -c f > p; ls; gunzip -c < p; gzip --decompress --stdout p", "f\np\ntext\ntext\n"),
        ("chmod 600 f; gzip -9 f; stat -c %a f.gz; gzip -d f.gz; stat -c %a f", "600\n600\n"),
        (
            "cp f g; gzip -S .z f g; ls; gzip -c -- f.z > h; wc -l < h > n; ls",
            "f.z\ng.z\nf.z\ng.z\nh\nn\n",
        ),
        ("gzip -c f f > both; gunzip < both", "text\ntext\n"),
    ],
)
def test_a_packed_file_takes_the_place_of_the_file(script: str, output: str) -> None:
    files = Files([])
    files.make_directory("/d")
    files.write("/d/f", b"text\n")
    assert shell(f"cd /d; {script}", files=files)[:3] == (0, output, "")


@pytest.mark.parametrize(
    ("script", "code", "told"),
    [
        ("touch f f.gz; gzip f", 2, "gzip: f.gz already exists;\tnot overwritten\n"),
        ("touch f.gz; gzip f.gz", 2, "gzip: f.gz: already has .gz suffix -- unchanged\n"),
        ("touch f; gunzip f", 2, "gunzip: f: unknown suffix -- ignored\n"),
        ("echo x > f.gz; gunzip f.gz", 1, "gunzip: Error -3 "),
        ("gzip f", 1, "gzip: /d/f: No such file or directory\n"),
        ("dd if=/dev/zero of=f bs=1k count=256; echo >> f; gzip f", 1, "File too large"),
    ],
)
def test_a_file_that_cannot_be_packed_stays(script: str, code: int, told: str) -> None:
    files = Files([])
    files.make_directory("/d")
    result = shell(f"cd /d; {script}", files=files)
    assert result.code == code
    assert told in result.errors


@pytest.mark.parametrize(
    ("script", "code"),
    [
        ("exit 3", 3),
        ("(exit 7)", 7),
        ("set -e; false; echo no", 1),
        ("set -e; false || true; if false; then :; fi", 0),
        ("exec false", 1),
        ("nothing", 127),
        ("echo 'open", 2),
        ("if true; then", 2),
        ("echo $((1/0))", 2),
        ("cat /none", 1),
        ("cp /none /tmp", 1),
        ("tar xf /none.tar", 2),
        ("tar cf /none/x.tar /tmp", 2),
        ("cp /etc/none /none/x", 1),
        ("mv /etc/none /tmp", 1),
        ("echo '. /l' > /l; . /l", 1),
        ("expr 4 % 2", 1),
        ("expr 1 + x", 2),
        ("date tomorrow", 1),
        ("gunzip < /etc/none || echo x | gunzip", 1),
        ("[[ a", 2),
        ("echo x > /none/x", 1),
    ],
)
def test_how_a_script_ends(script: str, code: int) -> None:
    assert shell(script).code == code


@pytest.mark.parametrize(
    ("script", "seconds"),
    [
        ("sleep 5; sleep 1m", 65.0),
        ("touch /tmp/x; sleep 30; rm /tmp/x; sleep 600", 630.0),
        ("while [ ! -f /tmp/x ]; do sleep 1; touch /tmp/x; done", 1.0),
        ("sleep 3 & sleep 2; wait", 5.0),
        ("tail -f /dev/null", float("inf")),
    ],
)
def test_how_long_a_script_runs(script: str, seconds: float) -> None:
    assert shell(script).seconds == seconds


@pytest.mark.parametrize(
    "script",
    [
        "while :; do :; done",
        "f() { f; }; while true; do f; done 2>/dev/null",
    ],
)
def test_an_endless_script_only_takes_steps(script: str) -> None:
    assert shell(script).code is None


@pytest.mark.parametrize(
    "script",
    [
        "x=a; while true; do x=$x$x; done",
        "while true; do set -- x $@ $@; done",
        'x=aaaaaaaa; for i in $(seq 60); do x="$x$x"; done',
    ],
)
def test_a_script_whose_words_grow_ends(script: str) -> None:
    result = shell(script)
    assert result.code == 2
    assert "too long" in result.errors


@pytest.mark.parametrize(
    "script", ["(" * 500 + ":" + ")" * 500, "$(" * 300 + ")" * 300, "x" * 300_000]
)
def test_a_monstrous_script_is_refused(script: str) -> None:
    assert shell(script).code == 2


def test_a_copy_of_what_is_missing_in_a_volume_fails() -> None:
    files = Files([Mount("/etc/own", LiveVolume(lambda: {"/a": Entry(b"x")}))])
    assert shell("cp /etc/own/a /etc/other /tmp", files=files).code == 0
    assert "No such file" in shell("cp /etc/own/b /tmp", files=files).errors


def test_a_volume_that_is_full() -> None:
    files = Files([])
    files.write("/tmp/big", b"x" * (MAX_BYTES - files.root.size - 20))
    result = shell("echo 12345678901234567890 > /tmp/more", files=files)
    assert result[:2] == (1, "")
    assert "No space left on device" in result.errors


def test_mounted_objects_can_be_read_only() -> None:
    volume = LiveVolume(lambda: {"/key": Entry(b"value")})
    files = Files([Mount("/config", volume), Mount("/one", volume, "/key")])
    assert shell("cat /config/key /one; ls /config", files=files).output == "valuevaluekey\n"
    assert "Read-only file system" in shell("echo x > /config/key", files=files).errors


def test_an_archive_cannot_leave_its_directory() -> None:
    files = Files([])
    shell("mkdir /a; echo x > /a/f", files=files)
    data = run("tar", "cf", "-", "/a/f", files=files).output.encode().replace(b"a/f", b"../")
    assert run("tar", "xf", "-", "-C", "/tmp", files=files, data=data).code != 0
    assert shell("ls /", files=files).output.split().count("a") == 1


@pytest.mark.parametrize(
    "script",
    [
        "echo 'sh /tmp/x' > /tmp/x; sh /tmp/x",
        "env" + " env" * 3000 + " true",
        "exec" + " exec" * 3000 + " true",
    ],
)
def test_programs_that_nest_without_an_end_fail(script: str) -> None:
    result = shell(script)
    assert (result.code, "nested too deeply" in result.errors) == (1, True)


@pytest.mark.parametrize(
    ("script", "output"),
    [
        ("x=ffff; for i in 1 2 3 4 5 6 7 8 9 10 11 12 13; do x=$x$x; done; printf %d 0x$x", "0"),
        ("printf 100%% a b", "100%"),
        (
            "seq 5 > /f; tail -n 2 /f; tail -n 9 /f | wc -l; printf 'a\\nb' | tail -n 1",
            "4\n5\n5\nb",
        ),
        ("seq 5 | head -n 2; seq 5 | tail -n +4; printf 'a\\nb' | head -n 2", "1\n2\n4\n5\na\nb"),
    ],
)
def test_hostile_words(script: str, output: str) -> None:
    assert shell(script).output == output


def test_a_tree_of_any_depth_is_copied_and_archived() -> None:
    deep = "/tmp/" + "a/" * 1500 + "b"
    script = f"mkdir -p {deep}; cp -r /tmp/a /var/c; tar cf - /tmp | wc -c; ls /var/c{deep[6:-2]}"
    files = Files([])
    files.make_directory(deep, with_parents=True)
    assert len(list(files.walk("/tmp"))) == 1502
    result = shell(script, files=files)
    assert result.output.endswith("b\n")


def test_a_mount_hides_what_lies_below_it() -> None:
    shown = LiveVolume(lambda: {"/key": Entry(b"value")})
    files = Files([Mount("/tmp/mount", shown)])
    files.root.put("/tmp/mount/hidden", Entry(b""))
    files.write("/tmp/file", b"")
    names = [path for path, _ in files.walk("/tmp")]
    assert names == ["/tmp", "/tmp/file", "/tmp/mount", "/tmp/mount/key"]


def test_files_that_are_read_together_are_not_kept_together() -> None:
    files = Files([])
    files.write("/tmp/f", bytes(MAX_BYTES // 2))
    names = "/tmp/f " * 200
    result = shell(f"wc -c {names}; gzip -c {names} | wc -c; tar cf - {names} | wc -c", files=files)
    read, packed, archived = map(int, result.output.split())
    assert (read, packed < 1024, archived < 3 * MAX_BYTES) == (2 * MAX_BYTES, True, True)
    assert "File too large" in result.errors


def _packed(name: str, kind: bytes, size: int) -> bytes:
    """A compressed archive with one header that announces so many zeros."""
    member = tarfile.TarInfo(name)
    member.type, member.size = kind, size
    packer = zlib.compressobj(wbits=31)
    zeros = bytes(1024 * 1024)
    pieces = [packer.compress(member.tobuf())]
    pieces += [packer.compress(zeros) for _ in range(size // len(zeros))]
    return b"".join(pieces) + packer.flush()


@pytest.mark.parametrize("kind", [tarfile.REGTYPE, tarfile.XHDTYPE, tarfile.GNUTYPE_LONGNAME, b"Z"])
def test_an_archive_is_not_unpacked_beyond_the_space(kind: bytes) -> None:
    files = Files([])
    result = run("tar", "xf", "-", files=files, data=_packed("a", kind, 100 * 1024 * 1024))
    assert result.errors
    assert files.root.size < 1024


@pytest.mark.parametrize(
    "script",
    [
        "x=$(seq 9999); for i in $(seq 1000); do eval v$i=\\${x}$i; done",
        "while :; do : & done",
        'for i in $(seq 2000); do eval "f$i() { :; }"; done',
    ],
)
def test_a_shell_has_little_memory(script: str) -> None:
    result = shell(script)
    assert (result.code, result.errors) == (1, "/bin/sh: out of memory\n")


def test_memory_of_programs_that_ended_is_free_again() -> None:
    held = Held.total
    files = Files([])
    files.write("/tmp/f", bytes(1024))
    assert shell("cat /tmp/f | (x=1; cat) | wc -c; rm /tmp/f", files=files).output == "1024\n"
    del files
    assert Held.total == held


def test_every_pattern_of_a_case_is_a_step() -> None:
    branches = "".join(f"{'*a' * 20}{number}) :;;\n" for number in range(500))
    script = f"for i in $(seq {MAX_STEPS // 500}); do case x in\n{branches}esac; done"
    assert shell(script).code is None


def test_the_containers_of_a_pod_share_the_time_to_compute() -> None:
    endless = ["sh", "-c", "while :; do :; done"]
    spent = []
    for containers in (1, 400):
        process = Process(list(endless), Files([]), {}, "host", find_program)
        began = thread_time()
        MainProcess(process, 0.0, containers=containers).advance(FOREVER)
        spent.append(thread_time() - began)
    assert spent[1] < spent[0]


@pytest.mark.parametrize(("count", "ends"), [(900, True), (1_100, False)])
def test_how_far_a_loop_runs_is_counted_in_steps(
    count: int, ends: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The limit of time is for programs with long steps: here it is not in the way."""
    monkeypatch.setattr(main_processes, "_MAX_CPU_SECONDS", 10.0)
    script = f"for i in $(seq {count}); do echo $i; done"
    main = MainProcess(Process(["sh", "-c", script], Files([]), {}, "host", find_program), 0.0)
    main.advance(FOREVER)
    assert main.has_ended is ends
    assert b"".join(output.data for output in main.run.outputs).startswith(b"1\n2\n")
