"""What an agent is told about its task: facts from the record, the repositories and earlier runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from ent_agent import state
from ent_agent.config import Config
from ent_agent.records import IssueSection, Record, WorktreeSection
from ent_agent.repositories import repositories
from ent_agent.running import runs
from ent_agent.running.workplace import RunFolder
from ent_agent.selection import attempts
from ent_agent.tracker.model import Comment
from harness import cutting, templates
from harness.errors import BadData
from harness.git import Git
from harness.objects import Entry

INSTRUCTIONS = (b".ent-agent", b"instructions.md")
INSTRUCTIONS_CHARACTERS = 32 * 1024
COMMENTS_CHARACTERS = 120_000
EARLIER_RUNS = 3
BRANCHES = 10
COMMITS = 20


class OtherBranch(NamedTuple):
    """A branch of this issue that is not ours; `ahead`: its commits that the base does not have."""

    name: str
    commit: str
    ahead: int
    author: str
    date: str


class Commit(NamedTuple):
    commit: str
    author: str
    subject: str


class EarlierRun(NamedTuple):
    """What a run of ours came to; `message`: its agent's last words."""

    ended_at: str
    outcome: str
    reason: str
    message: str


class ShownComment(NamedTuple):
    """`new`: came since our last hand-back; `mine`: the agent wrote it."""

    comment: Comment
    new: bool
    mine: bool


@dataclass(frozen=True)
class Briefing:
    """The values that the templates get."""

    agent_name: str
    agent_email: str
    issue: IssueSection
    worktree: WorktreeSection
    comments: list[ShownComment]
    comments_left_out: int
    """The oldest ones, where all together would be too long."""
    handed_back: bool
    """Whether it was handed back before."""
    description_changed: bool
    """Since the last hand-back."""
    commits_of_others: list[Commit]
    """On our branch."""
    other_branches: list[OtherBranch]
    kept: list[tuple[str, str]]
    """Commit and name of what could not be carried on."""
    earlier_runs: list[EarlierRun]
    ent: str
    """Path of the `ent` that the agent is given; "" before there is a run."""
    instructions: str
    """The base branch's .ent-agent/instructions.md."""


def task(record: Record, config: Config) -> str:
    """The prompt of a task: prompts/task.md.j2.

    Raises:
        BadConfig: a template is wrong.
    """
    return templates.render(config, "task.md.j2", **vars(brief(record, config)))


def brief(record: Record, config: Config) -> Briefing:
    """The facts for a record that has an issue; where it has no worktree yet, the one that it would get."""
    assert record.issue and record.repository
    git = repositories.control(config)
    worktree = record.worktree or planned(record, config)
    before = _Before(git, attempts.of_issue(config, record.issue.id).handed_back_tree)
    comments, left_out = _shown(record.issue.comments, before, config)
    return Briefing(
        agent_name=config.agent_name,
        agent_email=config.agent_email,
        issue=record.issue,
        worktree=worktree,
        comments=comments,
        comments_left_out=left_out,
        handed_back=before.known,
        description_changed=before.known and before.description != record.issue.description,
        commits_of_others=_commits_of_others(git, worktree, config),
        other_branches=_other_branches(git, record.issue.id, worktree, config),
        kept=[(commit, name) for name in worktree.kept if (commit := git.resolve(name))],
        earlier_runs=_earlier_runs(record, config),
        ent=str(RunFolder(state.of(config).run(record.claim.run)).ent) if record.claim else "",
        instructions=instructions(git, f"{repositories.REMOTE}{worktree.base}"),
    )


def planned(record: Record, config: Config) -> WorktreeSection:
    """Where the issue would be worked on, for a look at the prompt before there is a worktree."""
    assert record.issue and record.repository
    return WorktreeSection(
        path=str(state.of(config).worktree(record.issue.id)),
        branch=f"{config.id}/{state.key(record.issue.id)}",
        base=config.base_branch or record.repository.default_branch,
        start=record.repository.head,
    )


def instructions(git: Git, base: str) -> str:
    """The text of .ent-agent/instructions.md at `base`; "" when it is no regular file there.

    Read from git's objects, so that a symbolic link leads nowhere.
    """
    commit = git.resolve(base)
    if commit is None:
        return ""
    entry = Entry(0o40000, git.objects.tree_of(commit))
    for name in INSTRUCTIONS:
        if not entry.is_tree:
            return ""
        inside = git.objects.tree(entry.oid).get(name)
        if inside is None:
            return ""
        entry = inside
    if not entry.is_file:
        return ""
    text = git.objects.read(entry.oid).decode("utf-8", "replace")
    cut = "" if len(text) <= INSTRUCTIONS_CHARACTERS else "\n[the rest is left out]"
    return cutting.beginning(text, INSTRUCTIONS_CHARACTERS) + cut


class _Before:
    """The issue as our last hand-back left it, as far as it is known."""

    def __init__(self, git: Git, tree: str) -> None:
        self.known = False
        self.comment_ids: set[str] = set()
        self.description = ""
        try:
            entries = git.objects.tree(tree) if tree else {}
            if entries:
                self.description = git.objects.read(entries[b"description"].oid).decode("utf-8", "replace")
                self.known = True
            if b"comments" in entries and entries[b"comments"].is_tree:
                names = git.objects.tree(entries[b"comments"].oid)
                self.comment_ids = {name.decode("utf-8", "surrogateescape") for name in names}
        except (BadData, KeyError):  # this state folder was made anew, and the tree is not here
            self.known = False


def _shown(comments: list[Comment], before: _Before, config: Config) -> tuple[list[ShownComment], int]:
    """The newest comments that fit, in order, and how many do not."""
    shown: list[ShownComment] = []
    room = COMMENTS_CHARACTERS
    for comment in reversed(comments):
        room -= min(len(comment.description), templates.DATA_CHARACTERS)
        if room < 0:
            break
        new = before.known and comment.id not in before.comment_ids
        shown.append(ShownComment(comment, new, config.is_agent(comment.author)))
    return shown[::-1], len(comments) - len(shown)


def _commits_of_others(git: Git, worktree: WorktreeSection, config: Config) -> list[Commit]:
    """Commits that our branch has beyond its base and that the agent did not write, newest first."""
    base = git.resolve(f"{repositories.REMOTE}{worktree.base}")
    if base in (None, worktree.start) or git.resolve(f"{worktree.start}^{{commit}}") is None:
        return []
    listed = git.run(
        "log",
        "-z",
        "--format=%h%x01%an%x01%ae%x01%s",
        f"--max-count={10 * COMMITS}",
        worktree.start,
        f"^{base}",
    ).text
    rows = [row.split("\x01") for row in listed.split("\0") if row.count("\x01") == 3]
    return [
        Commit(commit, name, subject) for commit, name, email, subject in rows if email != config.agent_email
    ][:COMMITS]


def _other_branches(git: Git, issue_id: str, worktree: WorktreeSection, config: Config) -> list[OtherBranch]:
    """origin's branches whose last part is this issue, ours excepted."""
    base = git.resolve(f"{repositories.REMOTE}{worktree.base}")
    found = []
    for name, commit in git.refs(repositories.REMOTE).items():
        branch = name.removeprefix(repositories.REMOTE)
        if branch.endswith(f"/{state.key(issue_id)}") and branch != worktree.branch and base:
            author, date = git.text("log", "-1", "--format=%an%x01%cs", commit).split("\x01")
            found.append(OtherBranch(branch, commit, git.ahead_behind(commit, base)[0], author, date))
    return found[:BRANCHES]


def _earlier_runs(record: Record, config: Config) -> list[EarlierRun]:
    """Our last finished runs of this issue, oldest first."""
    assert record.issue
    found = []
    for run in runs.every(config):
        if run.issue == record.issue.id and run.phase == "finalized":
            past = runs.record(run)
            if past.result:
                ended_at = past.run.ended_at if past.run else run.created_at
                message = past.run.message if past.run else ""
                found.append(EarlierRun(ended_at, past.result.outcome, past.result.reason, message))
    return found[-EARLIER_RUNS:]
