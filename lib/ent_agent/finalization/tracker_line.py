"""A run's private line of the data branch: what its agent did to the tracker, as far as it may be published.

The agent writes to a ref of its own in work.git. What it may do of that is brought home,
with secrets taken out, onto `refs/ent-agent/runs/<run id>` in control.git. The line leaves
state and assignee of the run's own issue as they were at the start: those are what the
agent wishes for, and the hand-back's to write.
"""

from __future__ import annotations

from dataclasses import dataclass

from ent_agent.config import Config
from ent_agent.finalization import secrecy
from ent_agent.repositories import repositories
from ent_agent.running import runs
from ent_agent.running.runs import Run
from ent_agent.tracker import guard
from ent_agent.tracker.guard import Dropped
from ent_agent.tracker.merge import merge
from ent_agent.tracker.model import Comment, Issue, State
from ent_agent.tracker.reader import Tracker
from harness.git import Git
from harness.objects import TREE, Entry


@dataclass(frozen=True)
class TrackerLine:
    """`commit`: the line's end. The rest: what the agent made of its own issue."""

    commit: str
    state: State
    assignee: str | None
    changed_assignee: bool
    comments: tuple[Comment, ...]
    """Its new comments on the issue, oldest first."""
    dropped: tuple[Dropped, ...]
    agent_tip: str
    """The agent's own last commit, of which not everything may be taken."""


def advance(config: Config, git: Git, run: Run) -> TrackerLine:
    """Bring home what the agent has written up to now. Repeatable.

    Raises:
        GitFailed: git refuses the agent's objects.
    """
    start = run.tracker_start
    written = _brought_home(config, git, run)
    tip = written or start
    admitted = guard.admit(git, start, tip, run.issue, config.is_agent)
    clean = _redacted(config, git, start, admitted.commit)
    before, after = _issue(git, start, run.issue), _issue(git, clean, run.issue)
    known = {comment.id for comment in before.comments}
    return TrackerLine(
        commit=_extended(config, git, run, clean) if written else run.tracker_line or start,
        state=after.state,
        assignee=after.assignee,
        changed_assignee=after.assignee != before.assignee,
        comments=tuple(comment for comment in after.comments if comment.id not in known),
        dropped=admitted.dropped,
        agent_tip=tip,
    )


def _brought_home(config: Config, git: Git, run: Run) -> str | None:
    """The agent's last commit, with what it had written at an earlier look; None: nothing is known of it.

    A line that was deleted or set back takes nothing back: some of it may be public.
    """
    known, fresh = run.agents_ref("tracker"), run.agents_ref("tracker-now")
    before = git.resolve(known)
    there = repositories.work(config).resolve(run.line_ref)
    if there is None or there == before:
        return before
    if before is None and there == run.tracker_start:
        return there  # the agent wrote nothing, or took it back before anybody looked
    with repositories.locked(config):
        repositories.bring_home(config, f"+{run.line_ref}:{fresh}")
        tip = git.resolve(fresh)
        if tip and before and not git.is_ancestor(before, tip):
            tip = merge(git, before, tip, message="merge what the agent wrote before")
        git.update_refs([(known, tip or before), (fresh, None)])
    return tip


def _issue(git: Git, commit: str, issue_id: str) -> Issue:
    return Tracker(git, commit).issue(issue_id)


def _extended(config: Config, git: Git, run: Run, clean: str) -> str:
    """The line with one more commit where there is something new: what was published stays below it."""
    objects = git.objects
    root = objects.tree(objects.tree_of(clean))
    name = run.issue.encode("utf-8", "surrogateescape")
    issue, was = objects.tree(root[name].oid), _folder(git, run.tracker_start, name)
    for field in (b"state", b"assignee"):
        issue.pop(field, None)
        if field in was:
            issue[field] = was[field]
    root[name] = Entry(TREE, objects.write_tree(issue))
    tree = objects.write_tree(root)
    end = run.tracker_line or run.tracker_start
    if tree == objects.tree_of(end):
        return end
    message = f"take over what {config.agent_name} did on issue {run.issue}"
    end = objects.write_commit(tree, [end], message, sign=config.sign_commits)
    with repositories.locked(config):
        git.update_ref(run.line_ref, end)
    runs.update(config, run, tracker_line=end)
    return end


def _folder(git: Git, commit: str, name: bytes) -> dict[bytes, Entry]:
    root = git.objects.tree(git.objects.tree_of(commit))
    return git.objects.tree(root[name].oid)


def _redacted(config: Config, git: Git, start: str, admitted: str) -> str:
    """`admitted` without secrets in what is new; the same commit when there were none."""
    if admitted == start:
        return admitted
    redactor = secrecy.redactor(config)
    listed = git.run("diff-tree", "-r", "-z", "--raw", "--no-renames", "--diff-filter=AM", start, admitted)
    fields = listed.stdout.split(b"\0")
    root = git.objects.tree_of(admitted)
    changed = False
    for about, path in zip(fields[::2], fields[1::2], strict=False):
        data = git.objects.read(about.split(b" ")[3].decode())
        text = data.decode("utf-8", "surrogateescape")
        if (plain := redactor.redact(text)) != text:
            blob = git.objects.write("blob", plain.encode("utf-8", "surrogateescape"))
            root = _with_blob(git, root, path.split(b"/"), blob)
            changed = True
    return git.objects.write_commit(root, [start], "take secrets out") if changed else admitted


def _with_blob(git: Git, tree: str, path: list[bytes], blob: str) -> str:
    entries = git.objects.tree(tree)
    first, *rest = path
    mode, oid = entries[first]
    entries[first] = Entry(mode, _with_blob(git, oid, rest, blob) if rest else blob)
    return git.objects.write_tree(entries)
