"""fordjent-decide: show what an event would start."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any

import msgspec

from fordjent.cli import Command
from harness.command_line import cli
from harness.errors import BadConfig, BadData

if TYPE_CHECKING:
    from fordjent.config import Config
    from fordjent.deciding.event import Event
    from fordjent.deciding.facts import Facts


class Decide(Command):
    """Print what the delivery on standard input would start, an action a line; nothing is touched or asked.

    What is known of the issue is read from the database, where there is one; what an option says goes before that.
    """

    PROGNAME = "fordjent-decide"
    DESCRIPTION_MORE = "Example:  fordjent-decide --bot fordjent --labels-before bug,ready < delivery.json"

    event_type = cli.SwitchAttr(
        ["--event-type"], str, argname="TYPE", default="", help="X-Forgejo-Event-Type; else by what it holds"
    )
    permission = cli.SwitchAttr(
        ["--permission"],
        cli.Set("owner", "admin", "write", "read", "none", case_sensitive=True),
        default="",
        help="of the sender; else as last asked, else write",
    )
    bots = cli.SwitchAttr(["--bot"], str, list=True, argname="LOGIN", help="a login of the bot's own, too")
    reviewer_login = cli.SwitchAttr(
        ["--reviewer-login"], str, argname="LOGIN", default=None, help="of a reviewer with its own account"
    )
    labels_before = cli.SwitchAttr(
        ["--labels-before"], str, argname="NAMES", default=None, help="as they were, with commas between"
    )
    assignees_before = cli.SwitchAttr(
        ["--assignees-before"], str, argname="LOGINS", default=None, help="as they were, with commas between"
    )
    session_role = cli.SwitchAttr(
        ["--session-role"], str, argname="ROLE", default=None, help="of the session that there is"
    )
    author_role = cli.SwitchAttr(
        ["--author-role"], str, argname="ROLE", default=None, help="of the session that made the pull request"
    )
    head_message = cli.SwitchAttr(
        ["--head-message"], str, argname="TEXT", default=None, help="message of the newest commit"
    )
    runs_last_hour = cli.SwitchAttr(
        ["--runs-last-hour"], cli.Range(0, 10**6), argname="N", default=None, help="of the session"
    )
    is_pull = cli.Flag(
        ["--is-pull"], help="the comment is on a pull request, where the delivery does not say"
    )
    ours = cli.Flag(["--ours"], help="the comment is one that the bot wrote")
    require_role = cli.Flag(["--require-role"], help="as sessions.require_role")

    def main(self) -> int:
        from fordjent.deciding.decide import decide
        from fordjent.deciding.event import guess_type, read

        body = sys.stdin.buffer.read()
        if not body.strip():
            raise BadData("standard input is empty", hint="give a delivery's JSON document: < delivery.json")
        event = read(self.event_type or guess_type(body), body)
        config = self._config()
        found, permission = _known(config, event)
        facts = msgspec.structs.replace(
            found,
            permission=self.permission or permission or "write",
            bot_logins=found.bot_logins | {login.casefold() for login in self.bots},
            **self._given(found),
        )
        if not (self.permission or permission):
            sys.stderr.write(
                f"what {event.sender} may do is not known here: write is assumed (--permission)\n"
            )
        for action in decide(event, facts):
            sys.stdout.buffer.write(msgspec.json.encode(action) + b"\n")
        return 0

    def _config(self) -> Config | None:
        """None: there is none; a wrong one is said."""
        from harness import config as toml

        try:
            toml.locate(self.config_path or None)
        except BadConfig:
            if self.config_path:
                raise
            return None
        return self.load_config()

    def _given(self, found: Facts) -> dict[str, Any]:
        given: dict[str, Any] = {
            "reviewer_login": self.reviewer_login,
            "labels_before": _names(self.labels_before),
            "assignees_before": _names(self.assignees_before),
            "session_role": self.session_role,
            "author_role": self.author_role,
            "head_message": self.head_message,
            "is_pull": True if self.is_pull else None,
            "ours": True if self.ours else None,
            "require_role": True if self.require_role else None,
        }
        if self.runs_last_hour is not None:
            over = self.runs_last_hour >= found.max_runs_per_hour
            given |= {
                "runs_last_hour": self.runs_last_hour,
                "held_until": (found.held_until or time.time() + 3600) if over else 0.0,
            }
        return {name: value for name, value in given.items() if value is not None}


def _names(given: str | None) -> tuple[str, ...] | None:
    return None if given is None else tuple(name for name in given.split(",") if name)


def _known(config: Config | None, event: Event) -> tuple[Facts, str]:
    """The facts, and the sender's permission as it was last asked ("": never)."""
    from fordjent.config import Forgejo
    from fordjent.deciding.facts import Facts, Identity, from_known

    logins = config.forgejo.bot_logins if config else Forgejo(url="-", token="-").bot_logins
    identity = Identity(frozenset(login.casefold() for login in logins), "")
    if config is None:
        return Facts(bot_logins=identity.bot_logins), ""
    from fordjent.store import connecting, known, permissions

    if not connecting.file_of(config.database_url).is_file():
        return from_known(config, known.NOTHING, identity), ""
    engine = connecting.reading(config.database_url, 1)
    with engine.connect() as connection:
        found = known.of_event(connection, event, time.time())
        permission = permissions.get(connection, event.repository, event.sender, 0.0)
    engine.dispose()
    return from_known(config, found, identity), permission[0] if permission else ""


def main() -> None:
    Decide.start()
