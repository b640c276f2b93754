"""`simulate node`: makes simulated nodes silent, not ready, short of something, or reboot.

Writes the annotations that the simulation reads (docs/simulation.md)."""

from __future__ import annotations

from collections.abc import Mapping

from fairlead.cli.arguments import ArgumentReader, Options
from fairlead.cli.errors import CommandError, CommandFailed, UsageError
from fairlead.cli.invocation import Invocation
from fairlead.cli.output.formats import add_output_flag, check_output, show_result
from fairlead.cli.resolution import ResolvedObject
from fairlead.cli.selection import select_objects
from fairlead.cli.write_options import (
    EXPECTED,
    Failures,
    add_dry_run_flag,
    add_manager_flag,
    dry_run,
    note,
    write_query,
)
from fairlead.client.resources import MERGE_PATCH
from fairlead.controllers.simulation.behaviour import PREFIX, BehaviourError, parse_delay
from fairlead.controllers.simulation.node_behaviour import (
    NODE_STATE,
    NOT_READY,
    PRESSURE,
    PRESSURES,
    REBOOTING,
    UNREACHABLE,
    until,
)

_LABEL = f"{PREFIX}node"  # on all simulated nodes
_ENDS_BY_ITSELF = "by itself"  # as long as the simulation takes

Annotations = dict[str, str | None]


def add_flags(parser: ArgumentReader) -> None:
    parser.add_argument("words", metavar="NAME", nargs="*")
    parser.add_label_selector()
    parser.add_switch("--all", help="all simulated nodes")
    parser.add_argument(
        "--silent",
        metavar="DURATION",
        default="",
        help="say nothing for so long, as if the machine were off",
    )
    parser.add_argument(
        "--not-ready",
        metavar="DURATION",
        default="",
        help="report for so long that it is not",
    )
    parser.add_choice(
        "--reboot",
        bare=_ENDS_BY_ITSELF,
        metavar="[=DURATION]",
        default="",
        help="boot again, which takes ten seconds unless a duration is given",
    )
    parser.add_argument(
        "--pressure",
        metavar="KIND,...[=DURATION]",
        default="",
        help=f"be short of {', '.join(PRESSURES)}, until --ready unless a duration is given",
    )
    parser.add_switch("--ready", help="end all of these")
    add_dry_run_flag(parser)
    add_manager_flag(parser, "fairlead-simulate")
    add_output_flag(parser)
    parser.set_defaults(filename=[], field_selector="", all_namespaces=False)


async def run(invocation: Invocation) -> int:
    options = invocation.options
    check_output(invocation)
    annotations, outcome = _change(options)
    _check_names(options)
    if options.all:
        options.all, options.selector = False, f"{_LABEL}=true"
    failures = Failures()
    words = ["nodes", *options.words]
    async for node in select_objects(invocation, words, failures):
        try:
            value = await _changed(invocation, node, annotations)
        except (CommandFailed, *EXPECTED) as error:
            failures.add(error)
        else:
            show_result(invocation, node.resource.type, value, outcome, note(options))
    return failures.finish()


def _check_names(options: Options) -> None:
    if sum((bool(options.words), bool(options.selector), options.all)) != 1:
        raise UsageError("name nodes, or give -l LABELS or --all: one of the three")


def _change(options: Options) -> tuple[Annotations, str]:
    """The annotations to write, and the text that says what the nodes are now."""
    states = {
        "--silent": (UNREACHABLE, options.silent, "silent"),
        "--not-ready": (NOT_READY, options.not_ready, "not ready"),
        "--reboot": (REBOOTING, options.reboot, "rebooting"),
    }
    given = {flag: state for flag, state in states.items() if state[1]}
    if len(given) > 1 or (options.ready and (given or options.pressure)):
        raise UsageError("--silent, --not-ready, --reboot and --ready exclude each other")
    if options.ready:
        return dict.fromkeys((*_both(NODE_STATE), *_both(PRESSURE))), "ready"
    annotations: Annotations = {}
    outcomes = []
    for flag, (state, text, outcome) in given.items():
        has_end = text != _ENDS_BY_ITSELF
        annotations |= _written(NODE_STATE, state, _duration(flag, text) if has_end else None)
        outcomes.append(f"{outcome} for {text}" if has_end else outcome)
    if options.pressure:
        kinds, sign, text = options.pressure.partition("=")
        _check_kinds(kinds)
        end = _duration("--pressure", text) if sign else None
        annotations |= _written(PRESSURE, kinds, end)
        outcomes.append(f"short of {kinds}" + (f" for {text}" if sign else ""))
    if not annotations:
        raise UsageError("give --silent, --not-ready, --reboot, --pressure or --ready")
    return annotations, " and ".join(outcomes)


def _both(key: str) -> tuple[str, str]:
    return key, until(key)


def _written(key: str, value: str, end: str | None) -> Annotations:
    return {key: value, until(key): end}


def _duration(flag: str, text: str) -> str:
    try:
        seconds = parse_delay(text)
    except BehaviourError as error:
        raise UsageError(f"{flag}: {error}") from None
    if not seconds:
        raise UsageError(f"{flag}: it must be longer than no time at all")
    return text


def _check_kinds(text: str) -> None:
    for kind in text.split(","):
        if kind not in PRESSURES:
            raise UsageError(f'--pressure: "{kind}" is none of {", ".join(PRESSURES)}')


async def _changed(
    invocation: Invocation, node: ResolvedObject, annotations: Annotations
) -> Mapping[str, object]:
    if (node.value["metadata"].get("labels") or {}).get(_LABEL) != "true":
        raise CommandError(f'node "{node.name}" is not simulated')
    if dry_run(invocation.options) == "client":
        return node.value
    patch = {"metadata": {"annotations": annotations}}
    query = write_query(invocation.options)
    return await node.resource.patch(node.name, patch, "", type=MERGE_PATCH, **query)
