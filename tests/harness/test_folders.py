"""A folder goes whole, and nothing else with it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from harness import folders


def test_a_folder_goes_with_all_that_is_in_it(place: Path) -> None:
    (place / "gone/deep/er").mkdir(parents=True)
    (place / "gone/deep/file").write_text("x")
    folders.remove(place / "gone")
    assert list(place.iterdir()) == []


def test_a_link_goes_and_what_it_points_to_stays(place: Path) -> None:
    (place / "stays").mkdir()
    (place / "stays/file").write_text("x")
    (place / "gone").mkdir()
    (place / "gone/link").symlink_to(place / "stays")
    (place / "link").symlink_to(place / "stays")
    folders.remove(place / "gone")
    folders.remove(place / "link")
    assert [path.name for path in place.rglob("*")] == ["stays", "file"]


def test_what_is_not_there_is_gone_already(place: Path) -> None:
    folders.remove(place / "nothing")


@pytest.mark.parametrize("mode", [0o000, 0o500, 0o300])
def test_permissions_that_were_taken_are_in_nobodys_way(place: Path, mode: int) -> None:
    (place / "gone/deep").mkdir(parents=True)
    (place / "gone/deep/file").write_text("x")
    (place / "gone/deep").chmod(mode)
    (place / "gone").chmod(mode)
    if os.getuid():
        folders.remove(place / "gone")
    else:  # root may do anything: as nobody, then
        for path in (place, *place.parents):
            if path.owner() == "root" and path != Path("/"):
                path.chmod(path.stat().st_mode | 0o011)
        subprocess.run(["chown", "-R", "nobody", place], check=True)
        drop = "import os, sys; from pathlib import Path; from harness import folders; os.setuid(65534); folders.remove(Path(sys.argv[1]))"
        lib = Path(folders.__file__).parents[1]
        env = {"PYTHONPATH": str(lib), "PATH": os.environ["PATH"]}
        subprocess.run([sys.executable, "-c", drop, place / "gone"], check=True, env=env)
    assert list(place.iterdir()) == []
