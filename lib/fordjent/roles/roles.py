"""The roles: one table from which detection, guidance, prompts and tool sets come."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from fordjent.config import Config

DEFAULT = "implementer"

_LOOKING = (
    "forgejo_comment",
    "forgejo_list_issues",
    "forgejo_get_issue",
    "forgejo_get_sub_issues",
    "forgejo_get_sibling_issues",
    "forgejo_list_prs",
    "forgejo_pr_files",
    "forgejo_pr_diff",
    "forgejo_search_code",
    "forgejo_add_reaction",
    "forgejo_list_branches",
    "forgejo_list_files",
    "forgejo_list_hooks",
    "forgejo_list_collabs",
    "forgejo_version",
    "forgejo_user",
    "read_file",
    "remember",
)
_WORKING = (
    *_LOOKING,
    "forgejo_create_issue",
    "forgejo_labels",
    "forgejo_create_pr",
    "forgejo_merge_pr",
    "bash",
    "write_file",
    "edit_file",
    "git",
)
"""Merging is there as the policy lets it be."""

ONLY_BY_NAME = (
    "forgejo_delete_branch",
    "forgejo_create_hook",
    "forgejo_delete_hook",
    "forgejo_create_token",
)
"""Tools that no role has unless config.toml lists them for it."""


class Role(msgspec.Struct, frozen=True, kw_only=True):
    """What a session acts as. `max_turns` counts per run; `prompt` is the name of a template."""

    name: str
    title_tags: tuple[str, ...]
    labels: tuple[str, ...]
    max_turns: int
    tools: tuple[str, ...]
    writes_code: bool
    makes_pull: bool
    prompt: str
    guidance: str

    @property
    def label(self) -> str:
        """The one to be set for it."""
        return self.labels[0]


_ALL = (
    Role(
        name="pm",
        title_tags=("[pm]", "[project manager]", "[decompose]"),
        labels=("role:pm", "role:project-manager"),
        max_turns=15,
        tools=(*_LOOKING, "forgejo_create_issue", "forgejo_labels"),
        writes_code=False,
        makes_pull=False,
        prompt="fordjent/pm.md.j2",
        guidance="splits the issue into sub-issues; writes no code",
    ),
    Role(
        name="reviewer",
        title_tags=("[review]", "[code review]", "[reviewer]"),
        labels=("role:reviewer", "role:code-reviewer"),
        max_turns=20,
        tools=(*_LOOKING, "forgejo_review"),
        writes_code=False,
        makes_pull=False,
        prompt="fordjent/reviewer.md.j2",
        guidance="reads the code and says what it finds; changes nothing",
    ),
    Role(
        name="devops",
        title_tags=("[devops]", "[infra]", "[ci/cd]", "[docker]"),
        labels=("role:devops", "role:infra"),
        max_turns=25,
        tools=_WORKING,
        writes_code=True,
        makes_pull=True,
        prompt="fordjent/devops.md.j2",
        guidance="changes builds, pipelines and deployment, in a pull request",
    ),
    Role(
        name="tester",
        title_tags=("[test]", "[tester]", "[testing]", "[qa]"),
        labels=("role:tester", "role:test-engineer"),
        max_turns=25,
        tools=_WORKING,
        writes_code=True,
        makes_pull=True,
        prompt="fordjent/tester.md.j2",
        guidance="writes tests, in a pull request",
    ),
    Role(
        name="implementer",
        title_tags=("[implementer]", "[implement]", "[dev]", "[developer]", "[scaffold]"),
        labels=("role:implementer", "role:developer"),
        max_turns=50,
        tools=_WORKING,
        writes_code=True,
        makes_pull=True,
        prompt="fordjent/implementer.md.j2",
        guidance="makes the change, in a pull request",
    ),
)

ROLES: dict[str, Role] = {role.name: role for role in _ALL}
"""In the order in which they are looked for."""


def detect(title: str, labels: Iterable[str]) -> Role | None:
    """The role that an issue names: by a tag in its title, else by a label; never by its prose."""
    title = title.casefold()
    names = {label.casefold() for label in labels}
    return _first(lambda role: any(tag in title for tag in role.title_tags)) or _first(
        lambda role: not names.isdisjoint(role.labels)
    )


def configured(config: Config, name: str) -> Role:
    """The role as config.toml wants it: its own turns, tools and template where it gives some."""
    role, wanted = ROLES[name], config.roles.get(name)
    if wanted is None:
        return role
    return msgspec.structs.replace(
        role,
        max_turns=wanted.max_turns or role.max_turns,
        tools=tuple(wanted.tools) or role.tools,
        prompt=wanted.prompt or role.prompt,
    )


def _first(suits: Callable[[Role], bool]) -> Role | None:
    return next((role for role in _ALL if suits(role)), None)
