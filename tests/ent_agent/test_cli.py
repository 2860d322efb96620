"""The shell around a step: where records come from, where errors go, and how it ends."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
TOY = [sys.executable, "-m", "tests.support.toy_steps"]


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": f"{ROOT}/lib:{ROOT}"}


def toy(name: str, *options: str, stdin: bytes | None = None) -> subprocess.CompletedProcess[bytes]:
    """A toy step with a pipe (`stdin`), or with /dev/null."""
    given: dict[str, Any] = {"stdin": subprocess.DEVNULL} if stdin is None else {"input": stdin}
    return subprocess.run(
        [*TOY, name, *options], **given, capture_output=True, env=environment(), timeout=60, check=False
    )


def record(name: str = "Robo", **more: Any) -> bytes:
    return (
        json.dumps({"agent": {"id": "robo", "name": name, "email": "r@example.org"}, **more}).encode() + b"\n"
    )


def lines(ran: subprocess.CompletedProcess[bytes]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in ran.stdout.splitlines()]


def errors(ran: subprocess.CompletedProcess[bytes]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in ran.stderr.splitlines()]


def test_dev_null_means_start_from_the_configuration(config_file: Path) -> None:
    ran = toy("echo")
    assert ran.returncode == 0, ran.stderr
    assert lines(ran)[0]["agent"]["name"] == "Robo"


def test_a_terminal_means_start_from_the_configuration(config_file: Path) -> None:
    ours, theirs = os.openpty()
    try:
        ran = subprocess.run([*TOY, "echo"], stdin=theirs, capture_output=True, env=environment(), timeout=60)
    finally:
        os.close(ours)
        os.close(theirs)
    assert lines(ran)[0]["agent"]["name"] == "Robo"


def test_a_closed_stdin_means_start_from_the_configuration(config_file: Path) -> None:
    ran = subprocess.run(
        ["sh", "-c", 'exec "$@" <&-', "sh", *TOY, "echo"], capture_output=True, env=environment(), timeout=60
    )
    assert lines(ran)[0]["agent"]["name"] == "Robo", ran.stderr


def test_an_empty_pipe_means_nothing_to_do(config_file: Path) -> None:
    ran = toy("echo", stdin=b"")
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, b"", b"")


def test_a_closed_stdout_is_no_crash(config_file: Path) -> None:
    ran = subprocess.run(
        ["sh", "-c", 'exec "$@" >&-', "sh", *TOY, "echo"],
        stderr=subprocess.PIPE,
        env=environment(),
        timeout=60,
    )
    assert b"Traceback" not in ran.stderr


def test_a_reader_that_leaves_is_no_failure(config_file: Path) -> None:
    pipe = subprocess.run(
        [
            "bash",
            "-c",
            'yes "$RECORD" | head -n 20000 | "$@" | head -n 1; echo "${PIPESTATUS[2]}"',
            "-",
            *TOY,
            "echo",
        ],
        capture_output=True,
        env={**environment(), "RECORD": record().decode().strip()},
        timeout=60,
    )
    assert pipe.stdout.splitlines()[-1] == b"0"
    assert pipe.stderr == b""


def test_each_record_is_written_before_the_next_is_read(config_file: Path) -> None:
    running = subprocess.Popen(
        [*TOY, "echo"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment()
    )
    assert running.stdin and running.stdout
    for number in range(3):
        running.stdin.write(record(number=number))
        running.stdin.flush()
        assert json.loads(running.stdout.readline())["number"] == number
    running.communicate()
    assert running.returncode == 0


def test_unknown_fields_pass_through_at_any_depth(config_file: Path) -> None:
    comment = {
        "id": "c",
        "author": "a",
        "creation_time": "2026-01-01T00:00:00+00:00",
        "description": "d",
        "reactions": ["+1"],
    }
    issue = {
        "id": "1a",
        "title": "t",
        "description": "t",
        "state": "new",
        "votes": {"up": 2, "deep": [{"x": 1.5}]},
        "comments": [comment],
    }
    came = {
        "agent": {"id": "robo", "name": "Robo", "email": "r@example.org", "mood": None},
        "issue": issue,
        "extra": [1, {"a": "ü"}],
    }
    ran = toy("echo", stdin=json.dumps(came).encode())
    out = lines(ran)[0]
    assert out["extra"] == came["extra"]
    assert out["agent"]["mood"] is None and "mood" in out["agent"]
    assert out["issue"]["votes"] == issue["votes"]
    assert out["issue"]["comments"][0]["reactions"] == ["+1"]


def test_a_failure_goes_on_in_the_record_and_is_said_on_stderr(config_file: Path) -> None:
    ran = toy("fail", stdin=record("later", keep=1) + record("fine") + record("data"))
    first, second, third = lines(ran)
    assert first["keep"] == 1
    assert first["error"] == {
        "code": "try_later",
        "message": "not now",
        "hint": "wait",
        "retry": True,
        "resume_at": "2026-01-01T00:00:00+00:00",
        "exit_code": 75,
    }
    assert "error" not in second
    assert third["error"]["code"] == "bad_data"
    assert errors(ran) == [first["error"], third["error"]]
    assert ran.returncode == 65


def test_the_code_of_the_last_failure_stays_when_a_good_record_follows(config_file: Path) -> None:
    assert toy("fail", stdin=record("later") + record("fine")).returncode == 75


def test_a_record_with_an_error_is_passed_through(config_file: Path) -> None:
    came = record("data", error={"code": "busy", "message": "m", "exit_code": 75})
    ran = toy("fail", stdin=came)
    assert ran.returncode == 0
    assert lines(ran)[0]["error"]["message"] == "m"
    assert ran.stderr == b""


def test_a_step_that_works_on_errors_may_clear_them(config_file: Path) -> None:
    ran = toy("clear", stdin=record(error={"code": "busy", "message": "m", "exit_code": 75}))
    assert "error" not in lines(ran)[0]


def test_a_failed_record_among_several_does_not_swallow_the_others(config_file: Path) -> None:
    ran = toy("two", stdin=record(extra="kept"))
    assert [(line.get("skipped"), line["extra"]) for line in lines(ran)] == [
        (None, "kept"),
        ("second", "kept"),
    ]
    assert ran.returncode == 65
    assert [error["message"] for error in errors(ran)] == ["first"]


@pytest.mark.parametrize(
    ("number", "code", "exit_code"),
    [("ENOSPC", "disk_full", 75), ("EROFS", "configuration", 78), ("EACCES", "configuration", 78)],
)
def test_a_disk_that_is_full_or_not_writable_is_said_in_a_sentence(
    config_file: Path, number: str, code: str, exit_code: int
) -> None:
    ran = toy("fail", stdin=record(number))
    assert ran.returncode == exit_code
    [said] = errors(ran)
    assert said["code"] == code and said["message"].startswith("/srv/state/lock: ")
    assert [line["error"]["code"] for line in lines(ran)] == [code]
    assert toy("fail", stdin=record("EXDEV")).returncode == 70


def test_a_bug_is_seen_and_is_70(config_file: Path) -> None:
    ran = toy("fail", stdin=record("bug"))
    assert ran.returncode == 70
    assert b"KeyError" in ran.stderr and ran.stdout == b""


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (b"{", "line 2: not a record"),
        (b"[]", "line 2: not a record"),
        (b'{"schema_version": 2}', "schema_version 2"),
        (b'{"agent": {"id": 1}}', "line 2: not a record"),
        (b"\xff", "line 2: not a record"),
        pytest.param(b"[" * 100_000, "line 2: not a record", id="nested without end"),
    ],
)
def test_what_is_no_record_is_bad_data_with_its_line(config_file: Path, line: bytes, says: str) -> None:
    ran = toy("echo", stdin=record() + line + b"\n")
    assert ran.returncode == 65
    assert says in errors(ran)[0]["message"]
    assert len(lines(ran)) == 1


def test_a_record_without_a_needed_section_is_bad_data(config_file: Path) -> None:
    ran = toy("echo", stdin=b'{"schema_version":1}')
    assert ran.returncode == 65
    assert "no section 'agent'" in lines(ran)[0]["error"]["message"]


@pytest.mark.parametrize("options", [["--nonsense"], ["argument"], ["--config"]])
def test_usage_errors_are_64_and_leave_stdout_alone(config_file: Path, options: list[str]) -> None:
    ran = toy("echo", *options)
    assert (ran.returncode, ran.stdout) == (64, b"")
    assert errors(ran)[0]["code"] == "usage"


def test_help_has_an_example_and_version_a_number(place: Path) -> None:
    shown = toy("echo", "--help")
    assert shown.returncode == 0 and b"Example:" in shown.stdout
    assert toy("echo", "--version").stdout.strip().endswith(b"0.1.0")


def test_no_configuration_is_78(place: Path) -> None:
    ran = toy("echo")
    assert ran.returncode == 78
    assert errors(ran)[0]["hint"].startswith("write one with `invoke init`")


def test_an_issue_must_be_named_where_none_comes_in(config_file: Path) -> None:
    ran = toy("issue")
    assert ran.returncode == 64
    assert "--issue" in errors(ran)[0]["message"]


def test_with_an_issue_named_the_records_of_others_pass_through(config_file: Path) -> None:
    def of(issue: str) -> bytes:
        return record(issue={"id": issue, "title": "", "description": "", "state": "new"})

    ran = toy("issue", "--issue", "1a", stdin=of("1a2b") + of("2b1a"))
    assert [(line["issue"]["id"], line.get("skipped")) for line in lines(ran)] == [
        ("1a2b", "worked"),
        ("2b1a", None),
    ]


def test_nothing_of_the_locale_matters(config_file: Path) -> None:
    came = record("Zoë ☃", path="/tmp/é")
    ran = subprocess.run(
        [*TOY, "echo", "--config", "config.toml"],
        input=came,
        capture_output=True,
        env={
            "PATH": os.environ["PATH"],
            "LC_ALL": "C",
            "PYTHONUTF8": "0",
            "PYTHONPATH": f"{ROOT}/lib:{ROOT}",
        },
        timeout=60,
    )
    assert lines(ran)[0]["agent"]["name"] == "Zoë ☃", ran.stderr
