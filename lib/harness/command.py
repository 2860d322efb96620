"""The shell around every command: --config, sysexits codes, failures on stderr as one line of JSON."""

from __future__ import annotations

import os
import sys
import traceback
from typing import Any

import msgspec

from harness import __version__, process
from harness.command_line import SwitchError, cli
from harness.errors import EX_SOFTWARE, Failure, OutputRefused, Usage, of_disk
from harness.streams import open_closed_streams, speak_utf8

PARENT_VARIABLE = "ENT_AGENT_PARENT"
"""Set by who starts a command to its own process id: the command ends (TERM) when that one does."""


class Command(cli.Application):
    """What all our commands share: --config, sysexits codes, one-line errors on stderr."""

    VERSION = __version__
    CALL_MAIN_IF_NESTED_COMMAND = False

    config_path = cli.SwitchAttr(
        ["--config"],
        str,
        argname="PATH",
        default="",
        help="config.toml; else $ENT_AGENT_CONFIG, ./config.toml, the XDG place",
    )

    @classmethod
    def start(cls) -> None:
        """Run as a program; never returns."""
        exit_code = EX_SOFTWARE
        try:
            open_closed_streams()
            speak_utf8()
            if PARENT_VARIABLE in os.environ:
                process.die_with_parent(int(os.environ.pop(PARENT_VARIABLE)))
            _, exit_code = cls(sys.argv[0])._parse_and_dispatch(sys.argv[1:])
            sys.stdout.flush()
        except Failure as failure:
            report(failure)
            exit_code = failure.exit_code
        except BrokenPipeError:
            _leave(1)
            exit_code = 0
        except KeyboardInterrupt:
            exit_code = 130
        except Exception as error:
            refused = _output_refused() or of_disk(error) if isinstance(error, OSError) else None
            if refused:
                report(refused)
                exit_code = refused.exit_code
            else:
                traceback.print_exc()
        left = _output_refused()
        if left:
            report(left)
            exit_code = left.exit_code
        sys.exit(exit_code)

    # plumbum prints usage errors, and the whole help, on stdout: into the next step

    def _parse_args(self, argv: list[str]) -> Any:
        return _usage_errors_raised(super()._parse_args, argv)

    def _validate_args(self, swfuncs: Any, tailargs: Any) -> Any:
        return _usage_errors_raised(super()._validate_args, swfuncs, tailargs)


def error_fields(failure: Failure) -> dict[str, Any]:
    """A failure as the JSON object that docs/contract.md describes."""
    return {
        "code": failure.code,
        "message": failure.message,
        "hint": failure.hint,
        "retry": failure.retry,
        "resume_at": failure.resume_at,
        "exit_code": failure.exit_code,
    }


def report(failure: Failure | msgspec.Struct) -> None:
    """The failure, or a record's `error`, on stderr: one line of JSON (docs/contract.md)."""
    shown = error_fields(failure) if isinstance(failure, Failure) else failure
    try:
        sys.stderr.buffer.write(msgspec.json.encode(shown) + b"\n")
        sys.stderr.buffer.flush()
    except OSError:  # nobody can be told: the exit code still says it
        _leave(2)


def _output_refused() -> OutputRefused | None:
    """Whether stdout does not take what is left for it, which is then given up: else Python ends with its own 120."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        _leave(1)
    except OSError as error:
        _leave(1)
        return OutputRefused(f"stdout: {error.strerror}", hint="make room where the output goes")
    return None


def _leave(descriptor: int) -> None:
    """Let what is written there from now on go nowhere."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, descriptor)
    os.close(nowhere)


def _usage_errors_raised(parse: Any, *args: Any) -> Any:
    try:
        return parse(*args)
    except SwitchError as error:
        if type(error).__name__.startswith("Show"):  # --help, --version
            raise
        message = str(error).split(":\n")[0].replace("<class 'int'>", "a whole number")
        raise Usage(message, hint="--help shows the options, with an example") from error
