"""Commands of simulated containers, drawn from odd words, neither raise nor take long in one step.
A program that raises ends with the exit code 134."""

from __future__ import annotations

import io
import random
import tarfile
from time import thread_time

import pytest
from support.programs import run, shell

from fairlead.controllers.simulation.runtime.files import Files
from fairlead.controllers.simulation.runtime.process import Process, start_first
from fairlead.controllers.simulation.runtime.programs import PROGRAMS, find_program
from fairlead.controllers.simulation.runtime.shell_builtins import BUILTINS

SCRIPTS, STEPS = 1_500, 300
MAX_SECONDS = 0.5  # of computing in one step
ABORTED = 134
WORDS = [
    *"""
    -- -c -e -f -n -r -p -i -o -d -w -L 0 1 -1 ² ٣ 99999999999 1e999999999 nan inf -0x10 08 / . ..
    /tmp/a /tmp/b /tmp/d /dev/null /dev/stdin a/../.. é %s %d %(a)s %*d %5 % %1000000000d %.99999d
    \\ \\x \\0777 \\xff [ [a [z-a] (a*)* a{1000}{1000} (?P<a>x) * ? s/a/b/ s/a*/&&/g s s/(/b/ 1p
    0p {print} NR==0{print$1} a=b = if=/dev/zero of=/tmp/a bs=0 bs=² count=² count=99999 u+x 9999
    ²:² http://[ http://a] http://a:99999999/ http://a:²/ localhost ::1 +short -type A -H -X POST
    +1 -5 -c5 -d, -f1,2 -F: --format=%a +%s +%-9999d @0 xf czf TERM EXIT 1s 999999999d && -eq -lt
    ! ] ]] 1-2 2-1 0- a-z z-a [:upper:] [:x:] -g
    """.split(),  # noqa: SIM905 - a list of a hundred words
    "",
    " ",
    "\r\n",
    "a:\r\nb",
    "\udcff",
    "http://\udcff/",
    "9" * 5_000,
]
FORMS = ("$((%s))", "${a%s}", "${%s}", "$%s", "`%s`", '"$(%s)"', "%s")
ENDS = (" > /tmp/a", " < /tmp/b", " >> /", " >&9", " <&3", ' > "$x"', " <<E\nq\nE", " &", "")


class Draw:
    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._names = [*PROGRAMS, *BUILTINS]

    def script(self) -> str:
        choice = self._random.choice
        commands = [self._command() for _ in range(self._random.randint(1, 3))]
        text = choice(("; ", " | ", " && ", " || ", "\n")).join(commands)
        form = choice(("{}", "{}", "for i in 1 2; do {}; done", "f() {{ {}; }}; f a b"))
        return form.format(text)

    def _command(self) -> str:
        choice = self._random.choice
        words = [self._word(choice(WORDS)) for _ in range(self._random.randint(0, 4))]
        return " ".join([choice(self._names), *words]) + choice(ENDS)

    def _word(self, word: str) -> str:
        if self._random.random() < 0.2:
            return self._random.choice(FORMS) % word
        return "'" + word.replace("'", "'\\''") + "'"


def longest_step(script: str) -> float:
    """Run a script; return the seconds that its longest step takes."""
    files = Files([])
    files.write("/tmp/a", b"1\n2\n3\n")
    files.write("/tmp/b", b"\xff\xfe a:b,c")
    environment = {"HOME": "/", "a": "x"}
    process = Process(["sh", "-c", script], files, environment, "host", find_program)
    program, longest, sent, code = start_first(process), 0.0, None, 0
    for _ in range(STEPS):
        began = thread_time()
        try:
            program.send(sent)  # type: ignore[arg-type]  # None at first
        except StopIteration as stop:
            code = stop.value
            break
        finally:
            longest = max(longest, thread_time() - began)
        sent = b""
    program.close()
    assert code != ABORTED, script
    return longest


def test_odd_words_are_no_reason_to_crash() -> None:
    draw = Draw(seed=7)
    for _ in range(SCRIPTS):
        script = draw.script()
        assert longest_step(script) < MAX_SECONDS, script


@pytest.mark.parametrize(
    ("script", "output"),
    [
        ('printf "%1000000000d" 1', "%1000000000d"),
        ('printf "%(a)s|%d" 7', "%(a)s|7"),
        ("shift 99999999999999999999; echo $#", "2\n"),
        ("echo a\rb", "a\rb\n"),
        ("cd " + "x" * 5_000 + "; echo $?", "1\n"),
        ("curl -s http://[; echo $?", "7\n"),
        ("sleep 99999999d; sleep 99999999d; date +%Y 2>/dev/null; echo $?", None),
    ],
)
def test_the_words_that_once_crashed_have_results(script: str, output: str | None) -> None:
    result = shell(script)
    assert result.code == 0
    assert output is None or result.output == output


def test_an_archive_with_a_member_of_any_size_is_refused() -> None:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        archive.addfile(tarfile.TarInfo("a"))
    data = bytearray(packed.getvalue())
    data[124:136] = b"\x80\x00\x00\x00\x7f" + b"\xff" * 7  # 2^63 - 1 bytes
    data[148:156] = b"%06o\x00 " % (sum(data[:148]) + 8 * 32 + sum(data[156:512]))
    result = run("tar", "xf", "-", "-C", "/tmp", data=bytes(data))
    assert result.code == 1
    assert result.errors.startswith("tar: ")


def test_a_program_that_raises_ends_as_crashed(caplog: pytest.LogCaptureFixture) -> None:
    def broken(process: Process):  # type: ignore[no-untyped-def]
        raise ValueError("a fault")
        yield

    process = Process(["any"], Files([]), {}, "host", broken)
    program = start_first(process)
    next(program)
    with pytest.raises(StopIteration) as stopped:
        next(program)
    assert stopped.value.value == ABORTED
    assert "a simulated program failed" in caplog.text
