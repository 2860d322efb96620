"""Which of worktree.setup is still to be run in a worktree: once in each, and again when it changed."""

from __future__ import annotations

import hashlib
import shlex
from pathlib import Path

import msgspec

from ent_agent import state
from ent_agent.config import Config
from harness import atomic
from harness.errors import BadConfig


def commands(config: Config) -> list[list[str]]:
    """The commands as words; no shell has a part in it.

    Raises:
        BadConfig: one has an open quote, or is empty.
    """
    return [_words(config, command) for command in config.worktree.setup]


def is_due(config: Config, worktree: Path) -> bool:
    if not config.worktree.setup:
        return False
    done = _path(config, worktree)
    return not done.is_file() or done.read_text("utf-8") != _stamp(config, worktree)


def note_done(config: Config, worktree: Path) -> None:
    atomic.write_bytes(_path(config, worktree), _stamp(config, worktree).encode())


def _path(config: Config, worktree: Path) -> Path:
    return state.of(config).root / "setup" / worktree.name


def _stamp(config: Config, worktree: Path) -> str:
    """Another for each worktree that was made at this path, and for each change of the commands."""
    made = (worktree / ".git").stat()
    what = msgspec.json.encode([config.worktree.setup, worktree.stat().st_ino, made.st_ino, made.st_mtime_ns])
    return hashlib.sha256(what).hexdigest()


def _words(config: Config, command: str) -> list[str]:
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise BadConfig(f"{config.path}: worktree.setup: {command!r}: {error}") from error
    if not words:
        raise BadConfig(f"{config.path}: worktree.setup: has an empty command")
    return words
