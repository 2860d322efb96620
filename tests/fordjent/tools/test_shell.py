"""bash: what it says, what it leaves behind, and what it can get at."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from pathlib import Path

import psutil
import pytest

from fordjent.models.messages import ToolCall
from tests.support import grounds
from tests.support.grounds import SECRET, Workbench


def sleepers(bench: Workbench) -> list[int]:
    """What sleeps in the folder."""
    found = []
    for each in psutil.process_iter():
        try:
            if each.name() == "sleep" and Path(each.cwd()) == bench.folder:
                found.append(each.pid)
        except psutil.Error:
            continue
    return found


@pytest.fixture(params=["bench", "open_bench"])
def either(request: pytest.FixtureRequest) -> Workbench:
    """With a sandbox, and without."""
    found = request.getfixturevalue(request.param)
    assert isinstance(found, Workbench)
    return found


def test_both_outputs_and_the_exit_code_are_told(either: Workbench) -> None:
    result = either.use("bash", command="echo out; echo err >&2; exit 3")

    assert result.text == "out\nerr\n[exit code 3]" and result.failed


def test_success_is_no_failure(either: Workbench) -> None:
    result = either.use("bash", command="pwd; echo x > made")

    assert result.text == f"{either.folder}\n[exit code 0]" and not result.failed
    assert (either.folder / "made").read_text() == "x\n"


def test_it_reads_nothing(either: Workbench) -> None:
    assert either.use("bash", command="cat; echo end").text == "end\n[exit code 0]"


def test_after_its_time_all_that_it_started_is_killed(either: Workbench) -> None:
    begun = time.monotonic()

    result = either.use(
        "bash", command="(trap '' TERM; sleep 98761) & setsid sleep 98762 & sleep 98763", timeout=1
    )

    assert "time limit" in result.text and result.failed
    assert time.monotonic() - begun < 15
    assert sleepers(either) == []


def test_a_background_child_neither_holds_the_call_nor_outlives_it(either: Workbench) -> None:
    begun = time.monotonic()

    result = either.use("bash", command="sleep 98765 & (setsid sleep 98766 &) ; echo done")

    assert result.text == "done\n[exit code 0]" and not result.failed
    assert time.monotonic() - begun < 10
    assert sleepers(either) == []


def test_a_hundred_megabytes_are_cut_and_still_a_success(bench: Workbench) -> None:
    result = bench.use(
        "bash", command="echo first; head -c 100000000 /dev/zero | tr '\\0' 'x' | fold; echo; echo last"
    )

    assert not result.failed and len(result.text) < 33_000
    assert result.text.startswith("first\n") and result.text.endswith("last\n[exit code 0]")
    assert "left out here" in result.text


def test_long_output_keeps_its_two_ends(bench: Workbench) -> None:
    result = bench.use("bash", command="seq 1 20000")

    assert result.text.startswith("1\n2\n") and "19999\n20000\n" in result.text and len(result.text) < 33_000
    assert result.text.count("left out here") == 1


def test_bytes_that_are_no_text_are_replaced(bench: Workbench) -> None:
    result = bench.use("bash", command=r"printf '\xf0|\x00|\x1b[1mbold\n'")

    assert "\x00" not in result.text and "\x1b" not in result.text and "bold" in result.text


@pytest.mark.parametrize("lines", [0, 300_000])
def test_secrets_are_redacted_also_where_output_is_cut(bench: Workbench, lines: int) -> None:
    (bench.folder / "leak").write_text(f"{SECRET}\n" * max(lines, 1))

    result = bench.use("bash", command="cat leak")

    assert SECRET[:12] not in result.text and SECRET[-12:] not in result.text and "[redacted]" in result.text


def test_no_secret_of_ours_is_in_its_environment(either: Workbench, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (
        "OPENAI_API_KEY",
        "FORGEJO_TOKEN",
        "SSH_AUTH_SOCK",
        "GIT_DIR",
        "FORDJENT_SOCKET",
        "DATABASE_URL",
    ):
        monkeypatch.setenv(name, "leaked-value")
    either.toolbox = grounds.toolbox(either.config, either.folder)

    assert "leaked" not in either.use("bash", command="env").text


def test_state_configuration_and_a_persons_keys_are_hidden(bench: Workbench) -> None:
    if bench.ground.sandbox.name == "none":
        pytest.skip("no sandbox here")
    (Path.home() / ".ssh").mkdir()
    (Path.home() / ".ssh/id").write_text("key of a person")
    (bench.config.state_dir / "fordjent.db").write_text("data of all sessions")

    result = bench.use(
        "bash", command=f"cat ~/.ssh/id {bench.config.path} {bench.config.state_dir}/fordjent.db"
    )

    assert result.failed and "key of" not in result.text and "data of" not in result.text
    assert "token" not in result.text.replace("fordjent", "")


def test_nothing_outside_can_be_written(bench: Workbench) -> None:
    if bench.ground.sandbox.name == "none":
        pytest.skip("no sandbox here")

    result = bench.use("bash", command='echo x > ../planted; echo y > "$TMPDIR/mine" && cat "$TMPDIR/mine"')

    assert "y" in result.text and not (bench.folder.parent / "planted").exists()


def test_many_processes_end_within_bounds(either: Workbench) -> None:
    begun = time.monotonic()

    result = either.use(
        "bash",
        command="for n in $(seq 60); do setsid sh -c 'sleep 98769; sleep 98769' & done; wait",
        timeout=1,
    )

    assert "time limit" in result.text and time.monotonic() - begun < 30
    assert sleepers(either) == []


def test_a_time_beyond_the_maximum_is_the_maximum(bench: Workbench) -> None:
    assert bench.use("bash", command="true", timeout=10**9).text == "[exit code 0]"


def test_cancelling_ends_what_runs(either: Workbench) -> None:
    async def cancel_soon() -> None:
        arguments = json.dumps({"command": "sleep 98764"})
        task = asyncio.create_task(either.toolbox.call(ToolCall("1", "bash", arguments)))
        for _ in range(500):
            if sleepers(either):
                break
            await asyncio.sleep(0.02)
        assert sleepers(either)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancel_soon())
    assert sleepers(either) == []


def test_nothing_is_left_of_what_was_printed(bench: Workbench) -> None:
    bench.use("bash", command="echo secretive")

    assert list(bench.ground.run_folder.outputs.iterdir()) == []


BOUNDED = "max_processes = 60\nmax_memory_bytes = 300000000\nmax_file_bytes = 5000000\n"
MANY = "for n in $(seq 90); do sleep 50 & done; wait"
BOMB = "bomb() { [ $SECONDS -lt 30 ] || exit; bomb | bomb & }; bomb; sleep 40"
"""It takes the whole machine for seconds, and would end by itself only long after the test has failed."""


@pytest.fixture(params=["auto", "none"])
def bounded(request: pytest.FixtureRequest, place: Path) -> Workbench:
    """With a sandbox, and without; little of the machine."""
    return grounds.make(place, f'[sandbox]\nbackend = "{request.param}"\n{BOUNDED}')


@pytest.mark.parametrize("command", [MANY, pytest.param(BOMB, marks=pytest.mark.stress)])
def test_a_fork_bomb_is_ended_and_told_and_the_next_command_runs(bounded: Workbench, command: str) -> None:
    result = bounded.use("bash", command=command)

    assert result.failed and "more than 60 processes at once (sandbox.max_processes)" in result.text
    assert bounded.use("bash", command="echo alive").text == "alive\n[exit code 0]"
    assert sleepers(bounded) == []


def test_a_file_that_does_not_end_is_ended_and_told(bounded: Workbench) -> None:
    result = bounded.use("bash", command="yes > endless; echo after; exit 153")

    assert "a file grew beyond what one may have (sandbox.max_file_bytes)" in result.text
    assert (bounded.folder / "endless").stat().st_size == 5_000_000
    assert bounded.use("bash", command="yes > endless").failed


def test_what_takes_all_memory_is_ended_and_told(bounded: Workbench) -> None:
    hoard = "import time; held = bytearray(b'x') * 400_000_000; time.sleep(60)"

    result = bounded.use("bash", command=f'{sys.executable} -c "{hoard}"')

    assert result.failed and "more than 300000000 bytes of memory (sandbox.max_memory_bytes)" in result.text


def test_nothing_dumps_its_memory_and_the_kernel_takes_it_before_the_server(either: Workbench) -> None:
    assert (
        either.use("bash", command="ulimit -c; cat /proc/self/oom_score_adj").text == "0\n500\n[exit code 0]"
    )
