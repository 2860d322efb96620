"""fordjent-session: run one session now."""

from __future__ import annotations

from fordjent.cli import LoggingCommand
from harness.command_line import cli
from harness.errors import EX_OK, EX_TEMPFAIL

EXIT_CODES = {"completed": EX_OK, "waiting": EX_OK, "blocked": EX_OK, "failed": 1, "working": EX_TEMPFAIL}


class Session(LoggingCommand):
    """Run the session of an issue or pull request now, and show what happens.

    It is given what waits for it; where nothing does, it is begun, or begun again. Exit code 0: it came to
    an end, 1: it failed, 75: forge or model are away, and it goes on later.
    """

    PROGNAME = "fordjent-session"
    DESCRIPTION_MORE = "Example:  fordjent-session acme/widget/issues/42"

    role = cli.SwitchAttr(
        ["--role"], str, argname="NAME", default="", help="pm, implementer, reviewer, tester or devops"
    )

    def main(self, key: str) -> int:
        import asyncio

        from fordjent.session_key import SessionKey
        from fordjent.sessions import by_hand
        from harness import process

        config = self.load_config()
        process.hide_memory()  # without a sandbox an agent's programs could read the tokens in it
        self.begin_log(config)
        session = asyncio.run(
            by_hand.run(config, SessionKey.parse(key), self.role, lambda line: print(line, flush=True))
        )
        failure = f" ({session.failure})" if session.failure else ""
        print(f"{session.key} is {session.state}{failure}: {session.reason}")
        return EXIT_CODES.get(session.state, EX_OK)


def main() -> None:
    Session.start()
