"""`make demo`: a sample repository, worked by the real loop with the shipped `demo` agent."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from ent_agent import sample, setting_up
from ent_agent.setting_up import Answers
from ent_agent.tracker.model import Issue
from ent_agent.tracker.reader import open_tracker
from harness import git as git_
from harness import process
from harness.errors import Usage
from harness.git import Git
from harness.plain import plain

MARKER = ".ent-agent-demo"
LOOP_SECONDS = 600.0

ASKING = Issue(
    id="9" * 32,
    description="Which colour has the banner?\n\nThe demo agent is to ask that.\n\nDemo: stuck\n",
    author=str(sample.ALICE),
    assignee="Robo",
    creation_time="2026-01-09T09:00:00+00:00",
)
"""An issue on which the agent gets stuck, beside those of the sample repository."""


@dataclass(frozen=True)
class Picture:
    """What origin has at one moment."""

    branches: dict[str, str]
    issues: dict[str, Issue | None]
    """None: an entry that cannot be read."""


def run(folder: Path, root: Path) -> int:
    """Make everything in `folder`, anew when an earlier demo is there; returns the loop's exit code.

    Raises:
        Usage: the folder holds something else.
    """
    _clear(folder)
    origin = sample.make(folder / "origin.git", (*sample.ISSUES, ASKING))
    config = folder / "config.toml"
    config.write_text(_config(origin), encoding="utf-8")
    before = look(origin)
    _say_before(before, origin)
    words = [sys.executable, "-m", "invoke", "-r", str(root), "loop", "--text", "--config", str(config)]
    _heading("The loop: " + shlex.join(["invoke", *words[3:]]))
    exit_code = _loop(words)
    _make_clone(folder)
    _say_changes(before, look(origin))
    _say_how_to_look(folder, root, before)
    return exit_code


def look(git: Git) -> Picture:
    """Branches and issues of a repository."""
    branches = {name.removeprefix("refs/heads/"): oid for name, oid in git.refs("refs/heads/").items()}
    tracker = open_tracker(git, f"refs/heads/{sample.DATA}")
    assert tracker
    found = tracker.read(one.id for one in tracker.summaries())
    return Picture(
        branches, {id: one if isinstance(one, Issue) else None for id, one in sorted(found.items())}
    )


def _clear(folder: Path) -> None:
    if folder.exists() and any(folder.iterdir()):
        if not (folder / MARKER).exists():
            raise Usage(f"{folder} is there, and no demo", hint="name another folder with --folder")
        shutil.rmtree(folder)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / MARKER).touch()


def _config(origin: Git) -> str:
    """What `invoke init` writes, and everything below the demo's folder."""
    answers = Answers(
        ssh_key_dir="identity",
        repo_url=str(origin.git_dir),
        agent_name=sample.ROBO.name,
        agent_email=sample.ROBO.email,
        agent_type="demo",
        agent_config_dir="agent",
    )
    return setting_up.text(answers) + 'state_dir        = "state"\n'


def _loop(words: list[str]) -> int:
    """The loop as a person runs it: its output is ours, it ends when we do."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("ENT_AGENT_")}
    child = subprocess.Popen(words, stdin=subprocess.DEVNULL, env=env)
    try:
        return child.wait(timeout=LOOP_SECONDS)
    except BaseException:
        child.terminate()
        child.wait()
        raise


def _make_clone(folder: Path) -> None:
    """A person's own clone, to look at and to answer from."""
    clone = folder / "yours"
    process.run(["git", "clone", "--quiet", folder / "origin.git", clone], env=git_.environment())
    git = Git(clone / ".git")
    git.run("branch", "--quiet", sample.DATA, f"origin/{sample.DATA}")
    git.run("config", "user.name", sample.ALICE.name)
    git.run("config", "user.email", sample.ALICE.email)


# ---- what is said


def _heading(text: str) -> None:
    print(f"\n=== {text}\n", flush=True)


def _say_before(picture: Picture, origin: Git) -> None:
    _heading(f"A sample repository: {origin.git_dir}")
    print("Its branches: " + ", ".join(picture.branches))
    print(f"Its issues, on the branch {sample.DATA}; Robo is the agent:\n")
    for id, issue in picture.issues.items():
        if issue is None:
            print(f"  {id[:8]}  cannot be read, and must not stop the others")
            continue
        waits = (
            f", waits for {', '.join(one[:8] for one in issue.dependencies)}" if issue.dependencies else ""
        )
        who = plain(issue.assignee or "nobody")
        print(f"  {id[:8]}  {issue.state:10}  {who:17}  {plain(issue.title)}{waits}")


def _say_changes(before: Picture, after: Picture) -> None:
    _heading("What changed on origin")
    for branch, oid in after.branches.items():
        if branch not in before.branches:
            print(f"  new branch   {branch}")
        elif before.branches[branch] != oid:
            print(f"  more commits {branch}")
    for id, issue in after.issues.items():
        was = before.issues.get(id)
        if issue is None or issue == was:
            continue
        print(f"\n  {id[:8]}  {plain(issue.title)}")
        if was is None:
            print(f"    a new issue, by {plain(issue.author)}")
        else:
            if was.state != issue.state:
                print(f"    state     {was.state} -> {issue.state}")
            print(f"    assignee  {plain(was.assignee or 'nobody')} -> {plain(issue.assignee or 'nobody')}")
        known = {comment.id for comment in was.comments} if was else set()
        for comment in issue.comments:
            if comment.id not in known:
                print(f"    {plain(comment.author)} wrote:")
                print("\n".join(f"      | {plain(line)}" for line in comment.description.splitlines()))


def _say_how_to_look(folder: Path, root: Path, before: Picture) -> None:
    config = shlex.quote(str(folder / "config.toml"))
    bin_ = shlex.quote(str(root / "bin"))
    issue = next(iter(before.issues))
    _heading("To look closer")
    print(
        f"  {bin_}/ent-agent-status --config {config}\n"
        f"  {bin_}/ent-agent-log {issue[:8]} --config {config}\n"
        f"  {bin_}/ent-agent-select --all --config {config} | jq '{{id: .issue.id, skipped}}'\n"
        f"\n  cd {shlex.quote(str(folder / 'yours'))}          # a clone, as a reviewer has one\n"
        f"  git log --graph --oneline --all\n"
        f"  git switch robo/{issue}\n"
        f"  {bin_}/ent-agent-ent list\n"
        f"\nTo answer the agent and see it go on:\n\n"
        f"  {bin_}/ent-agent-ent comment {issue} 'Please say it twice.'\n"
        f"  {bin_}/ent-agent-ent assign {issue} Robo\n"
        f"  {bin_}/ent-agent-ent sync\n"
        f"  {shlex.quote(str(Path(sys.prefix) / 'bin/invoke'))} -r {shlex.quote(str(root))} loop --text --config {config}"
    )
