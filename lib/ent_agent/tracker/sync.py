"""A data branch and its counterpart on a remote, brought level: fetch, merge by meaning, push, again if refused.

Works in a bare repository as in a person's own, on one branch only: nothing else is
fetched, no push is forced, no ref but the branch and its tracking ref moves. What a
refused push means is never read from its text: the remote is asked what it has.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from dataclasses import dataclass

from ent_agent.tracker import writer
from ent_agent.tracker.merge import merge
from harness.errors import BadConfig, BadData, TryLater
from harness.git import Git, GitFailed, check_branch_name
from harness.process import Finished

MAX_ROUNDS = 20
MAX_REFUSALS = 3  # of a push, though nothing moved: another push may be half-way, or a hook says no
CODE_BRANCHES = ("refs/remotes/{remote}/HEAD", "refs/remotes/{remote}/main", "refs/remotes/{remote}/master")


@dataclass(frozen=True)
class Synced:
    """The commit that both sides have, and what it took: `author: subject` of each commit, newest first."""

    commit: str
    fetched: tuple[str, ...]
    pushed: tuple[str, ...]


class Unreachable(GitFailed):
    """The remote did not answer, or refused; the message ends with what git said."""

    code = "git_unreachable"

    def __init__(self, finished: Finished, what: str) -> None:
        super().__init__(finished, message=f"{what}: {_said(finished)}")


def bring_level(git: Git, branch: str, remote: str = "origin", *, just_fetched: bool = False) -> str | None:
    """Bring `branch` and its counterpart on `remote` level, and return the commit that both then have.

    None: neither side has the branch; it is not created. A repository without any
    remote is level with itself.

    `just_fetched`: the tracking ref has what `remote` has; it is not asked again until it
    refuses a push. What is raised: as for `synchronize`.
    """
    remotes = [remote] if just_fetched else git.lines("remote")
    if not remotes:
        return git.resolve(f"refs/heads/{branch}")
    _check_names(git, branch, remote, remotes)
    level = _level(git, branch, remote, just_fetched)
    return level[0] if level else None


def synchronize(git: Git, branch: str, remote: str = "origin") -> Synced | None:
    """`bring_level`, and what moved. None: neither side has the branch.

    Raises:
        BadConfig: there is no such remote.
        BadData: the branch name is not valid, or the branch holds code.
        Unreachable: network, a refused key, a hook that says no.
        TryLater: the remote moved on at each try; Busy: somebody holds the branch here.
    """
    _check_names(git, branch, remote, git.lines("remote"))
    before = git.resolve(f"refs/heads/{branch}")
    level = _level(git, branch, remote, just_fetched=False)
    return _synced(git, level[0], before, level[1]) if level else None


def _level(git: Git, branch: str, remote: str, just_fetched: bool) -> tuple[str, str | None] | None:
    """The commit that both sides have now, and that of `remote` before the last push. None: neither has one."""
    refused_at: list[str | None] = []
    for number in _rounds():
        asked = number or not just_fetched
        theirs = fetch(git, branch, remote) if asked else git.resolve(f"refs/remotes/{remote}/{branch}")
        ours = git.resolve(f"refs/heads/{branch}")
        if ours is None and theirs is None:
            return None
        _refuse_code(git, branch, remote, [commit for commit in (ours, theirs) if commit])
        level = _joined(git, branch, remote, ours, theirs)
        if level == theirs:
            return level, theirs
        refusal = push(git, branch, remote, level)
        if refusal is None:
            git.update_ref(f"refs/remotes/{remote}/{branch}", level)
            return level, theirs
        refused_at.append(theirs)
        if refused_at.count(theirs) >= MAX_REFUSALS:
            raise refusal
    raise TryLater(f"{remote} moved on {MAX_ROUNDS} times while {branch} was brought level")


# ---- one exchange with the remote


def fetch(git: Git, branch: str, remote: str) -> str | None:
    """The commit that `remote` has now, its tracking ref set to it; None: it has no such branch.

    Raises:
        Unreachable: no answer.
    """
    tracking = f"refs/remotes/{remote}/{branch}"
    options = ["--quiet", "--no-tags", "--no-prune", "--no-write-fetch-head", "--no-recurse-submodules"]
    for _ in range(MAX_REFUSALS):
        fetched = git.run("fetch", *options, remote, f"+refs/heads/{branch}:{tracking}", check=False)
        if fetched.ok:
            return git.resolve(tracking)
        if remote_head(git, branch, remote) is None:
            return None
        time.sleep(random.uniform(0.01, 0.1))  # another fetch held the lock of the tracking ref
    raise Unreachable(fetched, f"cannot fetch {branch} from {remote}")


def push(git: Git, branch: str, remote: str, commit: str) -> Unreachable | None:
    """Push `commit`, a fast-forward or a new branch. None: `remote` took it.

    Else why not, as git tells it; whether it arrived all the same the next `fetch` shows.
    """
    options = ["--porcelain", "--no-verify", "--no-follow-tags", "--recurse-submodules=no"]
    pushed = git.run("push", *options, remote, f"{commit}:refs/heads/{branch}", check=False)
    return None if pushed.ok else Unreachable(pushed, f"{remote} did not take {branch}")


def remote_head(git: Git, branch: str, remote: str) -> str | None:
    """What `remote` says that the branch is at; None: it has none.

    Raises:
        Unreachable: no answer.
    """
    ref = f"refs/heads/{branch}"
    listed = git.run("ls-remote", "--quiet", remote, ref, check=False)
    if not listed.ok:
        raise Unreachable(listed, f"cannot reach {remote}")
    pairs = (line.partition("\t") for line in listed.text.split("\n"))
    return next((oid for oid, _, name in pairs if name == ref), None)


# ---- parts


def _rounds() -> Iterator[int]:
    for number in range(MAX_ROUNDS):
        if number:
            time.sleep(random.uniform(0, min(2.0, 0.03 * 2**number)))
        yield number


def _joined(git: Git, branch: str, remote: str, ours: str | None, theirs: str | None) -> str:
    """The local branch with `theirs` merged into it."""
    if ours and (theirs is None or git.is_ancestor(theirs, ours)):
        return ours
    assert theirs
    message = f"Merge remote-tracking branch '{remote}/{branch}' into {branch}"
    joined = merge(git, ours, theirs, message=message) if ours else theirs

    def build(tip: str | None) -> str:
        if tip == ours:
            return joined  # made before the branch was taken: a merge of much can take a second
        return merge(git, tip, theirs, message=message) if tip else theirs

    return writer.update(git, f"refs/heads/{branch}", build)


def _synced(git: Git, level: str, before: str | None, theirs: str | None) -> Synced:
    return Synced(
        commit=level,
        fetched=_log(git, theirs, before) if theirs and theirs != before else (),
        pushed=_log(git, level, theirs) if level != theirs else (),
    )


def _log(git: Git, commit: str, without: str | None) -> tuple[str, ...]:
    excluded = [f"^{without}"] if without else []
    options = ["--no-merges", "--no-show-signature", "--no-color", "--format=%an: %s"]
    return tuple(git.lines("log", *options, commit, *excluded, "--"))


def _check_names(git: Git, branch: str, remote: str, remotes: list[str]) -> None:
    check_branch_name(branch)
    if remote not in remotes:
        raise BadConfig(
            f"{git.git_dir} has no remote {remote!r}",
            hint=f"it has {', '.join(remotes)}" if remotes else "add one with git remote add",
        )


def _refuse_code(git: Git, branch: str, remote: str, commits: list[str]) -> None:
    """Stop where issues are tracked on a code branch as well: every pull there would collide.

    A folder that both have is an issue on a code branch, or code on the data branch.
    Hidden ones (.github) are neither.
    """
    folders = set().union(*(_folders(git, commit) for commit in set(commits)))
    names = [name.format(remote=remote) for name in CODE_BRANCHES]
    for name, head in git.refs(*names).items():
        if f"refs/remotes/{remote}/{branch}" in (name, git.symbolic(name)):
            continue
        shared = sorted(folders & _folders(git, head))
        if shared:
            raise BadData(
                f"{branch} and {name} both hold {shared[0].decode('utf-8', 'replace')}/",
                hint="issues belong on an orphan branch of their own; see issues_branch, and git rm them from the other",
            )


def _folders(git: Git, commit: str) -> set[bytes]:
    tree = git.objects.tree(git.objects.tree_of(commit))
    return {name for name, entry in tree.items() if entry.is_tree and not name.startswith(b".")}


def _said(finished: Finished) -> str:
    """What git said, on one line: refusals are on stdout (`push --porcelain`), the rest on stderr."""
    if finished.timed_out:
        return "timed out"
    refused = [line.split("\t")[-1] for line in finished.text.splitlines() if line.startswith("!")]
    lines = [*refused, *(line.strip() for line in finished.error_text.splitlines())]
    advice = ("hint:", "Please make sure you have", "and the repository exists", "To ")
    return "; ".join(line for line in lines if line and not line.startswith(advice)) or "no answer"
