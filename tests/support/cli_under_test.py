"""A real agent CLI, as a run starts it: adapter, environment, supervisor, and what is read of its output."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import pytest

from harness import adapter as adapters
from harness import agent_environment, agent_output, invocation, placeholders, process, shipped, supervision
from harness.agent_output import Said
from harness.git import Git, Person, environment, init_bare
from harness.invocation import Setting
from harness.supervision import Ended, EndedBy, Limits

ROBO = Person("Robo", "robo@example.org")
PROMPT = "Please create hello.txt, and commit it."


@dataclass
class Ran:
    """A run that is over. `worktree` and `run_dir` are as the agent left them."""

    ended: Ended
    said: Said
    worktree: Path
    run_dir: Path
    stdout: str
    stderr: str

    def git(self, *words: str) -> str:
        done = process.run(["git", "-C", str(self.worktree), *words], env=environment())
        assert done.ok, done.error_text
        return done.text.strip()


@dataclass
class CliUnderTest:
    """`place` holds its home, a repository with a linked worktree, and the folder of the run."""

    name: str
    place: Path
    model: str = ""
    variables: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.adapter = adapters.load(self.name, [shipped.folder("agents")])
        self.home = self.place / "agent home"
        self.home.mkdir()
        self.work = self.place / "work.git"
        self.worktree = self.place / "worktrees" / ("1" * 32)
        self.run_dir = self.place / "run"
        program = self.adapter.command[0]
        if shutil.which(self.adapter.path.parent / program if program.startswith("./") else program) is None:
            pytest.skip(f"{self.adapter.command[0]} is not installed: {self.adapter.install}")
        self._check_out()

    @property
    def marker(self) -> str:
        return f"test-{os.getpid()}-{self.name}"

    def run(
        self,
        prompt: str = PROMPT,
        *,
        max_turns: int = 0,
        timeout_seconds: float = 110.0,
        tools_server: Path | None = None,
        watch: Callable[[], EndedBy | None] = lambda: None,
    ) -> Ran:
        (self.run_dir / "tmp").mkdir(parents=True)
        setting = Setting(
            prompt=prompt,
            prompt_file=self.run_dir / "prompt.md",
            worktree=self.worktree,
            git_dir=self.work / "worktrees" / self.worktree.name,
            git_common_dir=self.work,
            config_dir=self.home,
            run_dir=self.run_dir,
            issue_id=self.worktree.name,
            model=self.model,
            max_turns=max_turns,
            tools_server=tools_server,
        )
        invoked = invocation.prepare(self.adapter, setting, os.environ["PATH"])
        stdout, stderr = self.place / "stdout.log", self.place / "stderr.log"

        def file(text: str) -> Path:
            known = {"stdout": stdout, "stderr": stderr}
            return known.get(text) or Path(placeholders.fill(text, setting.values()))

        ended = supervision.supervise(
            invoked.argv,
            cwd=self.worktree,
            env=self._environment(invoked.variables),
            stdin=invoked.stdin,
            transcript=stdout,
            stderr=stderr,
            limits=Limits(timeout_seconds, silence_seconds=100.0, grace_seconds=10.0),
            progress=[file(text) for text in self.adapter.progress],
            stop_signal=self.adapter.stop_signal,
            marker=self.marker,
            watch=watch,
        )
        source = file(self.adapter.output.source)
        said = agent_output.read(self.adapter, source, stderr, ended.exit_code, datetime.now(UTC))
        texts = [path.read_text("utf-8", "replace") if path.exists() else "" for path in (stdout, stderr)]
        return Ran(ended, said, self.worktree, self.run_dir, *texts)

    def _environment(self, variables: Mapping[str, str]) -> dict[str, str]:
        caller = agent_environment.inherited(os.environ, [], "test")
        ours = agent_environment.own(
            person=ROBO, folders=[self.worktree.parent], temporary=self.run_dir / "tmp"
        )
        return {**caller, **variables, **self.variables, **ours}

    def _check_out(self) -> None:
        init_bare(self.work)
        git = Git(self.work, person=ROBO)
        rules = git.objects.write("blob", b"# Rules\n\nWrite tests.\n")
        listed = git.run("mktree", stdin=f"100644 blob {rules}\tAGENTS.md\n".encode()).text.strip()
        commit = git.objects.write_commit(listed, [], "Begin")
        git.update_ref("refs/heads/robo/1", commit)
        git.run("worktree", "add", "--quiet", str(self.worktree), "robo/1")
