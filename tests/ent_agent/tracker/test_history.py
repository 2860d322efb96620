"""Authors and times out of the history: what `git log -- FOLDER` lists last, for many folders at once."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from ent_agent.tracker.format import Instant
from ent_agent.tracker.history import Origin, origins
from harness.git import Git
from tests.support.trackers import Repository

FOLDERS = [b"a", b"b", b"a/comments/k", b"b/comments/k", b"with space", b"*"]


def asked_of_git(git: Git, commit: str, folder: bytes) -> Origin | None:
    """The rule as entomologist has it: one `git log` for one folder, the last line."""
    lines = git.run(
        "--literal-pathspecs", "log", "--format=%at %an <%ae>", commit, "--", folder.decode()
    ).text
    if not lines:
        return None
    seconds, author = lines.splitlines()[-1].split(" ", 1)
    return Origin(author, Instant(int(seconds)))


def random_history(repository: Repository, seed: int) -> str:
    """About twenty commits with merges, by several people, clocks not always in order; the id of the last."""
    choose = random.Random(seed)
    stream, files, clock = b"", {0: {}}, 1_700_000_000  # type: ignore[var-annotated]
    for mark in range(1, choose.randint(6, 22)):
        clock += choose.choice((0, 60, 60, 3600, -30))
        parents = [] if mark == 1 else [max(1, mark - choose.choice((1, 1, 1, 2, 4)))]
        if mark > 3 and choose.random() < 0.3:
            parents += [other for other in [choose.randint(1, mark - 1)] if other not in parents]
        content = dict(files[parents[0]] if parents else {})
        for other in parents[1:]:
            content = {**files[other], **content} if choose.random() < 0.7 else dict(files[other])
        for _ in range(choose.randint(0, 2)):
            path = choose.choice(FOLDERS).decode() + choose.choice(("/description", "/state"))
            content[path] = str(choose.randint(0, 3))
        files[mark] = content
        who = f"P{choose.randint(0, 9)} <p@x>"
        stream += f"commit refs/heads/line{mark}\nmark :{mark}\nauthor {who} {clock - 5} +0100\ncommitter {who} {clock} +0100\ndata 1\nx\n".encode()
        for place, parent in enumerate(parents):
            stream += f"{'merge' if place else 'from'} :{parent}\n".encode()
        stream += b"deleteall\n"
        for path, text in content.items():
            stream += f'M 100644 inline "{path}"\ndata {len(text)}\n{text}\n'.encode()
    repository.git("fast-import", "--quiet", "--force", stdin=stream)
    return repository.git("rev-parse", f"line{mark}").out.strip()


@pytest.mark.parametrize("seed", range(12))
def test_one_look_gives_what_one_log_for_each_folder_gives(place: Path, seed: int) -> None:
    repository = Repository.make(place / "r")
    git = Git(repository.git_dir)
    for round_ in range(4):
        commit = random_history(repository, seed * 100 + round_)
        present = git.run("ls-tree", "-r", "--name-only", "-z", commit).stdout.split(b"\0")
        folders = [name for name in FOLDERS if any(path.startswith(name + b"/") for path in present)]
        expected = {name: asked_of_git(git, commit, name) for name in folders}
        assert origins(git, commit, folders) == {name: found for name, found in expected.items() if found}


def test_many_folders_are_looked_up_without_naming_them_all(place: Path) -> None:
    repository = Repository.make(place / "r")
    tip = repository.plant({f"{number:04}/description": "x" for number in range(400)})
    found = origins(Git(repository.git_dir), tip, [b"%04d" % number for number in range(400)])
    assert len(found) == 400 and set(found.values()) == {Origin("P <p@x>", Instant(1_700_000_000))}


def test_a_folder_that_never_was_has_no_origin(place: Path) -> None:
    repository = Repository.make(place / "r")
    tip = repository.plant({"a/description": "x"})
    assert origins(Git(repository.git_dir), tip, [b"nowhere"]) == {}
    assert origins(Git(repository.git_dir), tip, []) == {}
