"""The flags `-f`, `-k` and `-R`, which name files with objects; `manifests` reads the files."""

from __future__ import annotations

from fairlead.cli.arguments import ArgumentReader


class Kustomization(str):
    """The folder of -k, among the files of -f."""

    __slots__ = ()


def add_file_flags(parser: ArgumentReader, what: str) -> None:
    parser.add_argument(
        "-f",
        "--filename",
        metavar="FILE",
        action="append",
        default=[],
        help=f"file, folder or URL with the objects to {what}; - is the standard input",
    )
    parser.add_argument(
        "-k",
        "--kustomize",
        metavar="FOLDER",
        dest="filename",
        action="append",
        type=Kustomization,
        help=f"folder with a kustomization whose objects to {what}",
    )
    parser.add_switch("-R", "--recursive", help="also read subfolders of the folders in -f")
