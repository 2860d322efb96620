"""What must be known, besides the event itself, to decide about it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from fordjent.roles.roles import DEFAULT

if TYPE_CHECKING:
    from fordjent.config import Config
    from fordjent.store.known import Known

HOUR = 3600.0
WRITERS = frozenset(("owner", "admin", "write"))


class Inline(msgspec.Struct, frozen=True, kw_only=True):
    """A review's comment on a line of a file."""

    path: str
    line: int
    text: str
    hunk: str = ""


class KnownReview(msgspec.Struct, frozen=True, kw_only=True):
    """The review that an event tells of, as the forge has it."""

    id: int
    inline: tuple[Inline, ...] = ()


class Identity(msgspec.Struct, frozen=True):
    """`bot_logins`: casefolded, of every account that we act as. `reviewer_login` "": none of its own."""

    bot_logins: frozenset[str]
    reviewer_login: str


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """`labels_before`, `assignees_before` None: the issue was never seen.

    `session_role` "": there is no session. `author_role`: of the session that made the bot's
    own pull request. `reviewer_login`: of a reviewer with an account of its own. `ours`: the
    comment is known to be one that we wrote. `head_message`: of a pull request's newest
    commit, where it is known. `review` None: the forge was not asked, or does not have it.
    `review_told`: every review that it can be was told to the session before.
    `waits`: the scheduler has the issue; `blocked_by_us`: it set the label. `waits_for`: what the issue
    depends on and is not done; `is_empty`: the repository has no commit; `scaffold`: the issue that makes
    the first one, 0: none does yet.
    `runs_last_hour`: of the session; `held_until`: when there are fewer of them than are allowed.
    """

    bot_logins: frozenset[str] = frozenset()
    reviewer_login: str = ""
    allowed_senders: frozenset[str] = frozenset()
    permission: str = "none"
    ours: bool = False
    is_pull: bool | None = None
    labels_before: tuple[str, ...] | None = None
    assignees_before: tuple[str, ...] | None = None
    session_role: str = ""
    author_role: str = DEFAULT
    head_message: str = ""
    review: KnownReview | None = None
    review_told: bool = False
    default_branch: str = ""
    protected_branches: frozenset[str] = frozenset()
    commit_prefix: str = "[agent-automation]"
    require_role: bool = False
    max_runs_per_hour: int = 12
    waits: bool = False
    blocked_by_us: bool = False
    waits_for: tuple[int, ...] = ()
    is_empty: bool = False
    scaffold: int = 0
    runs_last_hour: int = 0
    held_until: float = 0.0

    def is_bot(self, login: str) -> bool:
        """Logins are told apart as the forge does: without regard to case."""
        return login.casefold() in self.bot_logins

    def may_start(self, login: str) -> bool:
        return self.permission in WRITERS or login.casefold() in self.allowed_senders

    def is_protected(self, branch: str) -> bool:
        return branch in self.protected_branches or branch == self.default_branch


def from_known(config: Config, found: Known, identity: Identity) -> Facts:
    """All but what the forge has to be asked for each event: the sender may do nothing."""
    limit, starts = config.sessions.max_runs_per_hour, found.run_starts
    return Facts(
        bot_logins=identity.bot_logins,
        reviewer_login=identity.reviewer_login,
        allowed_senders=frozenset(login.casefold() for login in config.forgejo.allowed_senders),
        ours=found.ours,
        is_pull=found.is_pull,
        labels_before=found.issue.labels if found.issue else None,
        assignees_before=found.issue.assignees if found.issue else None,
        session_role=found.session_role,
        author_role=found.author_role,
        head_message=found.head_message,
        waits=found.waiting is not None,
        blocked_by_us=found.waiting is not None and found.waiting.labelled,
        scaffold=found.scaffold,
        default_branch=found.default_branch,
        protected_branches=frozenset(config.policy.protected_branches),
        commit_prefix=config.agent.commit_prefix,
        require_role=config.sessions.require_role,
        max_runs_per_hour=limit,
        runs_last_hour=len(starts),
        held_until=starts[-limit] + HOUR if len(starts) >= limit else 0.0,
    )
