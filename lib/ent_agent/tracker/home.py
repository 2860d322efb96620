"""Where the tracker is that `ent-agent-ent` works on, and the branch made where there is none.

Outside a run it is the repository around the current folder, with the caller's own
identity and settings. In a run it is the run's private ref in work.git, wherever the
agent happens to stand.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from ent_agent.tracker.reader import Tracker
from harness import git as git_
from harness import process
from harness.errors import BadData
from harness.git import FORCED_CONFIG, Git

LOOK_TIMEOUT_SECONDS = 20.0

# Who the caller is and how a remote is reached; not where the repository is: a GIT_DIR or
# GIT_INDEX_FILE left by a hook would have us work on another one.
KEPT_VARIABLES = ("GIT_AUTHOR_", "GIT_COMMITTER_", "GIT_CONFIG_", "GIT_SSH", "GIT_TRACE", "GIT_CEILING_DIR")


class OwnGit(Git):
    """A person's own repository: settings and identity as in the caller's environment."""

    @cached_property
    def environment(self) -> dict[str, str]:
        return own_environment({**FORCED_CONFIG, **self.config}, os.environ)


@dataclass(frozen=True)
class Home:
    """A repository and the ref of its tracker. `run`: the issue of the run that we are in, or ""."""

    git: Git
    ref: str
    branch: str
    cache: Path
    run: str = ""

    def tracker(self) -> Tracker:
        """The tracker as it is now; the branch is made where there is none."""
        return Tracker(self.git, self.git.objects.resolve(self.ref) or self.make_branch(), self.cache)

    def make_branch(self) -> str:
        """From origin's branch, else another remote's, else an empty one. Never from a tag.

        Raises:
            BadData: the name is no branch name, or several remotes have it.
            GitFailed: e.g. git does not know who we are.
        """
        if self.run:
            raise BadData(f"{self.ref} is not in {self.git.git_dir}")
        git_.check_branch_name(self.branch)
        if self.git.resolve(f"refs/remotes/{self.branch}"):
            raise BadData(f"'{self.branch}' is a branch of a remote", hint="leave the remote's name out")
        remote = _remote_with(self.git, self.branch)
        if remote:
            return self._track(remote)
        from ent_agent.tracker import writer

        return writer.update(self.git, self.ref, lambda tip: tip or writer.create(self.git))

    def _track(self, remote: str) -> str:
        """Begin at a remote's branch, and follow it; `git branch --track` refuses that in a single-branch clone."""
        tip = self.git.text("rev-parse", "--verify", f"refs/remotes/{remote}/{self.branch}")
        if not self.git.update_ref(self.ref, tip, ""):
            return self.git.text("rev-parse", "--verify", self.ref)
        self.git.run("config", f"branch.{self.branch}.remote", remote)
        self.git.run("config", f"branch.{self.branch}.merge", self.ref)
        return tip


def find(branch: str, environ: Mapping[str, str] = os.environ) -> Home:
    """The tracker that is meant here and now.

    Raises:
        BadData: we do not stand in a repository; git's words for it.
    """
    ref, folder = environ.get("ENT_AGENT_ISSUES_REF"), environ.get("ENT_AGENT_GIT_DIR")
    if ref and folder:
        git = OwnGit(Path(folder))
        return Home(git, ref, branch, _cache(git.git_dir), run=environ.get("ENT_AGENT_IN_RUN") or "?")
    found = process.run(
        ["git", "rev-parse", "--path-format=absolute", "--git-common-dir"],
        env=own_environment(FORCED_CONFIG, environ),
    )
    if not found.ok:
        raise BadData(found.error_text or "not in a git repository")
    common = Path(os.fsdecode(found.stdout.removesuffix(b"\n")))
    return Home(OwnGit(common), f"refs/heads/{branch}", branch, _cache(common))


def own_environment(config: Mapping[str, str], environ: Mapping[str, str]) -> dict[str, str]:
    """git's environment with the caller's identity and settings, and ours put after them."""
    kept = {key: value for key, value in environ.items() if key.startswith(KEPT_VARIABLES)}
    env = {**git_.environment(base=environ), **kept}
    first = int(count) if (count := kept.get("GIT_CONFIG_COUNT", "0")).isdigit() else 0
    for number, (key, value) in enumerate(config.items(), first):
        env |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
    return env | {"GIT_CONFIG_COUNT": str(first + len(config))}


def tidy(home: Home) -> None:
    """What `git commit` does at its end: collect garbage when there is much, in the background."""
    if home.run:
        return
    config = {
        key: value for key, value in FORCED_CONFIG.items() if key not in ("gc.auto", "maintenance.auto")
    }
    process.run(
        ["git", f"--git-dir={home.git.git_dir}", "maintenance", "run", "--auto", "--quiet"],
        env=own_environment(config, os.environ),
    )


def signs(git: Git) -> bool:
    """Whether the caller's commits are to be signed (commit.gpgSign; `git commit-tree` does not look)."""
    return git.run("config", "--type=bool", "commit.gpgSign", check=False).text.strip() == "true"


def author(git: Git) -> git_.Person:
    """Who writes issues and comments: git's settings alone, as entomologist has it, not the environment.

    Raises:
        BadData: name or address is not set.
    """
    listed = git.run("config", "-z", "--get-regexp", r"^user\.(name|email)$", check=False).text
    found = dict(item.split("\n", 1) for item in listed.split("\0") if "\n" in item)
    for key in ("user.name", "user.email"):
        if key not in found:
            raise BadData(f"git does not know who you are: {key} is not set", hint=f"git config {key} …")
    name, email = (found[key].split("\n", 1)[0] for key in ("user.name", "user.email"))
    return git_.Person(name, email)


def _remote_with(git: Git, branch: str) -> str | None:
    """The remote to begin from; those that were never asked for the branch are asked now."""
    remotes = git.lines("remote")
    having = [name for name in remotes if git.resolve(f"refs/remotes/{name}/{branch}")]
    if not having:
        having = [name for name in remotes if _fetched(git, name, branch)]
    if len(having) > 1 and "origin" not in having:
        raise BadData(
            f"'{branch}' is not here, but on several remotes: {', '.join(having)}",
            hint=f"choose one: git branch --track {branch} {having[0]}/{branch}",
        )
    return "origin" if "origin" in having else next(iter(having), None)


def _fetched(git: Git, remote: str, branch: str) -> bool:
    """Bring a branch that a single-branch clone left out (field case: a second, unrelated root)."""
    refspec = f"+refs/heads/{branch}:refs/remotes/{remote}/{branch}"
    fetched = git.run(
        "fetch", "--quiet", "--no-tags", remote, refspec, check=False, timeout_seconds=LOOK_TIMEOUT_SECONDS
    )
    if not fetched.ok and "couldn't find remote ref" not in fetched.error_text:
        said = fetched.error_text.splitlines()[-1:] or ["no answer"]
        print(f"{remote} could not be asked for {branch}: {said[0]}", file=sys.stderr)
    return fetched.ok


def _cache(common: Path) -> Path:
    return common / "ent-agent" / "tracker.cache"
