"""Where local tools work: a folder, the environment and the sandbox of what runs there, and the run's own folder."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from fordjent.gates.protection import default_branch
from harness import agent_environment, atomic, folders, sandbox
from harness import config as toml
from harness.bounds import Bounds
from harness.git import Person
from harness.sandbox import Sandbox, View

if TYPE_CHECKING:
    from fordjent.config import Config
    from fordjent.workspaces.place import Place

HOOK = """#!/bin/sh
# git calls this also where --no-verify is given.
prefix={prefix}
IFS= read -r first < "$1"
case "$first" in
"" | "$prefix"*) exit 0 ;;
esac
if [ -d "$(git rev-parse --git-path rebase-merge)" ]; then exit 0; fi  # commits that were there, put elsewhere
{{ printf '%s ' "$prefix"; cat "$1"; }} > "$1.prefixed" && mv "$1.prefixed" "$1"
"""


@dataclass(frozen=True)
class RunFolder:
    """What a run has besides the worktree; `temporary` is its /tmp, and all that it may write to here."""

    root: Path

    @classmethod
    def of(cls, config: Config, run: str) -> RunFolder:
        return cls(config.state_dir / "runs" / run)

    @property
    def temporary(self) -> Path:
        return self.root / "tmp"

    @property
    def hooks(self) -> Path:
        return self.root / "hooks"

    @property
    def outputs(self) -> Path:
        """Where what programs print is kept until it is told."""
        return self.root / "outputs"

    @property
    def socket(self) -> Path:
        return self.root / "socket" / "tools"

    def make(self, commit_prefix: str) -> None:
        """Repeatable: a run that goes on after a restart finds its files."""
        for folder in (self.root, self.temporary, self.outputs, self.socket.parent):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if commit_prefix:
            hook = HOOK.format(prefix=shlex.quote(commit_prefix))
            atomic.write_bytes(self.hooks / "prepare-commit-msg", hook.encode(), 0o755, durable=False)
        else:
            folders.remove(self.hooks)

    def remove(self) -> None:
        folders.remove(self.root)


@dataclass(frozen=True)
class Ground:
    """`folder` is real (no link on the way to it). `environment` is all that a program gets.

    `protected`: branches on which nothing is committed; names, or patterns as `release/*`.
    """

    folder: Path
    run_folder: RunFolder
    environment: Mapping[str, str]
    sandbox: Sandbox
    view: View
    protected: tuple[str, ...] = ()
    bounds: Bounds = field(default_factory=Bounds)

    @classmethod
    def of_session(cls, config: Config, place: Place, run: str, person: Person | None = None) -> Ground:
        """A session's worktree: it and work.git are writable, and nothing else of ours can be seen.

        Raises:
            BadConfig: the sandbox that was asked for cannot be had.
        """
        made = cls.make(
            config,
            place.path,
            run,
            person=person or config.person,
            writable=[place.work],
            readable=place.readable,
        )
        default = default_branch(place.control)
        return replace(made, protected=(*made.protected, default)) if default else made

    @classmethod
    def make(
        cls,
        config: Config,
        folder: Path,
        run: str,
        *,
        person: Person,
        writable: Sequence[Path] = (),
        readable: Sequence[Path] = (),
    ) -> Ground:
        """A folder, and what else may be written and read by what runs there. Files are made: in a thread.

        Raises:
            BadConfig: the sandbox that was asked for cannot be had.
        """
        run_folder = RunFolder.of(config, run)
        run_folder.make(config.agent.commit_prefix)
        folder = folder.resolve()
        passed = agent_environment.inherited(
            os.environ, config.agent_environment.pass_, f"{config.path}: agent_environment.pass"
        )
        ours = agent_environment.own(
            person=person,
            folders=[folder.parent, run_folder.root],
            temporary=run_folder.temporary,
            hooks=run_folder.hooks if config.agent.commit_prefix else None,
        )
        with toml.naming(config.path):
            chosen = sandbox.choose(config.sandbox.backend, network=config.sandbox.network)
        return cls(
            folder=folder,
            run_folder=run_folder,
            environment={**passed, **config.agent_environment.set, **ours},
            sandbox=chosen,
            view=View(
                writable=[
                    folder,
                    run_folder.temporary,
                    *writable,
                    *(config.folder(path) for path in config.sandbox.writable),
                ],
                readable=[run_folder.hooks, run_folder.socket.parent, *readable],
                hidden=hidden(config),
                temporary=run_folder.temporary,
                network=config.sandbox.network,
            ),
            protected=tuple(config.policy.protected_branches),
            bounds=config.sandbox.bounds,
        )

    def wrap(self, command: Sequence[str]) -> list[str]:
        """The command that runs `command` in here."""
        return self.sandbox.wrap(command, self.view, self.folder)


def hidden(config: Config) -> list[Path]:
    """What no program of an agent's may see: configuration, state with its credential, and a person's own secrets."""
    found = [config.path, config.state_dir]
    if config.state.database.startswith("sqlite:///"):
        database = Path(config.state.database.removeprefix("sqlite:///"))
        found += [database.with_name(database.name + end) for end in ("", "-wal", "-shm")]
    return [*found, *(Path.home() / name for name in sandbox.CREDENTIALS)]
