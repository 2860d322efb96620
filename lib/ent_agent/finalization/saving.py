"""Everything that a run left, saved in control.git before anything else happens: no network is needed."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from ent_agent import state
from ent_agent.config import Config
from ent_agent.finalization import homecoming, tracker_line
from ent_agent.finalization.homecoming import Homecoming
from ent_agent.finalization.outcome import Statement
from ent_agent.finalization.tracker_line import TrackerLine
from ent_agent.records import Record
from ent_agent.repositories import repositories
from ent_agent.running.runs import Run
from harness import cutting
from harness.diagnostics import say
from harness.effects import reached
from harness.errors import BadData
from harness.git import Git, GitFailed
from harness.worktrees import obstacles, outgoing
from harness.worktrees.leftovers import Rules, Withheld, gather

LONGEST_SUBJECT = 200

_STATEMENT = re.compile(r"[\s*_#>`]*(done|stuck)[*_`]*\s*:", re.IGNORECASE)


@dataclass(frozen=True)
class Saved:
    """What there is of a run, as commits of control.git."""

    work: str
    """The branch's end: the agent's commits, and its left-overs."""
    commits: int
    """The agent's own, in this run."""
    left_overs: bool
    ahead: bool
    """The branch has commits that its base does not have, of whichever run."""
    line: TrackerLine | None
    """None: the agent's tracker changes cannot be read, or there was no agent."""
    statement: Statement
    last_words: Statement
    withheld: tuple[Withheld, ...]
    may_be_pushed: bool
    """No commit holds what must not be published."""
    kept: tuple[str, ...]
    """Refs that hold what the branch cannot take."""
    kept_why: str
    home: Homecoming
    index: Path
    files: str
    """The tree that `index` has."""


def save(config: Config, git: Git, run: Run, record: Record, rules: Rules) -> Saved:
    """Commit what the worktree holds, fetch what was committed, keep what has no place. Repeatable.

    Raises:
        GitFailed: git refuses the agent's objects, or cannot read the worktree.
    """
    assert record.worktree
    with repositories.locked(config):
        repositories.mend_work(config)
    line = _line(config, git, run)
    comments = line.comments if line else ()
    statement = stated(comment.description for comment in reversed(comments))
    last_words = stated([record.run.message if record.run else ""])
    home = homecoming.bring(config, git, run, record.worktree, run.saved_at)
    reached("commits-brought-home")
    index = state.of(config).run(run.id) / "index"
    obstacles.clear(Path(record.worktree.path), state.of(config).quarantine)
    left = gather(git, Path(record.worktree.path), home.head, index, rules)
    work, kept = home.tip, dict(home.kept)
    if left.tree != git.objects.tree_of(home.head):
        message = subject(record, done="done" in (statement, last_words))
        commit = git.objects.write_commit(
            left.tree,
            [home.head],
            f"{message}\n\nIssue: {run.issue}",
            timestamp=run.saved_at,
            sign=config.sign_commits,
        )
        if home.halfway or home.head != home.tip:
            kept["left-overs"] = commit
        else:
            work = commit
    if line and line.dropped:
        kept["tracker"] = line.agent_tip
    _hold(config, git, run, work, kept)
    reached("left-overs-committed")
    objections = outgoing.look_through(
        git, work, outgoing.on_origin(repositories.NAMESPACE, record.worktree.branch), rules
    )
    withheld = tuple(dict.fromkeys((*left.withheld, *objections)))
    return Saved(
        work=work,
        commits=_count(git, home.tip, record.worktree.start, "--remotes=origin"),
        left_overs=bool(left.paths),
        ahead=_count(git, work, f"{repositories.REMOTE}{record.worktree.base}") > 0,
        line=line,
        statement=statement,
        last_words=last_words,
        withheld=withheld,
        may_be_pushed=not objections,
        kept=tuple(run.kept_ref(name) for name in kept),
        kept_why=home.why,
        home=home,
        index=index,
        files=left.tree,
    )


def stated(texts: Iterable[str]) -> Statement:
    """What an agent's texts, the newest first, say of its work; "other": something else."""
    said: Statement = ""
    for text in texts:
        match = _STATEMENT.match(text)
        if match:
            return "done" if match[1].lower() == "done" else "stuck"
        said = "other" if text.strip() else said
    return said


def subject(record: Record, *, done: bool) -> str:
    """The subject of a commit of left-overs: the issue's title, never the agent's chat."""
    title = record.issue.title if record.issue else ""
    plain = "".join(c for c in title if not unicodedata.category(c).startswith("C")).strip()
    words = (
        cutting.beginning(plain, LONGEST_SUBJECT)
        or f"Work on issue {record.issue.id if record.issue else ''}"
    )
    return words if done else f"WIP: {words}"


def _line(config: Config, git: Git, run: Run) -> TrackerLine | None:
    if not run.tracker_start:
        return None
    try:
        return tracker_line.advance(config, git, run)
    except (GitFailed, BadData) as failure:
        say(f"issue {run.issue}: what the agent wrote to the tracker cannot be taken: {failure.message}")
        return None


def _hold(config: Config, git: Git, run: Run, work: str, kept: dict[str, str]) -> None:
    with repositories.locked(config):
        git.update_ref(run.agents_ref("work"), work)
    homecoming.keep(config, git, run, kept)


def _count(git: Git, tip: str, *without: str) -> int:
    """Commits up to `tip` that are in none of the others; 0 where one of those is not there."""
    counted = git.run("rev-list", "--count", tip, "--not", *without, check=False)
    return int(counted.text) if counted.ok else 0
