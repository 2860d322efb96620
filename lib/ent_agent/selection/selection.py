"""The agent's issues as the last sync left them, in working order; nothing here talks to origin."""

from __future__ import annotations

import copy
import time
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from ent_agent import state
from ent_agent.config import Config
from ent_agent.records import IssueSection, Record
from ent_agent.repositories import repositories
from ent_agent.selection import attempts, readiness
from ent_agent.selection.readiness import Situation, Task
from ent_agent.tracker.model import OPEN_STATES, SHORTEST_PREFIX, Issue, NotFound, State, Summary
from ent_agent.tracker.reader import Tracker, open_tracker
from harness import lock
from harness.errors import BadData, Busy
from harness.git import Git
from harness.worktrees import registrations

if TYPE_CHECKING:
    from ent_agent.selection.people import Assignment


def select(
    record: Record, config: Config, *, everything: bool = False, issue: str = "", limit: int | None = None
) -> Iterator[Record]:
    """One record per issue to work, in order; with `everything` also those passed over, with `skipped`.

    `issue`: only this one (a unique prefix will do). `limit` counts what is to be worked.

    Raises:
        BadData: no issue begins with `issue`, or several do.
    """
    view = View.open(config)
    if view is None:
        if issue:
            raise BadData(f"there are no issues yet: {config.issues_branch} is not there", code="not_found")
        return
    only = _named(view, issue) if issue else ""
    left = len(view.known) if limit is None else limit
    for task in view.tasks(only):
        why = readiness.passed_over(task, view.situation)
        if not why and left <= 0:
            return
        about = view.record(record, task, why) if everything or not why else None
        if about and not about.skipped:
            left -= 1
        if about and (everything or not about.skipped):
            yield about


def pick(record: Record, config: Config, issue: str) -> Record:
    """The record with the one issue that a person names: neither its turn nor a back-off is asked for.

    Raises:
        BadData: no such issue, several, one that cannot be read, is finished, or is not the agent's.
        Busy: somebody else is at it.
    """
    view = View.open(config)
    if view is None:
        raise BadData(f"there are no issues yet: {config.issues_branch} is not there", code="not_found")
    found = view.tracker.issue(_named(view, issue))
    if found.state not in OPEN_STATES:
        raise BadData(f"issue {found.id} is {found.state}", code="not_open")
    if not config.is_agent(found.assignee):
        raise BadData(
            f"issue {found.id} is assigned to {found.assignee or 'nobody'}",
            hint=f"assign it to the agent: ent assign {found.id} {config.agent_name!r}",
            code="not_assigned",
        )
    (task,) = view.tasks(found.id)
    why = readiness.obstacle(task, view.situation)
    if why:
        raise Busy(f"issue {found.id} {why}")
    return view.record(record, task, "")


def _named(view: View, issue: str) -> str:
    try:
        return view.tracker.resolve(issue)
    except NotFound as error:
        hint = "as of the last fetch; `ent-agent-sync` fetches what is new on origin"
        if len(issue) < SHORTEST_PREFIX:
            hint = f"give {SHORTEST_PREFIX} characters of its id or more"
        raise NotFound(error.message, hint=hint) from error


class View:
    """The tracker at one commit, with what this state folder knows beside it."""

    def __init__(self, config: Config, git: Git, tracker: Tracker) -> None:
        self.config = config
        self.git = git
        self.tracker = tracker
        self.summaries = {summary.id: summary for summary in tracker.summaries()}
        self.known = attempts.of_issues(config, (one.id for one in self._mine()))
        self.now = time.time()
        self._tasks = self._read_tasks()
        self.situation = self._situation()

    @classmethod
    def open(cls, config: Config) -> View | None:
        """None: there is no entomologist branch."""
        git = repositories.control(config)
        if not git.git_dir.exists():
            return None
        cache = state.of(config).root / "tracker.cache"
        tracker = open_tracker(git, config.data_ref, cache)
        return cls(config, git, tracker) if tracker else None

    def tasks(self, only: str = "") -> list[Task]:
        """The agent's open issues in working order, and last the entries that cannot be read."""
        broken = [
            Task(id=one.id, state="new", unreadable=one.unreadable)
            for one in self.summaries.values()
            if one.unreadable
        ]
        ordered = readiness.in_order([*self._tasks, *broken])
        return [task for task in ordered if not only or task.id == only]

    def record(self, record: Record, task: Task, skipped: str) -> Record:
        """A copy of `record` about this issue."""
        about = copy.copy(record)
        about.skipped = skipped or None
        found = self.tracker.read([task.id])[task.id] if not task.unreadable else None
        if isinstance(found, BadData):  # a comment of it, say
            about.skipped = f"cannot be read: {found.message}"
        if isinstance(found, Issue):
            about.issue = section(
                found,
                self.config,
                self._assignments,
                attempts.failures(self.known[task.id], self.summaries[task.id].tree),
            )
        else:
            about.issue = IssueSection(id=task.id, title="", description="", state=task.state)
        return about

    @cached_property
    def _assignments(self) -> list[Assignment]:
        from ent_agent.selection import people

        return people.assignments(self.git, self.tracker.commit)

    # ---- reading

    def _mine(self) -> list[Summary]:
        return [
            one
            for one in self.summaries.values()
            if not one.unreadable and one.state in OPEN_STATES and self.config.is_agent(one.assignee)
        ]

    def _read_tasks(self) -> list[Task]:
        rows = self.tracker.rows(self.known)
        return [
            Task(
                id=one,
                state=self.summaries[one].state,
                created=tuple(rows[one].created or (0, 0)),  # type: ignore[arg-type]
                dependencies=rows[one].dependencies,
                unreadable=rows[one].unreadable,
            )
            for one in self.known
        ]

    def _situation(self) -> Situation:
        states = {one.id: one.state for one in self.summaries.values() if not one.unreadable}
        known = self.known
        trees = {one: self.summaries[one].tree for one in known}
        waits = {one: attempts.waits_until(known[one], trees[one], self.now, self.config) for one in known}
        return Situation(
            states=states,
            dependencies=self._dependencies(states),
            handed_back=frozenset(one for one in known if known[one].handed_back_tree == trees[one]),
            in_work=self._in_work(),
            claimed=self._claimed(),
            checked_out=self._checked_out(),
            back_off={one: until for one, until in waits.items() if until},
            stop=stop(self.config, self.now),
        )

    def _dependencies(self, states: dict[str, State]) -> dict[str, tuple[str, ...]]:
        """Of every open issue that a task waits for, directly or not."""
        found: dict[str, tuple[str, ...]] = {}
        wanted: Iterable[str] = [
            one
            for task in self._tasks
            if task.state in readiness.WAITS_FOR_DEPENDENCIES
            for one in task.dependencies
        ]
        while True:
            fresh = {one for one in wanted if one not in found and states.get(one) in OPEN_STATES}
            if not fresh:
                return found
            rows = self.tracker.rows(fresh)
            found |= {one: rows[one].dependencies if one in rows else () for one in fresh}
            wanted = [one for key in fresh for one in found[key]]

    def _in_work(self) -> frozenset[str]:
        locks = state.of(self.config).issue_locks
        there = {path.name for path in locks.iterdir()} if locks.is_dir() else set()
        mine = {one: f"{state.key(one)}.lock" for one in self.known}
        return frozenset(
            one for one, name in mine.items() if name in there and not lock.is_free(locks / name)
        )

    def _claimed(self) -> dict[str, str]:
        from ent_agent.claims import observation

        held = observation.holders(self.config, self.git)
        return {
            one: holder.value.host or "another host"
            for one in self.known
            if (holder := held.get(state.key(one))) and holder.live
        }

    def _checked_out(self) -> dict[str, str]:
        folder = state.of(self.config)
        held = registrations.holders(state.of(self.config).work)
        found: dict[str, str] = {}
        for one in self.known if held else ():
            there = held.get(f"refs/heads/{branch_name(self.config, one)}")
            if there and not there.is_at(folder.worktree(one)):
                found[one] = str(there.path)
        return found


def section(issue: Issue, config: Config, history: Sequence[Assignment], failures: int) -> IssueSection:
    """What a record says of an issue. `history`: the tracker's, for who is who."""
    from ent_agent.selection import people

    reviewer, handler = people.reviewer_and_handler(issue, config, history)
    return IssueSection(
        id=issue.id,
        title=issue.title,
        description=issue.description,
        state=issue.state,
        author=issue.author,
        assignee=issue.assignee,
        creation_time=issue.creation_time,
        tags=list(issue.tags),
        dependencies=list(issue.dependencies),
        comments=list(issue.comments),
        reviewer=reviewer,
        handler=handler,
        attempts=failures,
    )


def branch_name(config: Config, issue_id: str) -> str:
    """`<agent id>/<issue id>`; an id that no branch can be named by stands there as a digest."""
    return f"{config.id}/{state.key(issue_id)}"


def stop(config: Config, now: float) -> str:
    """Why no agent is to be started at all; "": one may."""
    from ent_agent.selection import pausing

    if paused := pausing.current(config):
        return str(paused)
    known = attempts.of_agent(config)
    kind, until = attempts.pause(known, now)
    if kind == "quota":
        return f"the agent is out of quota, until {until}"
    if kind == "auth":
        return f"the agent needs a login; it is tried again at {until}"
    return attempts.spent(known, now, config)
