"""What stands around an agent in a run: its folders, its environment, its view of the file system."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ent_agent import state
from ent_agent.config import Config
from ent_agent.records import IssueSection, WorktreeSection
from ent_agent.running.runs import Run
from harness import adapter as adapters
from harness import agent_environment, atomic, folders, sandbox, shipped
from harness.adapter import Adapter
from harness.errors import BadConfig, BadData
from harness.invocation import Setting
from harness.sandbox import View

SHIM = """#!/bin/sh
exec {python} -I -c {program} "$@"
"""
PATH_SCRIPT = """# Login shells, which some agent CLIs use for each command, set PATH anew; bash reads this after that.
case "$PATH" in {folder}:*) ;; *) PATH={folder}:$PATH ;; esac
"""
PROGRAM = (
    "import sys; sys.path.insert(0, {library!r}); sys.argv[0] = 'ent'; "
    "from ent_agent.commands.ent import main; main()"
)


@dataclass(frozen=True)
class RunFolder:
    """A run's folder on disk. `agent` is the part that the agent itself may write to."""

    root: Path

    @property
    def stdout(self) -> Path:
        return self.root / "stdout.log"

    @property
    def stderr(self) -> Path:
        return self.root / "stderr.log"

    @property
    def setup(self) -> Path:
        return self.root / "setup.log"

    @property
    def agent(self) -> Path:
        return self.root / "agent"

    @property
    def prompt(self) -> Path:
        return self.agent / "prompt.md"

    @property
    def temporary(self) -> Path:
        return self.agent / "tmp"

    @property
    def programs(self) -> Path:
        return self.agent / "bin"

    @property
    def ent(self) -> Path:
        return self.programs / "ent"

    @property
    def path_script(self) -> Path:
        return self.programs / "path.sh"

    def make(self) -> None:
        """Anew, also over what a killed start left."""
        folders.remove(self.agent)
        for folder in (self.temporary, self.programs):
            folder.mkdir(mode=0o700, parents=True)
        library = str(Path(__file__).resolve().parents[2])
        shim = SHIM.format(
            python=shlex.quote(sys.executable), program=shlex.quote(PROGRAM.format(library=library))
        )
        atomic.write_bytes(self.ent, shim.encode(), 0o755)
        path_script = PATH_SCRIPT.format(folder=shlex.quote(str(self.programs)))
        atomic.write_bytes(self.path_script, path_script.encode())

    def remove_temporary(self) -> None:
        folders.remove(self.temporary)
        folders.remove(self.programs)


def folder(config: Config, run: Run) -> RunFolder:
    return RunFolder(state.of(config).run(run.id))


def load_adapter(config: Config) -> Adapter:
    """The adapter that `agent_type` names.

    Raises:
        BadConfig: there is none, or it is wrong; names file and key.
    """
    folders = [shipped.folder("agents")]
    if config.agents_dir:
        folders.insert(0, config.folder(config.agents_dir))
    name = config.agent_type
    is_path = "/" in name or name.endswith(".toml")
    named = f"{config.path}: agent_type"
    return adapters.load(str(config.folder(name)) if is_path else name, folders, named)


def config_dir(config: Config, adapter: Adapter) -> Path:
    """The agent CLI's own home; made if missing.

    Raises:
        BadConfig: it is where the key is.
    """
    place = config.folder(config.agent_config_dir or f"~/.config/ent-agent/{adapter.name}")
    if place.resolve() == config.folder(config.ssh_key_dir).resolve():
        raise BadConfig(
            f"{config.path}: agent_config_dir: is ssh_key_dir too; the agent must not get at the key"
        )
    place.mkdir(mode=0o700, parents=True, exist_ok=True)
    return place


def setting(
    config: Config, adapter: Adapter, run: Run, issue: IssueSection, worktree: WorktreeSection, prompt: str
) -> Setting:
    """What the adapter's placeholders stand for.

    Raises:
        BadData: the record's worktree is not the issue's.
    """
    places = folder(config, run)
    return Setting(
        prompt=prompt,
        prompt_file=places.prompt,
        worktree=Path(worktree.path),
        git_dir=checked_git_dir(config, issue.id, Path(worktree.path)),
        git_common_dir=state.of(config).work,
        config_dir=config_dir(config, adapter),
        run_dir=places.agent,
        issue_id=state.key(issue.id),
        model=config.model,
        max_turns=config.limits.max_turns,
    )


def checked_git_dir(config: Config, issue_id: str, worktree: Path) -> Path:
    """The worktree's own folder in work.git, when it is the issue's worktree and nothing else."""
    places = state.of(config)
    if worktree != places.worktree(issue_id) or worktree.is_symlink() or not worktree.is_dir():
        raise BadData(
            f"{worktree} is not the worktree of issue {issue_id}",
            hint=f"run `ent-agent-worktree --issue {issue_id}`",
        )
    pointer = worktree / ".git"
    text = pointer.read_text("utf-8", "surrogateescape") if pointer.is_file() else ""
    git_dir = Path(text.removeprefix("gitdir:").strip())
    if not text.startswith("gitdir:") or not (worktree / git_dir).resolve().is_relative_to(
        (places.work / "worktrees").resolve()
    ):
        raise BadData(
            f"{worktree} does not belong to {places.work}",
            hint=f"run `ent-agent-worktree --issue {issue_id}`",
        )
    return (worktree / git_dir).resolve()


def environment(
    config: Config, adapter: Adapter, run: Run, issue_id: str, variables: Mapping[str, str]
) -> dict[str, str]:
    """All that the agent's environment has, but ENT_RUN_ID; `variables` are the adapter's own.

    Raises:
        BadConfig: a variable is to be passed that never is.
    """
    places, run_folder = state.of(config), folder(config, run)
    passed = agent_environment.inherited(
        os.environ, adapter.pass_environment, f"{adapter.path}: pass_environment"
    ) | agent_environment.inherited(
        os.environ, config.agent_environment.pass_, f"{config.path}: agent_environment.pass"
    )
    env = {**passed, **variables, **config.agent_environment.set}
    ours = agent_environment.own(
        person=config.person, folders=[places.worktrees, run_folder.root], temporary=run_folder.temporary
    )
    return {
        **env,
        **ours,
        "PATH": f"{run_folder.programs}:{env['PATH']}",
        "BASH_ENV": str(run_folder.path_script),
        "ENT_AGENT_ISSUES_REF": run.line_ref,
        "ENT_AGENT_GIT_DIR": str(places.work),
        "ENT_AGENT_IN_RUN": issue_id,
    }


def view(config: Config, adapter: Adapter, setting: Setting, program: str) -> View:
    """What the sandbox shows: the worktree, work.git, the agent's own home; neither key nor state of others."""
    places = state.of(config)
    home = Path.home()
    return View(
        writable=[
            setting.worktree,
            setting.git_common_dir,
            setting.config_dir,
            setting.run_dir,
            *(config.folder(path) for path in config.sandbox.writable),
        ],
        readable=[
            places.control / "objects",
            setting.run_dir / "bin",
            *sandbox.shared_part(Path(program)),
            *sandbox.shared_part(adapter.path),
        ],
        hidden=[
            config.folder(config.ssh_key_dir),
            config.folder(config.state_dir),
            config.path,
            *(home / name for name in sandbox.CREDENTIALS),
        ],
        temporary=setting.run_dir / "tmp",
        network=config.sandbox.network,
    )
