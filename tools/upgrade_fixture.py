"""Writes the stores of a release that later releases must be able to open.

Runs the servers of the sources and packs what they leave into tests/data/upgrades, for each dialect
and storage. Run it once for each release, before it is published.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from support.releases import Store, write_store

from fairlead import __version__
from fairlead.base.dialect import DIALECTS

ROOT = Path(__file__).resolve().parent.parent


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--release", default=__version__, help="name of the release")
    parser.add_argument(
        "--sources",
        type=Path,
        default=ROOT / "src",
        help="directory with the package fairlead of that release",
    )
    options = parser.parse_args()
    for dialect in DIALECTS:
        for storage in ("sqlite", "etcd"):
            store = Store(options.release, dialect, storage)
            write_store(store, {"PYTHONPATH": str(options.sources.resolve())}, store.file)
            print(f"{store.file.relative_to(ROOT)}: {store.file.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
