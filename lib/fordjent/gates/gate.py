"""What the gates are asked, and what they answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from fordjent.context import Context
    from fordjent.forge.forge import Forge
    from fordjent.session_key import SessionKey
    from fordjent.workspaces.place import Place
    from harness.git import Person
    from harness.worktrees.leftovers import Withheld

LISTED = 20
"""Files that a verdict names."""


@dataclass(frozen=True)
class Proposal:
    """A pull request to be: the branch of `place`, by `title` and `body`.

    `forge` acts as the role. `effect` names the attempt once and for all: a restart that makes it
    again opens nothing twice. `run`: of it is the folder for what the gates run. `head` and `base`
    as the agent named them; "": the session's. `waited`: it is tried again, and who tries it sees to
    the row that says so.
    """

    context: Context
    forge: Forge
    place: Place
    run: str
    title: str
    body: str
    effect: str
    head: str = ""
    base: str = ""
    labels: tuple[str, ...] = ()
    reviewers: tuple[str, ...] = ()
    person: Person | None = None
    waited: bool = False

    @property
    def key(self) -> SessionKey:
        return self.place.key


class Passed(msgspec.Struct, frozen=True, kw_only=True, tag_field="verdict", tag="passed"):
    """`commit`: what the verdict is about; `note`: what is worth knowing all the same."""

    gate: str
    commit: str = ""
    note: str = ""


class Blocked(msgspec.Struct, frozen=True, kw_only=True, tag_field="verdict", tag="blocked"):
    """`what_to_do`: for the agent, in a sentence or two."""

    gate: str
    reason: str
    what_to_do: str
    commit: str = ""
    files: list[str] = []

    def __str__(self) -> str:
        return f"{self.reason}\n{self.what_to_do}".strip()


class Waiting(msgspec.Struct, frozen=True, kw_only=True, tag_field="verdict", tag="waiting"):
    """Nothing to be done: it is tried again by itself when one of the pull requests is merged or closed."""

    gate: str
    for_pulls: list[int]
    files: list[str]
    commit: str = ""

    @property
    def reason(self) -> str:
        numbers = ", ".join(f"#{number}" for number in self.for_pulls)
        return f"waits for {numbers}, which {'changes' if len(self.for_pulls) == 1 else 'change'} {listed(self.files)} too"

    def __str__(self) -> str:
        return (
            f"The work is pushed, and its pull request {self.reason}. "
            "It is opened by itself when that is merged or closed: nothing is left to do."
        )


class Opened(msgspec.Struct, frozen=True, kw_only=True, tag_field="verdict", tag="opened"):
    """`existing`: it was open already. `notes`: labels or reviewers that the forge did not take."""

    gate: str
    number: int
    url: str
    existing: bool = False
    commit: str = ""
    notes: list[str] = []

    def __str__(self) -> str:
        what = "was open already, and has the new commits" if self.existing else "is open"
        return "\n".join([f"Pull request #{self.number} {what}: {self.url}", *self.notes])


class Begun(msgspec.Struct, frozen=True, kw_only=True, tag_field="verdict", tag="begun"):
    """The repository was empty, and has its first commits now."""

    gate: str
    branch: str
    commit: str

    def __str__(self) -> str:
        return f"The repository's first commits are on {self.branch}, up to {self.commit[:12]}."


Verdict = Passed | Blocked | Waiting | Opened | Begun


def listed(names: list[str]) -> str:
    """Names for a sentence; of many the first."""
    more = len(names) - LISTED
    return ", ".join(names[:LISTED]) + (f" and {more} more" if more > 0 else "")


def no_secret(found: Sequence[Withheld]) -> str:
    """The way on where what was found only looks like a secret; "": nothing does."""
    if not any(one.has_fingerprint for one in found):
        return ""
    return (
        " If it is no secret, say so in a comment with its fingerprint: "
        "in secret_scan.allow of config.toml an operator lets it pass."
    )
