"""A copy of the state folder while the server runs: whole, consistent, and without a secret.

What it holds can be put in the place of a state folder as it is. The database is one moment of it; the
repositories are copied after that, and by git, so that they have at least what the database tells of.
Left out: tokens, worktrees (a session makes its own anew from its branch), folders of runs, locks.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import msgspec

from fordjent.config import Config
from fordjent.store import connecting
from harness import folders
from harness.errors import BadConfig, TryLater
from harness.git import Git, init_bare

LEFT_OUT = frozenset(("credentials", "tokens", "repositories", "runs"))
PAIR = {"control.git": "control.git", "work.git": "work-view.git"}
"""A repository, and by which git dir it is read: work.git's own settings are an agent's to write."""


class Copied(msgspec.Struct, frozen=True):
    path: str
    database_bytes: int
    repositories: int
    files: int


def back_up(config: Config, target: Path) -> Copied:
    """
    Raises:
        BadConfig: `target` is there already, lies in the state folder, or there is nothing to copy.
        TryLater: the disk is full, or git failed.
    """
    source = connecting.file_of(config.database_url)
    target = target.absolute()
    if target.exists():
        raise BadConfig(
            f"{target} is there already", hint="name a folder that is not, e.g. with the date in it"
        )
    if target.is_relative_to(config.state_dir):
        raise BadConfig(f"{target} is in the state folder itself", hint="name one on another disk")
    if not source.is_file():
        raise BadConfig(
            f"{source} is not there: there is nothing to copy", hint="see state.dir in config.toml"
        )
    partial = target.with_name(f"{target.name}.partial")
    folders.remove(partial)
    partial.mkdir(mode=0o700, parents=True)
    size = _database(source, partial / "fordjent.db")
    names = sorted((config.state_dir / "repositories").glob("*/*"))
    for root in names:
        _repository(root, partial / "repositories" / root.parent.name / root.name)
    files = _rest(config.state_dir, partial, source)
    os.sync()
    partial.rename(target)
    return Copied(str(target), size, len(names), files)


def _database(source: Path, copy: Path) -> int:
    """In one step: it is one moment, and no writer has to wait for it. Its size in bytes."""
    os.close(os.open(copy, os.O_CREAT | os.O_WRONLY | os.O_EXCL, 0o600))
    with (
        closing(sqlite3.connect(source, timeout=connecting.BUSY_SECONDS)) as reading,
        closing(sqlite3.connect(copy)) as writing,
    ):
        try:
            reading.execute("PRAGMA query_only=ON")
            reading.backup(writing)
            writing.execute("PRAGMA journal_mode=DELETE")  # one file, without companions
            sound = writing.execute("PRAGMA quick_check(1)").fetchone()[0]
        except sqlite3.Error as error:
            raise TryLater(
                f"database: {error}", hint="see that the disks have room", code="backup_failed"
            ) from error
    if sound != "ok":
        raise BadConfig(f"{source} is damaged: {sound}", hint="put an earlier backup in its place")
    return copy.stat().st_size


def _repository(root: Path, copy: Path) -> None:
    for name, read_by in PAIR.items():
        if not (root / name / "HEAD").exists() or not (root / read_by).exists():
            continue
        init_bare(copy / name)
        if name == "work.git":  # borrows, as the one that is copied does
            (copy / name / "objects/info").mkdir(exist_ok=True)
            (copy / name / "objects/info/alternates").write_text("../../control.git/objects\n", "utf-8")
        quiet = ("--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance")
        git = Git(copy / name, config={"protocol.file.allow": "always"})
        git.run("fetch", *quiet, str(root / read_by), "+refs/*:refs/*")


def _rest(state_dir: Path, copy: Path, database: Path) -> int:
    """Plain files, e.g. the memory's; links are not followed. How many."""
    count = 0
    for folder, names, files in os.walk(state_dir):
        here = Path(folder)
        if here == state_dir:
            names[:] = [name for name in names if name not in LEFT_OUT]
        for name in files:
            path = here / name
            is_database = path.parent == database.parent and name.startswith(database.name)
            if is_database or name.endswith(".lock") or path.is_symlink() or not path.is_file():
                continue
            to = copy / path.relative_to(state_dir)
            to.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            shutil.copy2(path, to)
            count += 1
    return count
