"""read_file, write_file and edit_file, and the paths that they refuse."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from tests.support.grounds import SECRET, Workbench


def test_a_file_is_shown_with_the_numbers_of_its_lines(bench: Workbench) -> None:
    assert bench.use("read_file", path="hello.txt").text == "     1\tone\n     2\ttwo\n     3\tthree"


def test_a_long_file_comes_in_pages_that_meet(bench: Workbench) -> None:
    (bench.folder / "long.txt").write_text("".join(f"line {n}\n" for n in range(1, 101)))

    first = bench.use("read_file", path="long.txt", limit=60).text
    second = bench.use("read_file", path="long.txt", offset=61).text

    assert "60\tline 60" in first and "line 61" not in first and "offset 61" in first
    assert second.startswith("    61\tline 61") and second.endswith("100\tline 100")


def test_lines_that_are_too_long_are_cut_and_the_next_ones_are_shown(bench: Workbench) -> None:
    (bench.folder / "wide.txt").write_text("x" * 3_000_000 + "\nafter\n")

    shown = bench.use("read_file", path="wide.txt").text

    assert "this line is longer" in shown and shown.endswith("     2\tafter") and len(shown) < 5_000


def test_a_page_of_a_huge_file_is_short(bench: Workbench) -> None:
    (bench.folder / "huge.txt").write_text("0123456789" * 9 + "\n" + ("0123456789" * 9 + "\n") * 200_000)

    shown = bench.use("read_file", path="huge.txt", limit=10_000).text

    assert len(shown) < 32_000 and "go on with offset" in shown


def test_binary_files_and_folders_are_told_apart_from_text(bench: Workbench) -> None:
    (bench.folder / "image").write_bytes(b"\x89PNG\0\0")
    (bench.folder / "sub").mkdir()

    assert bench.use("read_file", path="image").text == "image is a binary file of 6 bytes"
    assert bench.use("read_file", path=".").text.splitlines()[1:] == [".git/", "hello.txt", "image", "sub/"]


def test_bytes_that_are_no_text_do_not_end_the_reading(bench: Workbench) -> None:
    (bench.folder / "latin.txt").write_bytes("ä\n".encode("latin-1"))

    assert bench.use("read_file", path="latin.txt").text == "     1\t\N{REPLACEMENT CHARACTER}"


def test_secrets_in_files_are_not_shown(bench: Workbench) -> None:
    (bench.folder / "env").write_text(f"TOKEN={SECRET}\n")

    assert bench.use("read_file", path="env").text == "     1\tTOKEN=[redacted]"


def test_a_file_is_written_whole_and_keeps_its_mode(bench: Workbench) -> None:
    script = bench.folder / "run.sh"
    script.write_text("old")
    script.chmod(0o755)

    result = bench.use("write_file", path="run.sh", content="#!/bin/sh\necho ä\n")

    assert result.changed and not result.failed
    assert script.read_text() == "#!/bin/sh\necho ä\n" and script.stat().st_mode & 0o777 == 0o755
    assert sorted(each.name for each in bench.folder.iterdir()) == [".git", "hello.txt", "run.sh"]


def test_what_was_written_is_read_and_folders_are_made(bench: Workbench) -> None:
    bench.use("write_file", path="a/b/c.txt", content="new\n")

    assert bench.use("read_file", path="a/b/c.txt").text == "     1\tnew"
    assert (bench.folder / "a/b/c.txt").stat().st_mode & 0o777 == 0o644


def test_a_piece_that_stands_there_once_is_replaced(bench: Workbench) -> None:
    result = bench.use("edit_file", path="hello.txt", old_text="two", new_text="2")

    assert result.text == "replaced once in hello.txt" and result.changed
    assert (bench.folder / "hello.txt").read_text() == "one\n2\nthree\n"


def test_a_piece_that_stands_there_often_is_replaced_only_on_purpose(bench: Workbench) -> None:
    refused = bench.use("edit_file", path="hello.txt", old_text="e", new_text="E")
    assert refused.failed and "3 times" in refused.text

    bench.use("edit_file", path="hello.txt", old_text="e", new_text="E", replace_all=True)
    assert (bench.folder / "hello.txt").read_text() == "onE\ntwo\nthrEE\n"


@pytest.mark.parametrize(
    ("content", "old", "why"),
    [
        (b"one\r\ntwo\r\n", "one\ntwo", "CR LF"),
        (b"if x:\n\tgo()\n", "if x:\n    go()", "blanks"),
        (b"key = hidden", "key = [redacted]", "[redacted]"),
        (b"one", "other", "read the file again"),
    ],
)
def test_a_piece_that_is_not_found_is_explained(bench: Workbench, content: bytes, old: str, why: str) -> None:
    (bench.folder / "file").write_bytes(content)

    result = bench.use("edit_file", path="file", old_text=old, new_text="new")

    assert result.failed and why in result.text and (bench.folder / "file").read_bytes() == content


OUTSIDE = ["../secret", "/etc/hostname", "a/../../secret", "out", "folder-out/secret", "..", "chain"]
GITS = [".git", ".git/config", ".GIT/config", "sub/.git/hooks/post-commit", "to-git/config", "./.git"]


@pytest.fixture
def trapped(bench: Workbench) -> Workbench:
    """Links that lead out, and into .git."""
    (bench.folder.parent / "secret").write_text("outside")
    (bench.folder / "out").symlink_to("../secret")
    (bench.folder / "folder-out").symlink_to("..")
    (bench.folder / "chain").symlink_to("out")
    (bench.folder / "to-git").symlink_to(".git")
    return bench


@pytest.mark.parametrize("path", OUTSIDE + GITS)
def test_nothing_outside_and_nothing_of_gits_is_read_or_written(trapped: Workbench, path: str) -> None:
    before = {each: each.read_bytes() for each in trapped.folder.rglob("*") if each.is_file()}

    for result in (
        trapped.use("read_file", path=path),
        trapped.use("write_file", path=path, content="planted"),
        trapped.use("edit_file", path=path, old_text="outside", new_text="planted"),
    ):
        assert result.failed and ("leads out" in result.text or "git's own" in result.text), result.text

    assert (trapped.folder.parent / "secret").read_text() == "outside"
    assert {each: each.read_bytes() for each in trapped.folder.rglob("*") if each.is_file()} == before


@pytest.mark.parametrize("path", ["a\0b", "", "x" * 5_000, "x" * 300, "hello.txt/below", "\udcff"])
def test_names_that_are_none_are_refused_in_words(bench: Workbench, path: str) -> None:
    assert bench.use("read_file", path=path).text.startswith("Error: ")
    assert bench.use("write_file", path=path, content="x").text.startswith("Error: ")


def test_links_that_stay_inside_are_followed(bench: Workbench) -> None:
    (bench.folder / "link").symlink_to("hello.txt")

    assert "two" in bench.use("read_file", path="link").text
    assert not bench.use("write_file", path="link", content="new").failed
    assert (bench.folder / "hello.txt").read_text() == "new" and (bench.folder / "link").is_symlink()


def test_an_absolute_path_inside_is_as_good_as_a_relative_one(bench: Workbench) -> None:
    assert "two" in bench.use("read_file", path=str(bench.folder / "hello.txt")).text


def test_pipes_and_sockets_do_not_hold_the_call(bench: Workbench, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(bench.folder / "pipe")
    monkeypatch.chdir(bench.folder)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket")

        for path in ("pipe", "socket"):
            assert "no regular file" in bench.use("read_file", path=path).text
            assert "no regular file" in bench.use("write_file", path=path, content="x").text


def test_a_link_that_is_put_in_the_way_after_the_look_leads_nowhere(
    bench: Workbench, monkeypatch: pytest.MonkeyPatch
) -> None:
    from fordjent.tools import paths

    (bench.folder.parent / "hello.txt").write_text("outside")
    (bench.folder / "sub").mkdir()
    (bench.folder / "sub/hello.txt").write_text("inside")
    real = paths.real

    def swapped(folder: Path, named: str) -> Path:
        found = real(folder, named)
        (folder / "sub").rename(folder / "moved")
        (folder / "sub").symlink_to("..")
        return found

    monkeypatch.setattr(paths, "real", swapped)
    with (
        pytest.raises(paths.NoFile, match="Not a directory"),
        paths.reading(bench.folder, "sub/hello.txt"),
    ):
        pass
