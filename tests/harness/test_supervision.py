from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

from harness import bounds, supervision, sweeping
from harness.bounds import RESERVE_BYTES, Bounds
from harness.supervision import Ended, Limits, supervise

STAND_IN = Path(__file__).resolve().parents[1] / "support/agents/stand-in"
LIBRARY = Path(supervision.__file__).resolve().parents[1]


def run(place: Path, *command: str, timeout: float = 30.0, silence: float = 0.0, **more: Any) -> Ended:
    """Supervise a way of the stand-in (or any command that begins with a slash) in `place`."""
    words = command if command[0].startswith("/") else (str(STAND_IN), *command)
    return supervise(
        words,
        cwd=place,
        env={"PATH": os.environ["PATH"]},
        transcript=place / "stdout",
        stderr=place / "stderr",
        limits=Limits(timeout, silence, more.pop("grace", 1.0), more.pop("bounds", Bounds())),
        marker=marker_of(place),
        **more,
    )


def marker_of(place: Path) -> str:
    return f"test-{os.getpid()}-{place.stat().st_ino}"


def left_running(place: Path) -> list[str]:
    found = []
    for pid in sweeping.marked(marker_of(place)):
        with contextlib.suppress(psutil.NoSuchProcess):  # ended just now
            found.append(" ".join(psutil.Process(pid).cmdline()))
    return found


def eventually(fact: Callable[[], object], seconds: float = 15.0) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if fact():
            return True
        time.sleep(0.05)
    return False


def test_an_agent_that_ends_by_itself_is_known_by_its_exit_code(place: Path) -> None:
    ended = run(place, "/bin/sh", "-c", "echo out; echo err >&2; exit 3")
    assert (ended.exit_code, ended.signal, ended.ended_by) == (3, None, "exit")
    assert (place / "stdout").read_text() == "out\n"
    assert (place / "stderr").read_text() == "err\n"


def test_output_is_kept_as_the_bytes_that_it_is(place: Path) -> None:
    assert run(place, "bytes").exit_code == 0
    assert (place / "stdout").read_bytes().startswith(b"lone \xf0, latin-1 \xe9, nul \0")


def test_death_by_a_signal_that_nobody_of_us_sent_is_named(place: Path) -> None:
    ended = run(place, "dies")
    assert (ended.exit_code, ended.signal, ended.ended_by) == (None, "SEGV", "signal")


def test_an_agent_beyond_its_time_is_stopped(place: Path) -> None:
    ended = run(place, "hangs", timeout=1.0)
    assert (ended.signal, ended.ended_by) == ("TERM", "timeout")


def test_the_stop_signal_is_the_adapters(place: Path) -> None:
    command = "trap 'exit 130' INT; trap 'exit 1' TERM; while :; do sleep 0.1; done"
    ended = run(place, "/bin/bash", "-c", command, timeout=1.0, stop_signal="INT", grace=5.0)
    assert (ended.exit_code, ended.ended_by) == (130, "timeout")


def test_an_agent_that_ignores_the_stop_signal_is_killed_after_the_grace(place: Path) -> None:
    started = time.monotonic()
    ended = run(place, "ignores", timeout=1.0, grace=1.0)
    assert (ended.signal, ended.ended_by) == ("KILL", "timeout")
    assert 2.0 <= time.monotonic() - started < 30.0


def test_an_agent_that_falls_silent_is_stopped(place: Path) -> None:
    started = time.monotonic()
    ended = run(place, "stalls", silence=1.5, progress=[place / "stdout"])
    assert ended.ended_by == "silence"
    assert time.monotonic() - started > 3.0  # four dots, then 1.5 s without one


def test_a_file_that_grows_elsewhere_is_a_sign_of_life(place: Path) -> None:
    command = "for n in 1 2 3 4 5 6; do echo $n >> log; sleep 0.5; done"
    ended = run(place, "/bin/sh", "-c", command, silence=1.5, progress=[place / "missing", place / "log"])
    assert ended.ended_by == "exit"


def test_without_a_place_where_progress_shows_there_is_no_silence_limit(place: Path) -> None:
    assert run(place, "/bin/sleep", "2", silence=0.5).ended_by == "exit"


def test_what_a_successful_agent_left_running_is_ended(place: Path) -> None:
    ended = run(place, "daemon")
    assert (ended.exit_code, ended.ended_by) == (0, "exit")
    left = [int(line) for line in (place / "stdout").read_text().split()]
    assert len(left) == 2 and set(left) <= set(ended.swept)
    assert not any(psutil.pid_exists(pid) for pid in left)


def test_fifty_stubborn_children_are_ended(place: Path) -> None:
    ended = run(place, "forks", timeout=3.0)
    assert ended.ended_by == "timeout"
    assert len(ended.swept) >= 50
    assert left_running(place) == []


@pytest.mark.parametrize(
    ("given", "command", "says"),
    [
        (Bounds(processes=16), "for n in $(seq 30); do sleep 50 & done; wait", "sandbox.max_processes"),
        (
            Bounds(memory_bytes=100_000_000),
            "python3 -c 'held = bytearray(b\"x\") * 200_000_000; import time; time.sleep(50)'",
            "sandbox.max_memory_bytes",
        ),
    ],
)
def test_an_agent_that_takes_too_much_is_ended_with_all_that_it_started(
    place: Path, given: Bounds, command: str, says: str
) -> None:
    ended = run(place, "/bin/sh", "-c", command, bounds=given)
    assert ended.ended_by == "bounds" and says in ended.error
    assert left_running(place) == []


def test_a_disk_that_a_run_fills_ends_it_and_one_that_was_full_does_not(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    free = [3 * RESERVE_BYTES, RESERVE_BYTES - 1]
    monkeypatch.setattr(bounds, "_free", lambda _: free[0])
    look = bounds.Look(Bounds(), [str(place)])
    assert look.excess(1.0) == ""
    free.pop(0)
    assert look.excess(1.1) == "" and "disk" in look.excess(9.0)
    assert bounds.Look(Bounds(), [str(place)]).excess(1.0) == ""


def test_the_watcher_can_stop_the_agent_and_its_reason_stands(place: Path) -> None:
    looks: list[float] = []

    def watch() -> supervision.EndedBy | None:
        looks.append(time.monotonic())
        return "cancelled" if len(looks) == 2 else None

    assert run(place, "hangs", watch=watch).ended_by == "cancelled"
    assert 0.8 < looks[1] - looks[0] < 3.0


def test_a_watcher_that_fails_ends_the_agent_too(place: Path) -> None:
    def watch() -> None:
        raise OSError("the watcher broke")

    with pytest.raises(OSError, match="the watcher broke"):
        run(place, "ignores", watch=watch)
    assert left_running(place) == []


def test_an_agent_that_cannot_be_started_says_why(place: Path) -> None:
    ended = run(place, str(place / "not there"))
    assert (ended.ended_by, ended.exit_code) == ("start_failed", None)
    assert ended.error == f"{place / 'not there'}: No such file or directory"


def test_a_word_that_no_program_can_be_given_says_so(place: Path) -> None:
    ended = run(place, "/bin/echo", "a\0b")
    assert (ended.ended_by, ended.error) == ("start_failed", "/bin/echo: Invalid argument")


def test_an_agent_is_not_started_anywhere_but_in_its_folder(place: Path) -> None:
    ended = supervise(
        ["/bin/pwd"],
        cwd=place / "gone",
        env={},
        transcript=place / "stdout",
        limits=Limits(5),
        marker=marker_of(place),
    )
    assert ended.ended_by == "start_failed"
    assert (place / "stdout").read_bytes() == b""


def test_stdin_is_the_file_and_then_it_ends(place: Path) -> None:
    (place / "prompt").write_bytes(b"x" * 300_000)
    assert run(place, "reads", stdin=place / "prompt").exit_code == 0
    assert (place / "stdout").read_text() == "300000\n"


def test_without_a_file_stdin_is_empty(place: Path) -> None:
    assert run(place, "reads").exit_code == 0
    assert (place / "stdout").read_text() == "0\n"


def test_a_babbling_agent_does_not_fill_the_disk(place: Path) -> None:
    assert run(place, "babbles").exit_code == 0
    size = (place / "stdout").stat().st_size
    assert size < 52 * 1024 * 1024
    with (place / "stdout").open("rb") as file:
        file.seek(-200, os.SEEK_END)
        assert file.read().endswith(b"the last words\n")
        file.seek(32 * 1024 * 1024)
        assert b"bytes are left out here]" in file.read(200)


def test_a_transcript_can_be_followed_while_the_agent_runs(place: Path) -> None:
    seen: list[bytes] = []

    def watch() -> supervision.EndedBy | None:
        seen.append((place / "stdout").read_bytes())
        return "cancelled" if seen[-1] else None

    run(place, "hangs", watch=watch, timeout=20.0)
    assert seen[-1] == b"thinking\n"


def test_stdout_and_stderr_may_share_a_transcript(place: Path) -> None:
    ended = supervise(
        ["/bin/sh", "-c", "echo out; echo err >&2"],
        cwd=place,
        env={"PATH": os.environ["PATH"]},
        transcript=place / "both",
        limits=Limits(5),
        marker=marker_of(place),
    )
    assert ended.exit_code == 0
    assert (place / "both").read_text() == "out\nerr\n"


# ---- whichever of loop, supervisor and agent is killed, the others end

LOOP = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from harness.supervision import Limits, supervise
place = Path(sys.argv[3])
ended = supervise(sys.argv[4:], cwd=place, env={{"PATH": "/usr/bin:/bin"}}, transcript=place / "stdout",
                  limits=Limits(60, grace_seconds={grace}), marker=sys.argv[2])
print(ended.ended_by, ended.signal, flush=True)
"""


def start_loop(place: Path, *command: str, grace: float = 1.0) -> subprocess.Popen[bytes]:
    """A loop as a process of its own, whose agent and the agent's tool are running when this returns."""
    words = [
        sys.executable,
        "-c",
        LOOP.format(grace=grace),
        str(LIBRARY),
        marker_of(place),
        str(place),
        *command,
    ]
    loop = subprocess.Popen(words, stdout=subprocess.PIPE, start_new_session=True)
    assert eventually(lambda: len(left_running(place)) >= 2), "agent and tool did not start"
    return loop


def with_tool() -> tuple[str, ...]:
    """An agent that ignores TERM, with a tool in a session of its own."""
    return "/bin/sh", "-c", "trap '' TERM; setsid sleep 600 & sleep 600; sleep 600"


def test_when_the_loop_is_killed_its_agent_and_the_tools_end(place: Path) -> None:
    loop = start_loop(place, *with_tool())
    loop.kill()
    loop.communicate()
    assert eventually(lambda: left_running(place) == []), left_running(place)


def test_when_the_supervisor_is_killed_the_agent_and_the_tools_end(place: Path) -> None:
    loop = start_loop(place, *with_tool())
    (supervisor,) = psutil.Process(loop.pid).children()
    supervisor.kill()
    said, _ = loop.communicate(timeout=20)
    assert left_running(place) == []
    assert said == b"signal KILL\n"


def test_when_both_are_killed_at_once_the_agent_ends(place: Path) -> None:
    loop = start_loop(place, "/bin/sh", "-c", "sleep 600 & wait")
    (supervisor,) = psutil.Process(loop.pid).children()
    (agent,) = supervisor.children()
    os.kill(loop.pid, signal.SIGKILL)
    os.kill(supervisor.pid, signal.SIGKILL)
    loop.communicate()
    assert eventually(lambda: not agent.is_running() or agent.status() == psutil.STATUS_ZOMBIE)
    sweeping.sweep(marker_of(place))  # as the next run does it
    assert left_running(place) == []


def test_a_loop_that_is_asked_to_end_stops_its_agent_first(place: Path) -> None:
    loop = start_loop(place, *with_tool())
    loop.terminate()
    said, _ = loop.communicate(timeout=20)
    assert said == b"interrupted KILL\n"
    assert left_running(place) == []


def test_a_second_signal_does_not_wait_for_the_grace(place: Path) -> None:
    loop = start_loop(place, *with_tool(), grace=60.0)
    loop.terminate()
    time.sleep(1.5)
    loop.terminate()
    said, _ = loop.communicate(timeout=20)
    assert said == b"interrupted KILL\n"


def test_a_sweep_leaves_everybody_else_alone(place: Path) -> None:
    other = subprocess.Popen(["sleep", "600"], env={"ENT_RUN_ID": f"{marker_of(place)}-other"})
    try:
        assert sweeping.sweep(marker_of(place)) == []
        assert other.poll() is None
    finally:
        other.kill()
        other.wait()
    with pytest.raises(ValueError, match="without a marker"):
        sweeping.sweep("")
