"""The parser of command lines: there without the rest of plumbum, which is there all the same when asked for."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

LIB = Path(__file__).resolve().parents[2] / "lib"


def python(code: str) -> str:
    """What a fresh interpreter prints."""
    words = [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(LIB)!r}); {code}"]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_a_command_starts_without_what_its_command_line_does_not_need() -> None:
    heavy = ("urllib.request", "http.client", "email", "ssl", "logging", "plumbum.machines")
    said = python(f"import ent_agent.commands.select; print([m for m in {heavy} if m in sys.modules])")
    assert said == "[]"


def test_the_rest_of_plumbum_is_there_when_it_is_asked_for() -> None:
    given = python("import harness.command_line; from plumbum import local; print(local.path('/usr').name)")
    loaded = python("import harness.command_line; from plumbum import SshMachine; print(SshMachine.__name__)")
    assert (given, loaded) == ("usr", "SshMachine")


def test_options_that_name_files_work_with_the_parser_alone() -> None:
    assert (
        python("from harness.command_line import cli; print(cli.ExistingFile('/etc/passwd'))")
        == "/etc/passwd"
    )


def test_plumbum_as_a_whole_may_have_been_imported_before() -> None:
    said = python("import plumbum; from harness.command_line import cli; print(cli is plumbum.cli)")
    assert said == "True"
