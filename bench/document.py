"""`python -m bench.document`: writes a table of docs/performance.md from the results of a run.

Of `python -m bench`, or with `--beside` of `python -m bench.beside`. The results are kept beside
this file; a test checks that both tables follow from them.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from bench.pace import REFERENCE_TURN
from bench.report import number
from bench.targets import BESIDE, TARGETS, Target

RESULTS = Path(__file__).with_name("results.json")
PUBLISHED = Path(__file__).with_name("published.json")
PUBLISHED_BESIDE = Path(__file__).with_name("beside.json")
PAGE = Path(__file__).resolve().parent.parent / "docs" / "performance.md"
BEGIN, END = "<!-- bench: the table -->\n", "<!-- bench: its end -->\n"
BEGIN_BESIDE = "<!-- bench: the table beside a reference -->\n"
HEAD = ["case", "ours", "scaled", "target", "reference", "ratio", "bottleneck"]
WHOLE_SECONDS = 3.0  # per case, unless overridden on the command line
ELSEWHERE = {"etcd-alone"}  # not measured in runs on the embedded store
STARTS = {"start-fresh", "start-filled"}
KEPT = ("name", "figure", "best", "unit", "limit", "rate", "error")


def rendered(document: dict[str, Any]) -> str:
    """Return the table of a run, with time and machine."""
    rows = {row["name"]: row for row in document["rows"]}
    turn = document.get("turn")
    pace = REFERENCE_TURN / turn if turn else 1.0
    lines = [HEAD, ["---"] * len(HEAD)]
    lines += [_cells(rows[name], target, pace) for name, target in TARGETS.items() if name in rows]
    table = "".join(f"| {' | '.join(cells)} |\n" for cells in lines)
    day, python = document["when"][:10], document["python"]
    note = f"Measured on {day} with CPython {python}, {document['seconds']:g} s a case"
    if document["parts"] > 1:
        note += f", in {document['parts']} parts, possibly of different sources"
    load = document["load"]
    note += ", load of the machine not recorded." if load is None else f", load before {load:.1f}."
    if turn:
        processor = document["machine"].rpartition("-with-")[0].rpartition("-")[2]
        note += (
            f" One turn of the fixed loop (`bench/pace.py`) took {turn:.0f} ns at best on this"
            f" machine ({processor}), and {REFERENCE_TURN} ns on the kind of machine that the"
            " reference was measured on. *Scaled* is the CPU time here times the ratio of the two."
        )
    if document["seconds"] < WHOLE_SECONDS:
        note += " **A trial with short windows: do not rely on these figures.**"
    return f"{table}\n{note}\n"


def _cells(row: dict[str, Any], target: Target, pace: float) -> list[str]:
    unit = row["unit"]
    ours = row["figure"] if row["best"] is None else row["best"]
    # Latencies depend on the machine's load, and memory is the same on any machine.
    paced = ours * pace if unit == "µs" or row["name"] in STARTS else None
    limit = row["limit"] or target.limit
    shown_limit = number(limit, unit)
    slow = False
    if target.min_rate is not None:
        shown_limit, limit = f"{number(target.min_rate)}/s", None
        slow = row["rate"] < target.min_rate
    compared = ours if paced is None else paced
    ratio = f"{compared / target.reference:.3f}" if target.reference else ""
    # A limit that was measured in the same run is scaled like the figure.
    paced_limit = limit * pace if row["limit"] and limit else limit
    return [
        target.title,
        _marked(ours, unit, limit, slow),
        _marked(paced, unit, paced_limit),
        shown_limit,
        number(target.reference, unit),
        ratio,
        target.bounds,
    ]


def _marked(value: float | None, unit: str, limit: float | None, missed: bool = False) -> str:
    text = number(value, unit)
    return f"**{text}**" if missed or (limit and value is not None and value > limit) else text


def rendered_beside(document: dict[str, Any]) -> str:
    """Return the table of a run beside a reference, with time and machine."""
    rows = {row["name"]: row for row in document["rows"]}
    head = ["case", "ours", document["reference"], "ratio", "target"]
    lines = [head, ["---"] * len(head)]
    for name, row in rows.items():
        title = BESIDE.get(name) or TARGETS[name].title
        figures = [number(row[who], row["unit"]) for who in ("ours", "reference")]
        ratio, limit = row["ratio"], row["limit"]
        shown = f"**{ratio:.3f}**" if limit and ratio > limit else f"{ratio:.3f}"
        lines.append([title, *figures, shown, number(limit)])
    table = "".join(f"| {' | '.join(cells)} |\n" for cells in lines)
    day, python, machine = document["when"][:10], document["python"], document["machine"]
    note = f"Measured on {day} with CPython {python} on {machine}, {document['seconds']:g} s a case"
    return f"{table}\n{note}, load before {document['load']:.1f}.\n"


def joined(runs: list[dict[str, Any]]) -> dict[str, Any]:
    """Join partial runs; rows of later parts replace those of earlier ones."""
    rows = {row["name"]: row for run in runs for row in run["rows"]}
    seconds = min(run["seconds"] for run in runs)
    recorded = all("load" in run for run in runs)
    load = max(run["load"] for run in runs) if recorded else None
    settings = {"seconds": seconds, "load": load, "parts": len(runs), "rows": list(rows.values())}
    return {**runs[-1], **settings}


def missing(document: dict[str, Any]) -> list[str]:
    """Return the cases that are missing or failed in a run."""
    good = {row["name"] for row in document["rows"] if not row["error"]}
    return [name for name in TARGETS if name not in good | ELSEWHERE]


def page_with(page: str, begin: str, table: str) -> str:
    """Insert the table between its marks in the page."""
    before, _, rest = page.partition(begin)
    _, _, after = rest.partition(END)
    return f"{before}{begin}{table}{END}{after}"


def main() -> int:
    """Write the table; return 1 if the run is incomplete."""
    parser = argparse.ArgumentParser(prog="python -m bench.document", description=__doc__)
    parser.add_argument("results", type=Path, nargs="*", default=[RESULTS])
    parser.add_argument("--beside", action="store_true", help="the table beside a reference")
    options = parser.parse_args()
    if options.beside:
        table = rendered_beside(json.loads(PUBLISHED_BESIDE.read_text()))
        PAGE.write_text(page_with(PAGE.read_text(), BEGIN_BESIDE, table))
        return 0
    document = joined([json.loads(file.read_text()) for file in options.results])
    if absent := missing(document):
        print(f"bench: no figures of {', '.join(absent)}", file=sys.stderr)
        return 1
    rows = [{key: row[key] for key in KEPT} for row in document["rows"]]
    settings = ("when", "python", "machine", "seconds", "load", "turn", "parts")
    kept = {key: document[key] for key in settings if key in document}
    PUBLISHED.write_text(json.dumps({**kept, "rows": rows}, indent=1) + "\n")
    PAGE.write_text(page_with(PAGE.read_text(), BEGIN, rendered(document)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
