"""What origin's branches hold that the loop, or an agent in a fresh worktree, would stumble over."""

from __future__ import annotations

import posixpath
import re
import shlex
import time
from collections.abc import Iterator
from pathlib import Path

from ent_agent.doctor.origin import Origin
from ent_agent.repositories import origin
from ent_agent.tracker.reader import Tracker
from harness import git as git_
from harness import process
from harness.doctor.findings import Finding, ok, problem, warning

FETCH_SECONDS = 120.0
AHEAD_SECONDS = 24 * 3600.0
SHOWN = 5

_ISSUE = re.compile(r"[0-9a-f]{32}")


def tracker(seen: Origin) -> Iterator[Finding]:
    """The entries of the entomologist branch that cannot be read, by id."""
    branch = seen.config.issues_branch
    if branch not in seen.heads:
        return
    commit = _fetched(seen, branch)
    found = Tracker(seen.git, commit).summaries()
    unreadable = [summary for summary in found if summary.unreadable]
    for summary in unreadable[:SHOWN]:
        yield warning(
            "tracker",
            f"issue {summary.id} cannot be read, and is passed over: {summary.unreadable}",
            f"git show {shlex.quote(f'origin/{branch}:{summary.id}')}",
        )
    if len(unreadable) > SHOWN:
        yield warning("tracker", f"… and {len(unreadable) - SHOWN} more that cannot be read")
    ours = [summary for summary in found if seen.config.is_agent(summary.assignee)]
    yield ok("tracker", f"{len(found)} issues, {len(ours)} of them assigned to {seen.config.agent_name}")
    ahead = float(seen.git.text("show", "-s", "--format=%ct", commit)) - time.time()
    if ahead > AHEAD_SECONDS:
        yield warning(
            "clock",
            f"the tracker's newest change is {ahead / 3600:.0f} hours in this clock's future",
            "sudo timedatectl set-ntp true",
        )


def code(seen: Origin) -> Iterator[Finding]:
    """The base branch: a tracker where none belongs, large files, submodules, hooks."""
    if seen.base not in seen.heads:
        return
    commit = _fetched(seen, seen.base, "--filter=blob:none")
    listing = seen.git.run("ls-tree", "-r", "-z", "--name-only", commit).stdout
    paths = [name.decode("utf-8", "surrogateescape") for name in listing.split(b"\0") if name]
    yield from _tracker_on_code_branch(seen.base, paths)
    attributes = [path for path in paths if posixpath.basename(path) == ".gitattributes"]
    texts = [seen.git.run("cat-file", "blob", f"{commit}:{path}", check=False).text for path in attributes]
    if any("filter=lfs" in text for text in texts):
        yield _large_files()
    yield from _what_a_worktree_lacks(seen, paths)
    yield ok("code", f"{len(paths)} files on {seen.base}")


def hooks(git_environment: dict[str, str] | None = None) -> Iterator[Finding]:
    """The user's own core.hooksPath, which git in a worktree counts from the worktree."""
    asked = process.run(
        ["git", "config", "--global", "--includes", "core.hooksPath"],
        env=git_environment or git_.environment(),
        timeout_seconds=10.0,
    )
    path = asked.text.strip()
    if path and not Path(path).expanduser().is_absolute():
        yield warning(
            "hooks",
            f"core.hooksPath = {path} is relative: in a worktree that has no such folder no hook runs",
            f"git config --global core.hooksPath {shlex.quote(str(Path(path).absolute()))}",
        )


def _fetched(seen: Origin, branch: str, *options: str) -> str:
    """The tip of a branch, with its files; not its history."""
    words = ("fetch", "--quiet", "--depth=1", "--no-tags", "--no-write-fetch-head", *options)
    refspec = f"+refs/heads/{branch}:refs/remotes/origin/{branch}"
    origin.ask(seen.git, seen.config, *words, "origin", refspec, timeout_seconds=FETCH_SECONDS)
    return seen.git.resolve(f"refs/remotes/origin/{branch}") or seen.heads[branch]


def _tracker_on_code_branch(branch: str, paths: list[str]) -> Iterator[Finding]:
    found = {path.split("/", 1)[0] for path in paths if re.fullmatch(r"[0-9a-f]{32}/description", path)}
    if found:
        yield problem(
            "code",
            f"{branch} holds {len(found)} issues of the tracker as files (e.g. {min(found)}): they belong on their own branch only",
            f"git switch {shlex.quote(branch)} && git rm -r --quiet {' '.join(sorted(found)[:SHOWN])}"
            f"{' …' if len(found) > SHOWN else ''} && git commit -m 'Remove the tracker from {branch}'",
        )


def _large_files() -> Finding:
    if process.run(["git", "lfs", "version"], env=git_.environment(), timeout_seconds=10.0).ok:
        return ok("large_files", "LFS: worktrees hold pointers (docs/operations.md says how to fetch them)")
    return warning(
        "large_files",
        "the repository uses LFS, and git-lfs is not installed here: large files stay pointers",
        "sudo apt-get install git-lfs",
    )


def _what_a_worktree_lacks(seen: Origin, paths: list[str]) -> Iterator[Finding]:
    setup = " ".join(seen.config.worktree.setup)
    config = shlex.quote(str(seen.config.path))
    if ".gitmodules" in paths and "submodule" not in setup:
        yield warning(
            "submodules",
            "the repository has submodules: worktrees begin without their files",
            f'set setup = ["git submodule update --init --recursive"] under [worktree] in {config}',
        )
    if any(path.startswith(".husky/") for path in paths) and not setup:
        yield warning(
            "hooks",
            "hooks of .husky/ are put in place by the project's own set-up, which worktrees do not run",
            f'set setup = ["npm ci"] under [worktree] in {config}',
        )
