"""`fairlead exec` and `attach`, in pods on simulated nodes."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest
from support.commands import Commands
from support.pseudo_terminal import TerminalSession, seen_on_terminal
from support.simulation import Pods, container

_SHELL = ("sh", "-c")


@pytest.fixture
def commands(any_pods: Pods) -> Commands:
    """In the namespace of a pod named p, which runs."""
    any_pods.create("p")
    any_pods.await_ready("p")
    return Commands(any_pods.space)


@pytest.mark.both_dialects
def test_both_streams_and_the_exit_code_are_those_of_the_command(commands: Commands) -> None:
    ran = commands.run("exec", "p", "--", *_SHELL, "echo out; echo err >&2; exit 3")
    assert ran == (3, "out\n", "err\nthe command ended with exit code 3\n")
    assert commands.run("exec", "p", "-q", "--", "false") == (1, "", "")
    assert commands.run("exec", "pod/p", "--", "true") == (0, "", "")


def test_a_command_reads_standard_input_to_its_end(commands: Commands) -> None:
    text = "line\n" * 50_000
    assert commands("exec", "-i", "p", "--", "cat", text=text) == text
    assert commands("exec", "-i", "p", "--", "wc", "-l", text="").strip() == "0"
    assert commands("exec", "p", "--", "cat", text="not passed on") == ""


def test_a_program_that_a_container_lacks(commands: Commands) -> None:
    ran = commands.run("exec", "p", "--", "nosuch")
    assert ran.code != 0
    assert "nosuch" in ran.errors


def test_one_of_several_containers(any_pods: Pods) -> None:
    any_pods.create("two", container("b"), container("a"))
    any_pods.await_ready("two")
    commands = Commands(any_pods.space)
    commands("exec", "two", "-c", "a", "--", "touch", "/tmp/here")
    assert commands("exec", "two", "-c", "a", "-q", "--", "ls", "/tmp") == "here\n"
    ran = commands.run("exec", "two", "--", "ls", "/tmp")
    assert ran == (0, "", "The one in use is container b; all are b, a\n")
    missing = commands.run("exec", "two", "-c", "x", "--", "ls")
    assert missing == (1, "", "error: the pod two has no container x\n")


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (("exec",), "error: name one pod"),
        (("exec", "p"), "error: the command is missing"),
        (("exec", "p", "ls"), "error: name one pod"),
        (("exec", "none", "--", "ls"), 'Error from server (NotFound): pods "none" not found'),
        (("exec", "cm/none", "--", "ls"), "Error from server (NotFound)"),
        (("attach",), "error: name one pod"),
        (("attach", "none"), 'Error from server (NotFound): pods "none" not found'),
    ],
)
def test_what_cannot_be_run(commands: Commands, words: tuple[str, ...], error: str) -> None:
    ran = commands.run(*words)
    assert (ran.code, ran.out) == (1, "")
    assert ran.errors.startswith(error)


def test_nothing_runs_in_a_pod_that_has_ended(any_pods: Pods) -> None:
    any_pods.create("job", container(command=["true"]), restartPolicy="Never")
    any_pods.await_phase("Succeeded", "job")
    for words in (("exec", "job", "--", "ls"), ("attach", "job")):
        ran = Commands(any_pods.space).run(*words)
        assert (
            ran.errors == "error: the pod job has ended (Succeeded): nothing runs in it any more\n"
        )


def test_who_may_not_is_refused(commands: Commands) -> None:
    ran = commands.run("exec", "p", "--as=eve", "--", "ls")
    assert ran.code == 1
    assert ran.errors.startswith("Error from server (Forbidden)")


def test_foreign_output_is_harmless_without_a_terminal_of_its_own(commands: Commands) -> None:
    words = ("exec", "p", "--", "printf", r"a\033[2Jb\n")
    assert seen_on_terminal(commands, *words) == "a^[[2Jb\n"
    assert commands(*words) == "a\x1b[2Jb\n"


def test_a_terminal_gets_everything_as_it_is(commands: Commands) -> None:
    with TerminalSession(commands, "exec", "-it", "p", "--", "printf", r"a\033[2Jb") as terminal:
        assert terminal.until("b").endswith("a\x1b[2Jb")
        assert terminal.wait() == 0


def test_a_shell_in_a_terminal(commands: Commands) -> None:
    """The keys go to the shell one by one, Ctrl-C too, and the terminal is as before at the end."""
    with TerminalSession(commands, "exec", "-it", "p", "--", "sh") as terminal:
        terminal.type("echo one-$((1 + 1))\r")
        terminal.until("one-2")
        assert terminal.is_raw()
        terminal.type("exit 7\r")
        terminal.until("the command ended with exit code 7")
        assert terminal.wait() == 7


def test_a_signal_gives_the_terminal_back(commands: Commands) -> None:
    with TerminalSession(commands, "exec", "-it", "p", "--", "sh") as terminal:
        terminal.type("echo ready-$((1))\r")
        terminal.until("ready-1")
        terminal.process.send_signal(signal.SIGTERM)
        assert terminal.wait() == 128 + signal.SIGTERM
        assert "Traceback" not in terminal.rest()


def test_a_terminal_is_needed_on_this_side(commands: Commands) -> None:
    ran = commands.run("exec", "-it", "p", "--", "echo", "x")
    assert ran == (0, "x\n", "-t does nothing here: standard input is not a terminal\n")


def test_a_reader_that_has_seen_enough(commands: Commands) -> None:
    words = ["--kubeconfig", str(commands.config), "-n", commands.space.name]
    line = [sys.executable, "-m", "fairlead", *words, "exec", "p", "--", "seq", "200000"]
    with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline() == b"1\n"
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(30) == 0


def test_attaching_to_the_command_of_a_container(any_pods: Pods) -> None:
    any_pods.create("sh", container(command=["sh"], stdin=True, stdinOnce=True))
    any_pods.await_ready("sh")
    commands = Commands(any_pods.space)
    ran = commands.run("attach", "-i", "-q", "sh", text="echo attached\n")
    assert (ran.out, ran.errors) == ("attached\n", "")


def test_attaching_to_a_shell_in_a_terminal(any_pods: Pods) -> None:
    any_pods.create("sh", container(command=["sh"], stdin=True, tty=True))
    any_pods.await_ready("sh")
    commands = Commands(any_pods.space)
    with TerminalSession(commands, "attach", "-it", "sh") as terminal:
        terminal.until("Attached")
        terminal.type("echo $((40 + 2))\r")
        terminal.until("42")
        terminal.type("exit\r")
        terminal.until("Once the pod runs: fairlead attach sh -c c -it")
        terminal.wait()


def test_a_terminal_that_the_container_does_not_have(any_pods: Pods) -> None:
    any_pods.create("sh", container(command=["sh"], stdin=True))
    any_pods.await_ready("sh")
    with TerminalSession(Commands(any_pods.space), "attach", "-it", "sh") as terminal:
        terminal.until("-t does nothing here: the container c has no terminal")


def test_the_pod_may_be_named_by_a_file(commands: Commands) -> None:
    pod = '{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}}'
    assert commands("exec", "-f", "-", "--", "hostname", text=pod) == "p\n"
    ran = commands.run("exec", "-f", "-", "--", "hostname", text=f"{pod}\n{pod}")
    assert "must have one object, not 2" in ran.errors
