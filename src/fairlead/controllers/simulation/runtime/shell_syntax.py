"""The syntax of shell scripts: what ordinary manifests use of it.

Lists, pipelines, `if`, `while`, `until`, `for`, `case`, groups, functions, redirections, here
documents, quotes, parameters, command substitution and arithmetic.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from fairlead.controllers.simulation.runtime.shell_nodes import (
    AndOr,
    Arithmetic,
    Case,
    Command,
    For,
    Function,
    Group,
    If,
    Loop,
    Parameter,
    Part,
    Pipeline,
    Redirect,
    Script,
    Simple,
    Substitution,
    Text,
    Word,
)

MAX_SCRIPT = 256 * 1024
_MAX_DEPTH = 60
_MAX_WORK = 12_000  # signs and parts of words that are looked at: a script is parsed in one step
_CHARACTERS_OF_A_PART = 200  # text that is looked at again costs as much as a part


class ShellSyntaxError(ValueError):
    """A script cannot be parsed; the text is that of a shell."""


_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_PARAMETER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|[0-9]+|[@*#?$!-]", re.ASCII)
_PARAMETER_OPERATOR = re.compile(r":?[-=+?]|##?|%%?")
_ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=", re.ASCII)
_KEYWORD = re.compile(r"[a-z]+|\}")
_IN = re.compile(r"in(?=[\s;])")
# `[[` with operators inside, or with `=~`.
_UNSUPPORTED_TEST = re.compile(r"\[\[\s(?:(?!.*\s\]\]\Z)|.*\s=~\s)", re.DOTALL)
_PLAIN = re.compile(r"[^ \t\n;&|<>()'\"\\$`]+")
_QUOTED_PLAIN = re.compile(r"[^\"\\$`}]+")
_BETWEEN_PARENTHESES = re.compile(r"[^()]+")
_REDIRECT = re.compile(r"([0-9]?)(>>|>&|<<-?|>\||>|<)")
_ENDS_WORD = frozenset(" \t\n;&|<>()")
_RESERVED = frozenset(
    ("then", "elif", "else", "fi", "do", "done", "esac", "}", "if", "while", "until", "for", "case")
)


def parse(text: str) -> Script:
    """Raises ShellSyntaxError."""
    if len(text) > MAX_SCRIPT:
        raise ShellSyntaxError("script too long")
    parser = _Parser(text, 0, _Work(_MAX_WORK))
    script = parser.script(())
    if parser.at < len(text):
        raise parser.unexpected()
    return script


class _Work:
    """What may be done to parse a script, with all that is nested in it."""

    def __init__(self, most: int) -> None:
        self._left = most

    def spend(self, work: int = 1) -> None:
        """Raises ShellSyntaxError."""
        self._left -= work
        if self._left < 0:
            raise ShellSyntaxError("script too long")


class _Parser:
    """A recursive descent. `at` is the position in the text."""

    def __init__(self, text: str, depth: int, work: _Work) -> None:
        work.spend(len(text) // _CHARACTERS_OF_A_PART)
        self._work = work
        self.text = text
        self.at = 0
        self._depth = depth
        self._pending: list[tuple[str, bool, bool, list[Redirect], int]] = []  # here documents

    def unexpected(self) -> ShellSyntaxError:
        token = self.text[self.at : self.at + 20].split(maxsplit=1)
        shown = f'"{token[0]}"' if token else "end of file"
        return ShellSyntaxError(f"syntax error: unexpected {shown}")

    # Blanks and tokens

    def _peek(self) -> str:
        return self.text[self.at : self.at + 1]

    def _blanks(self) -> None:
        self._work.spend()
        while True:
            if self._peek() in (" ", "\t", "\r") and self._peek():
                self.at += 1
            elif self.text.startswith("\\\n", self.at):
                self.at += 2
            elif self._peek() == "#":
                end = self.text.find("\n", self.at)
                self.at = len(self.text) if end < 0 else end
            else:
                return

    def _newlines(self) -> None:
        self._blanks()
        while self._peek() == "\n":
            self.at += 1
            self._here_documents()
            self._blanks()

    def _take(self, token: str) -> bool:
        if not self.text.startswith(token, self.at):
            return False
        self.at += len(token)
        return True

    def _reserved(self) -> str:
        """The reserved word at this position, not consumed."""
        match = _KEYWORD.match(self.text, self.at)
        if match is None or match[0] not in _RESERVED:
            return ""
        after = self.text[match.end() : match.end() + 1]
        return match[0] if not after or after in _ENDS_WORD else ""

    def _expect(self, word: str) -> None:
        self._newlines()
        if self._reserved() != word:
            raise self.unexpected()
        self.at += len(word)

    # Lists and pipelines

    def script(self, ends: Sequence[str]) -> Script:
        """Commands up to one of the words or signs in `ends`, which is not consumed."""
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise ShellSyntaxError("syntax error: nested too deeply")
        lists: list[AndOr] = []
        while True:
            self._newlines()
            if self.at >= len(self.text) or (self._reserved() in ends and self._reserved()):
                break
            if any(not end.isalpha() and self.text.startswith(end, self.at) for end in ends):
                break
            pipelines = self._and_or()
            self._blanks()
            in_background = self._take("&")
            ends_here = self.text.startswith(";;", self.at) or self._peek() in ("\n", "", ")", "}")
            if not (in_background or ends_here or self._take(";") or self._reserved() in ends):
                raise self.unexpected()
            lists.append(AndOr(pipelines, in_background))
        self._depth -= 1
        if not ends or self.at < len(self.text):
            return Script(lists)
        raise self.unexpected()

    def _and_or(self) -> list[tuple[str, Pipeline]]:
        pipelines = [("", self._pipeline())]
        while True:
            self._blanks()
            operator = next((sign for sign in ("&&", "||") if self._take(sign)), "")
            if not operator:
                return pipelines
            self._newlines()
            pipelines.append((operator, self._pipeline()))

    def _pipeline(self) -> Pipeline:
        self._blanks()
        is_negated = False
        while self._peek() == "!" and self.text[self.at + 1 : self.at + 2] in (" ", "\t", "("):
            self.at += 1
            is_negated = not is_negated
            self._blanks()
        commands = [self._command()]
        while True:
            self._blanks()
            if self.text.startswith("||", self.at) or not self._take("|"):
                return Pipeline(commands, is_negated)
            self._newlines()
            commands.append(self._command())

    # Commands

    def _command(self) -> Command:
        self._blanks()
        compound: dict[str, Callable[[], Command]] = {
            "if": self._if,
            "while": self._loop,
            "until": self._loop,
            "for": self._for,
            "case": self._case,
        }
        word = self._reserved()
        command: Command
        if word in compound:
            command = compound[word]()
        elif self._peek() == "(":
            self.at += 1
            command = Group(self._body((")",)), is_subshell=True)
            self.at += 1
        elif self._peek() == "{" and self.text[self.at + 1 : self.at + 2] in " \t\n":
            self.at += 1
            command = Group(self._body(("}",)), is_subshell=False)
            self.at += 1
        elif word:
            raise self.unexpected()
        else:
            return self._simple()
        while (redirect := self._redirect(command.redirects)) is not None:
            command.redirects.append(redirect)
        return command

    def _body(self, ends: Sequence[str]) -> Script:
        script = self.script(ends)
        if not script.lists:
            raise self.unexpected()
        return script

    def _if(self) -> If:
        self.at += len("if")
        branches: list[tuple[Script, Script]] = []
        while True:
            condition = self._body(("then",))
            self._expect("then")
            branches.append((condition, self._body(("elif", "else", "fi"))))
            if self._reserved() == "elif":
                self.at += len("elif")
                continue
            otherwise = None
            if self._reserved() == "else":
                self.at += len("else")
                otherwise = self._body(("fi",))
            self._expect("fi")
            return If(branches, otherwise)

    def _loop(self) -> Loop:
        word = self._reserved()
        self.at += len(word)
        condition = self._body(("do",))
        return Loop(condition, self._do(), word == "until")

    def _do(self) -> Script:
        self._expect("do")
        body = self._body(("done",))
        self._expect("done")
        return body

    def _for(self) -> For:
        self.at += len("for")
        self._blanks()
        match = _NAME.match(self.text, self.at)
        if match is None:
            raise self.unexpected()
        self.at = match.end()
        self._newlines()
        words: list[Word] | None = None
        if _IN.match(self.text, self.at):
            self.at += len("in")
            words = []
            self._blanks()
            while self._peek() not in ("\n", ";", ""):
                words.append(self._word())
                self._blanks()
        self._blanks()
        self._take(";")
        return For(match[0], words, self._do())

    def _case(self) -> Case:
        self.at += len("case")
        self._blanks()
        word = self._word()
        self._newlines()
        if not self._take("in"):
            raise self.unexpected()
        branches: list[tuple[list[Word], Script]] = []
        while True:
            self._newlines()
            if self._reserved() == "esac":
                self.at += len("esac")
                return Case(word, branches)
            self._take("(")
            patterns = []
            while True:
                self._blanks()
                patterns.append(self._word())
                self._blanks()
                if not self._take("|"):
                    break
            if not self._take(")"):
                raise self.unexpected()
            branches.append((patterns, self.script((";;", "esac"))))
            self._take(";;")

    def _simple(self) -> Simple | Function:
        command, begin = Simple(), self.at
        while True:
            self._blanks()
            redirect = self._redirect(command.redirects)
            if redirect is not None:
                command.redirects.append(redirect)
                continue
            if not self._peek() or self._peek() in _ENDS_WORD:
                break
            match = _ASSIGNMENT.match(self.text, self.at)
            if match is not None and not command.words:
                self.at = match.end()
                ends = not self._peek() or self._peek() in _ENDS_WORD
                command.assignments.append((match[1], () if ends else self._word()))
                continue
            name = _NAME.match(self.text, self.at)
            if name is not None and not command.words and self.text.startswith("()", name.end()):
                self.at = name.end() + 2
                self._newlines()
                return Function(name[0], self._command())
            command.words.append(self._word())
        if not (command.words or command.assignments or command.redirects):
            raise self.unexpected()
        if _UNSUPPORTED_TEST.match(self.text[begin : self.at].rstrip()):
            raise self.unexpected()
        return command

    def _redirect(self, redirects: list[Redirect]) -> Redirect | None:
        self._blanks()
        match = _REDIRECT.match(self.text, self.at)
        if match is None:
            return None
        self.at = match.end()
        operator = {">|": ">"}.get(match[2], match[2])
        stream = int(match[1]) if match[1] else 0 if operator.startswith("<") else 1
        self._blanks()
        if not self._peek() or self._peek() in _ENDS_WORD:
            raise self.unexpected()
        begin = self.at
        target = self._word()
        if not operator.startswith("<<"):
            return Redirect(stream, operator, target)
        written = self.text[begin : self.at]
        end = re.sub(r"[\"'\\]", "", written)
        self._pending.append((end, operator == "<<-", end == written, redirects, len(redirects)))
        return Redirect(stream, "<<", ())

    def _here_documents(self) -> None:
        """Read the here documents that begin after a line end."""
        pending, self._pending = self._pending, []
        for end, strips, expands, redirects, index in pending:
            lines = []
            while self.at < len(self.text):
                self._work.spend()
                stop = self.text.find("\n", self.at)
                line = self.text[self.at : stop if stop >= 0 else len(self.text)]
                self.at += len(line) + 1
                if strips:
                    line = line.lstrip("\t")
                if line == end:
                    break
                lines.append(line + "\n")
            text = "".join(lines)
            word: Word = self._expanded(text) if expands else (Text(text, is_quoted=True),)
            redirects[index] = redirects[index]._replace(target=word)
        self.at = min(self.at, len(self.text))

    # Words

    def _expanded(self, text: str) -> Word:
        """The parts of a text as if it were in double quotes."""
        parser = _Parser(text, self._depth + 1, self._work)
        return tuple(parser.quoted_parts(""))

    def _word(self) -> Word:
        parts: list[Part] = []
        while self.at < len(self.text) and self._peek() not in _ENDS_WORD:
            self._work.spend()
            sign = self._peek()
            if sign == "'":
                end = self.text.find("'", self.at + 1)
                if end < 0:
                    raise ShellSyntaxError("syntax error: unterminated quoted string")
                parts.append(Text(self.text[self.at + 1 : end], is_quoted=True))
                self.at = end + 1
            elif sign == '"':
                self.at += 1
                parts.append(Text("", is_quoted=True))
                parts += self.quoted_parts('"')
            elif sign == "\\":
                if self.text.startswith("\\\n", self.at):
                    self.at += 2
                    continue
                parts.append(Text(self.text[self.at + 1 : self.at + 2], is_quoted=True))
                self.at += 2
            elif sign in "$`":
                parts.append(self._expansion(is_quoted=False))
            else:
                match = _PLAIN.match(self.text, self.at)
                assert match is not None
                parts.append(Text(match[0]))
                self.at = match.end()
        if not parts:
            raise self.unexpected()
        return tuple(parts)

    def quoted_parts(self, end: str) -> list[Part]:
        """The parts up to an ending quote, which is consumed, or to the end of the text."""
        parts: list[Part] = []
        literal = ""
        while self.at < len(self.text):
            plain = _QUOTED_PLAIN.match(self.text, self.at)
            if plain is not None:
                literal += plain[0]
                self.at = plain.end()
                continue
            self._work.spend()
            sign = self._peek()
            if sign == end:
                self.at += 1
                return [*parts, Text(literal, is_quoted=True)]
            if sign == "\\" and self.text[self.at + 1 : self.at + 2] in ("$", "`", '"', "\\", "\n"):
                escaped = self.text[self.at + 1]
                literal += "" if escaped == "\n" else escaped
                self.at += 2
            elif sign in "$`":
                parts += [Text(literal, is_quoted=True), self._expansion(is_quoted=True)]
                literal = ""
            else:
                literal += sign
                self.at += 1
        if end:
            raise ShellSyntaxError("syntax error: unterminated quoted string")
        return [*parts, Text(literal, is_quoted=True)]

    def _expansion(self, *, is_quoted: bool) -> Part:
        if self._take("`"):
            end = self.text.find("`", self.at)
            if end < 0:
                raise ShellSyntaxError("syntax error: EOF in backquote substitution")
            text = self.text[self.at : end].replace("\\`", "`")
            inner = _Parser(text, self._depth + 1, self._work)
            self.at = end + 1
            return Substitution(inner.script(()), is_quoted)
        if self._take("$(("):
            return Arithmetic(self._expanded(self._balanced()), is_quoted)
        if self._take("$("):
            script = self.script((")",))
            self.at += 1
            return Substitution(script, is_quoted)
        if self._take("${"):
            return self._braces(is_quoted)
        match = _PARAMETER.match(self.text, self.at + 1)
        if match is None:
            self.at += 1
            return Text("$", is_quoted)
        # Without braces only one digit counts.
        name = match[0][:1] if match[0].isdigit() else match[0]
        self.at += 1 + len(name)
        return Parameter(name, is_quoted=is_quoted)

    def _balanced(self) -> str:
        """The text up to the `))` that closes `$((`, which is consumed."""
        begin, depth = self.at, 0
        while self.at < len(self.text):
            sign = self._peek()
            if sign == ")" and not depth and self._take("))"):
                return self.text[begin : self.at - 2]
            depth += (sign == "(") - (sign == ")")
            plain = _BETWEEN_PARENTHESES.match(self.text, self.at)
            self._work.spend()
            self.at = plain.end() if plain is not None else self.at + 1
        raise ShellSyntaxError("syntax error: missing '))'")

    def _braces(self, is_quoted: bool) -> Part:
        bad = ShellSyntaxError("syntax error: bad substitution")
        is_length = self._peek() == "#" and self.text[self.at + 1 : self.at + 2] != "}"
        self.at += is_length
        match = _PARAMETER.match(self.text, self.at)
        if match is None:
            raise bad
        self.at = match.end()
        if self._take("}"):
            return Parameter(match[0], is_length=is_length, is_quoted=is_quoted)
        operator = _PARAMETER_OPERATOR.match(self.text, self.at)
        if operator is None or is_length:
            raise bad
        self.at = operator.end()
        word = tuple(self.quoted_parts("}"))
        return Parameter(match[0], operator[0], word, is_quoted=is_quoted)
