"""How a folder of files is served."""

from __future__ import annotations

from pathlib import Path

from fairlead.console.files import served_from

PAGE = b"""
<link rel="stylesheet" href="./style.css"><script type="module" src="parts/app.js"></script>
<a href="#top"></a><a href="missing.js"></a><img src="data:image/png;base64,x"><a href="/api"></a>
"""


def lay_down(directory: Path, **others: bytes) -> None:
    (directory / "parts").mkdir(parents=True, exist_ok=True)
    (directory / "index.html").write_bytes(PAGE)
    (directory / "style.css").write_bytes(b"a {}")
    (directory / "parts" / "app.js").write_bytes(b"export {};")
    (directory / ".hidden").write_bytes(b"")
    for name, content in others.items():
        (directory / name).write_bytes(content)


def folder_of(directory: Path) -> str:
    (folder,) = {
        name.partition("/")[0] for name in served_from(directory) if name.endswith("/style.css")
    }
    return folder


def test_the_page_names_the_files_that_are_there_in_their_folder(tmp_path: Path) -> None:
    lay_down(tmp_path)
    folder = folder_of(tmp_path).encode()
    page = served_from(tmp_path)[""][0].plain
    assert b'href="/console/%b/style.css"' % folder in page
    assert b'src="/console/%b/parts/app.js"' % folder in page
    for other in (b'href="#top"', b'href="missing.js"', b'src="data:', b'href="/api"'):
        assert other in page


def test_folders_below_are_served_and_hidden_files_are_not(tmp_path: Path) -> None:
    lay_down(tmp_path)
    served = served_from(tmp_path)
    assert {name for name in served if not name.startswith(folder_of(tmp_path))} == {
        "",
        "index.html",
        "parts/app.js",
        "style.css",
    }


def test_the_folder_is_another_one_as_soon_as_anything_is_other(tmp_path: Path) -> None:
    lay_down(tmp_path / "a")
    lay_down(tmp_path / "b")
    lay_down(tmp_path / "c", **{"style.css": b"b {}"})
    lay_down(tmp_path / "d", **{"more.js": b""})
    first, same, *others = (folder_of(tmp_path / name) for name in "abcd")
    assert first == same
    assert len({first, *others}) == 3
