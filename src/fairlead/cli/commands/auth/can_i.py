"""`auth can-i`: asks whether an action is allowed."""

from __future__ import annotations

from fairlead.base.terminal import printable
from fairlead.cli.arguments import ArgumentReader
from fairlead.cli.errors import UsageError
from fairlead.cli.invocation import Invocation
from fairlead.cli.output import tables
from fairlead.cli.permissions import table
from fairlead.cli.permissions.questions import add_question_flags, question_of, review


def add_flags(parser: ArgumentReader) -> None:
    add_question_flags(parser)
    parser.add_switch("-q", "--quiet", help="print nothing; the exit code has the answer")
    parser.add_switch("--list", help="list everything that is allowed in the namespace")
    parser.add_switch("--no-headers", help="with --list, omit the header line")


async def run(invocation: Invocation) -> int:
    if invocation.options.list:
        return await _list(invocation)
    if invocation.options.no_headers:
        raise UsageError("--no-headers is for --list")
    question = await question_of(invocation)
    status = await review(invocation.client, "SelfSubjectAccessReview", question.spec)
    allowed = bool(status.get("allowed"))
    if not invocation.options.quiet:
        reasons = [status.get(name) for name in ("reason", "evaluationError")]
        parts = ("yes",) if allowed else ("no", *(text for text in reasons if text))
        invocation.screen.print(printable(" - ".join(parts)))
    return 0 if allowed else 1


async def _list(invocation: Invocation) -> int:
    options = invocation.options
    if options.words:
        raise UsageError("--list shows everything: leave out verb and resource")
    if options.quiet or options.all_namespaces or options.subresource:
        raise UsageError(
            "--list cannot be combined with --quiet, --all-namespaces or --subresource"
        )
    status = await review(
        invocation.client, "SelfSubjectRulesReview", {"namespace": invocation.namespace}
    )
    if status.get("incomplete"):
        why = printable(str(status.get("evaluationError") or ""))
        invocation.screen.warn(f"warning: there may be more than this: {why}")
    rows = table.rows(status)
    lines = rows if options.no_headers else [table.HEAD, *rows]
    invocation.screen.print(tables.text(lines, invocation.screen, table.HEAD))
    return 0
