"""What a session is told: the rules of its role, its task, and what came since. Templates in prompts/fordjent."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from fordjent.config import Config
from fordjent.deciding.actions import Input
from fordjent.memory.recall import NOTHING, Past
from fordjent.roles.roles import Role
from fordjent.sessions.facts import Subject
from harness import cutting, templates
from harness.errors import BadData
from harness.git import Git
from harness.objects import Entry

INSTRUCTIONS = (b".fordjent", b"instructions.md")
INSTRUCTIONS_CHARACTERS = 32 * 1024


class Ground(msgspec.Struct, frozen=True, kw_only=True):
    """The worktree. `ahead`, `behind`: of its base; `left_over`: what an earlier run did not commit."""

    path: str
    branch: str
    base: str
    ahead: int
    behind: int
    left_over: tuple[str, ...] = ()


class Brief(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that the templates of a task get. `own_pull`: the open one of the branch; 0: none."""

    repository: str
    subject: Subject
    place: Ground | None = None
    base: str = ""
    own_pull: int = 0
    past: Past = NOTHING
    instructions: str = ""


class Told(msgspec.Struct, frozen=True):
    """An input as a prompt shows it."""

    what: str
    author: str
    text: str


def system(config: Config, role: Role, repository: str, me: str) -> str:
    """The rules of a role.

    Raises:
        BadConfig: a template is missing or wrong.
    """
    return templates.render(
        config,
        role.prompt,
        me=me,
        repository=repository,
        role=role.name,
        max_turns=role.max_turns,
        commit_prefix=config.agent.commit_prefix,
        max_sub_issues=config.agent.max_sub_issues,
        merge=config.policy.merge,
    )


def task(config: Config, brief: Brief, inputs: Sequence[Input]) -> str:
    """The first message of a session."""
    return _render(config, "fordjent/task.md.j2", brief, inputs, goes_on=False)


def again(config: Config, brief: Brief, inputs: Sequence[Input]) -> str:
    """The first message of a later run."""
    return _render(config, "fordjent/again.md.j2", brief, inputs, goes_on=True)


def meanwhile(config: Config, inputs: Sequence[Input]) -> str:
    """What came while it works."""
    return templates.render(config, "fordjent/meanwhile.md.j2", inputs=[_told(one) for one in inputs])


def programs(config: Config, found: Sequence[tuple[str, str]], offered: bool = False) -> str:
    """What an agent CLI is told of its tools: name and purpose of each program; `offered`: as tools too."""
    return templates.render(config, "fordjent/programs.md.j2", programs=found, offered=offered)


def unfinished(config: Config, lacking: str, way_out: str) -> str:
    """That it has not done what its role is for."""
    return templates.render(config, "fordjent/unfinished.md.j2", lacking=lacking, way_out=way_out)


def instructions(git: Git, commit: str) -> str:
    """The text of .fordjent/instructions.md in a commit; "" when it is no regular file there.

    Read from git's objects, so that a symbolic link leads nowhere.
    """
    try:
        entry = Entry(0o40000, git.objects.tree_of(commit))
        for name in INSTRUCTIONS:
            inside = git.objects.tree(entry.oid).get(name) if entry.is_tree else None
            if inside is None:
                return ""
            entry = inside
        text = git.objects.read(entry.oid) if entry.is_file else b""
    except BadData:  # no such commit: the repository is empty
        return ""
    plain = text.decode("utf-8", "replace")
    cut = "" if len(plain) <= INSTRUCTIONS_CHARACTERS else "\n[the rest is left out]"
    return cutting.beginning(plain, INSTRUCTIONS_CHARACTERS) + cut


def _render(config: Config, template: str, brief: Brief, inputs: Sequence[Input], *, goes_on: bool) -> str:
    """`goes_on`: what was said before stands above it in the conversation."""
    values = {name: getattr(brief.subject, name) for name in Subject.__struct_fields__}
    values |= {name: getattr(brief, name) for name in Brief.__struct_fields__ if name != "subject"}
    told = [_told(one) for one in inputs]
    return templates.render(config, template, **values, inputs=told, goes_on=goes_on)


def _told(given: Input) -> Told:
    what = {
        "opened": "It was opened",
        "comment": "A comment",
        "review": "A review",
        "label": "A label was set",
        "head": "The pull request has new commits",
        "retry": "It is tried again",
        "checks": "Checks of the pull request have failed",
        "resumed": "It goes on",
        "parts": "All its parts are done",
    }[given.kind]
    return Told(what, given.author, "" if given.kind == "opened" else given.text)
