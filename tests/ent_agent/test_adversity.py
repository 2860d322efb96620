"""What happens around a run while its agent works: the network goes, others push, rewind and delete, a disk is
full, a power cut leaves half a file. The run loses nothing, and the next one comes to the end."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from ent_agent import state
from ent_agent.claims.claim_value import TTL_VARIABLE
from ent_agent.config import Config, load
from ent_agent.running import runs
from harness import effects
from tests.ent_agent.loop.test_loop_for_real import claims, ended, loop, outcomes, until_at_work, work
from tests.support.sample import GOODBYE, SPELLING, WELSH, Sample, write_config

BRANCH = f"robo/{WELSH}"
ROOT = Path(__file__).resolve().parents[2]
GIT = "git -c user.name=Alice -c user.email=alice@example.org"


@pytest.fixture
def host(place: Path, sample: Sample) -> Callable[..., Path]:
    """A folder with a configuration whose agent commits one file, then runs a script, then says that it is done."""
    sample.change({f"{other}/assignee": b"alice" for other in (GOODBYE, SPELLING)})

    def make(meanwhile: str = "true", extra: str = "", name: str = "hôst") -> Path:
        folder = place / name
        folder.mkdir(exist_ok=True)
        (folder / "meanwhile").write_text(f"set -e\norigin={shlex.quote(str(sample.origin))}\n{meanwhile}\n")
        script = folder / "agent"
        script.write_text(
            "#!/bin/sh\nset -e\necho work > work.txt\ngit add work.txt\ngit commit -qm 'Do the work' || true\n"
            f"env -u GIT_CONFIG_COUNT sh {shlex.quote(str(folder / 'meanwhile'))} >&2\necho 'Done: it.'\n"
        )
        script.chmod(0o755)
        (folder / "agent.toml").write_text('description = "test"\ncommand = ["./agent"]\nprompt = "stdin"\n')
        tables = '[sandbox]\nbackend = "none"\n[loop]\nretry_delay = "1s"\nmax_retries = 1\n'
        write_config(folder, sample.url, tables + extra, agent_type=str(folder / "agent.toml"))
        return folder

    return make


def with_another_file(folder: Path) -> None:
    """The agent's commit is another one than before."""
    (folder / "agent").write_text((folder / "agent").read_text().replace("work.txt", "more.txt"))


def config_of(folder: Path) -> Config:
    return load(str(folder / "config.toml"))


def handed_back(sample: Sample) -> tuple[str | None, list[str], int]:
    """Assignee, the files that the branch has beyond the base, and how often it was handed back."""
    said = sample.comments(WELSH)
    files = sample.files(BRANCH) if BRANCH in sample.branches() else []
    times = sum(text.startswith("Handed back") for text in said)
    return sample.read(f"{WELSH}/assignee"), [name for name in files if name.endswith(".txt")], times


ALICES = ("Alice Ångström <alice@example.org>", ["work.txt"], 1)


def unfinished(folder: Path) -> list[str]:
    return [run.id for run in runs.every(config_of(folder)) if run.phase != "finalized"]


# ---- the network


def test_an_origin_that_goes_away_in_the_middle_gets_everything_once_it_is_back(
    host: Callable[..., Path], sample: Sample
) -> None:
    folder = host('mv "$origin" "$origin.away"')
    exit_code, events = work(folder)
    assert exit_code == 75
    assert outcomes(events).get(WELSH) != "completed"
    assert unfinished(folder)
    Path(f"{sample.origin}.away").rename(sample.origin)
    (folder / "meanwhile").write_text("exit 1\n")  # no agent is to be started again
    assert work(folder)[0] == 0
    assert handed_back(sample) == ALICES
    assert (claims(sample), unfinished(folder)) == ([], [])


def test_an_origin_that_only_reads_keeps_the_work_here_until_it_takes_it(
    host: Callable[..., Path], sample: Sample
) -> None:
    refuse = sample.origin / "hooks/pre-receive"
    folder = host(
        f"mkdir -p {shlex.quote(str(refuse.parent))}\nprintf '#!/bin/sh\\necho read-only >&2\\nexit 1\\n' > "
        f"{shlex.quote(str(refuse))}\nchmod +x {shlex.quote(str(refuse))}"
    )
    exit_code, _ = work(folder)
    assert exit_code == 75
    assert handed_back(sample)[0] == "Robo"
    refuse.unlink()
    (folder / "meanwhile").write_text("exit 1\n")
    assert work(folder)[0] == 0
    assert handed_back(sample) == ALICES


# ---- what others push meanwhile


def elsewhere(*commands: str) -> str:
    """A script of a person who works in a clone of origin."""
    return "\n".join(
        ["there=$(mktemp -d)", 'git clone -q "$origin" "$there"', 'cd "$there"', *commands, 'rm -rf "$there"']
    )


def test_a_branch_that_another_pushed_meanwhile_is_kept_and_ours_is_put_on_top(
    host: Callable[..., Path], sample: Sample
) -> None:
    push = f"git switch -qc theirs\necho theirs > theirs.txt\ngit add .\n{GIT} commit -qm Theirs"
    folder = host(elsewhere(push, f"git push -q origin HEAD:refs/heads/{BRANCH}"))
    work(folder)
    work(folder)
    assert handed_back(sample)[1] == ["theirs.txt", "work.txt"]
    assert handed_back(sample)[0] == ALICES[0]
    assert claims(sample) == []


def test_a_branch_that_is_rewound_meanwhile_stays_rewound_and_ours_is_on_it(
    host: Callable[..., Path], sample: Sample
) -> None:
    first = host()
    work(first)
    published = sample.branches()[BRANCH]
    sample.change({f"{WELSH}/assignee": b"Robo", f"{WELSH}/state": b"new"})
    again = host(f'git --git-dir="$origin" update-ref refs/heads/{BRANCH} refs/heads/main\n')
    with_another_file(again)
    work(again)
    work(again)
    branch = sample.branches().get(BRANCH)
    assert branch and branch != published
    assert handed_back(sample)[1] == ["more.txt"]
    assert handed_back(sample)[0] == ALICES[0]
    kept = config_of(again)
    refs = state.of(kept).control
    found = subprocess.run(
        ["git", f"--git-dir={refs}", "for-each-ref", f"--contains={published}"],
        capture_output=True,
        text=True,
    )
    assert found.stdout  # what was rewound away on origin is still here


def test_a_branch_that_is_deleted_meanwhile_is_made_anew_with_the_work(
    host: Callable[..., Path], sample: Sample
) -> None:
    work(host())
    sample.change({f"{WELSH}/assignee": b"Robo", f"{WELSH}/state": b"new"})
    again = host(f'git --git-dir="$origin" update-ref -d refs/heads/{BRANCH}\n')
    with_another_file(again)
    work(again)
    work(again)
    assert "more.txt" in handed_back(sample)[1]
    assert handed_back(sample)[0] == ALICES[0]


def test_a_tracker_that_is_rewound_meanwhile_loses_no_comment_of_ours(
    host: Callable[..., Path], sample: Sample
) -> None:
    data = "refs/heads/entomologist-data"
    sample.change({f"{GOODBYE}/description": b"Changed, and to be rewound away.\n"})
    folder = host(f'git --git-dir="$origin" update-ref {data} {data}~2\n')
    work(folder)
    work(folder)
    assert handed_back(sample) == ALICES
    assert claims(sample) == []
    assert sample.git.run("fsck", "--strict", check=False).ok


def test_a_tracker_that_is_deleted_meanwhile_comes_back_with_everything(
    host: Callable[..., Path], sample: Sample
) -> None:
    before = set(sample.files())
    folder = host('git --git-dir="$origin" update-ref -d refs/heads/entomologist-data\n')
    _, events = work(folder)
    assert outcomes(events) == {WELSH: "cancelled"}
    assert sample.files(BRANCH)
    with_another_file(host())
    work(folder)
    assert before <= set(sample.files())
    assert handed_back(sample) == (ALICES[0], ["more.txt", "work.txt"], 1)


# ---- time


def test_a_host_that_was_frozen_past_its_ttl_publishes_nothing_over_its_successor(
    host: Callable[..., Path], sample: Sample, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(TTL_VARIABLE, "3")
    frozen = host("sleep 60", name="frozen")
    running = loop(frozen)
    until_at_work(frozen)
    with stopped(running.pid):
        other = host(name="other")
        (other / "agent").write_text((other / "agent").read_text().replace("echo work >", "echo others >"))
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and handed_back(sample)[0] == "Robo":
            assert work(other)[0] == 0
        assert handed_back(sample) == ALICES
        tip = sample.branches()[BRANCH]
    ended(running)
    work(frozen)
    assert sample.branches()[BRANCH] == tip
    assert sample.read("work.txt", BRANCH) == "others\n"
    assert handed_back(sample) == ALICES
    assert (claims(sample), unfinished(frozen)) == ([], [])


@contextmanager
def stopped(pid: int) -> Iterator[None]:
    """Everything below a process is frozen (SIGSTOP) inside."""
    import psutil

    everyone = [psutil.Process(pid), *psutil.Process(pid).children(recursive=True)]
    for one in everyone:
        one.suspend()
    try:
        yield
    finally:
        for one in everyone:
            if one.is_running():
                one.resume()


CLOCK = """
import time, sys
real = time.time
time.time = lambda: real() + {skew}
sys.argv = sys.argv[1:]
import runpy
runpy.run_module("tests.support.host_loop", run_name="__main__")
"""


@pytest.mark.parametrize("skew", [-3600, 3600])
def test_a_host_whose_clock_is_an_hour_off_neither_takes_over_nor_is_taken_over(
    host: Callable[..., Path], place: Path, sample: Sample, skew: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(TTL_VARIABLE, "30")
    right, wrong, log = host("sleep 4", name="right"), host(name="wrong"), place / "log"
    running = loop(right)
    until_at_work(right)
    env = os.environ | {"PYTHONPATH": f"{ROOT / 'lib'}:{ROOT}"}
    words = [sys.executable, "-c", CLOCK.format(skew=skew), "x", str(wrong / "config.toml"), str(log)]
    for _ in range(2):
        subprocess.run(words, cwd=ROOT, env=env, check=True, timeout=60)
    assert not log.exists()  # it began nothing: the issue is in work elsewhere
    assert ended(running)[0] == 0
    assert handed_back(sample) == ALICES
    sample.change({f"{WELSH}/assignee": b"Robo", f"{WELSH}/state": b"new"})
    subprocess.run(words, cwd=ROOT, env=env, check=True, timeout=60)
    assert log.exists()
    assert handed_back(sample)[0] == ALICES[0]


# ---- the disk


def cut_in_half(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def emptied(path: Path) -> None:
    path.write_bytes(b"")


@pytest.mark.parametrize("cut", [cut_in_half, emptied])
@pytest.mark.parametrize("effect", ["run-claimed", "run-ended", "ending-pushed"])
def test_state_files_that_a_power_cut_left_half_written_do_not_stop_the_next_run(
    host: Callable[..., Path], sample: Sample, effect: str, cut: Callable[[Path], None]
) -> None:
    folder = host()
    killed(folder, effect)
    root = state.of(config_of(folder)).root
    for path in root.rglob("*.json"):
        if ".git" not in str(path.relative_to(root)):
            cut(path)
    for _ in range(3):
        _, events = work(folder)
    assert sample.read(f"{WELSH}/assignee") in (ALICES[0], "Robo")
    assert WELSH not in outcomes(events)
    # Where the state told nothing any more, the work is on the branch, and the claim ends by its ttl.
    if not claims(sample):
        assert handed_back(sample)[:2] == ALICES[:2]


def killed(folder: Path, effect: str) -> None:
    """A loop of which the step is killed right after an effect, and then itself."""
    env = os.environ | {effects.STOP_AT: effect}
    words = ["-m", "invoke", "-r", str(ROOT), "loop", "--config", str(folder / "config.toml")]
    quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    loop_of_steps = subprocess.Popen([sys.executable, *words], env=env, start_new_session=True, **quiet)
    loop_of_steps.wait(timeout=60)


@pytest.fixture
def small_disk(place: Path) -> Iterator[Path]:
    """A file system of 12 MB."""
    disk = place / "small disk"
    disk.mkdir()
    words = ["mount", "-t", "tmpfs", "-o", "size=12m", "tmpfs", str(disk)]
    if os.geteuid() != 0 or subprocess.run(words, capture_output=True).returncode:
        pytest.skip("a file system of its own needs root and mount")
    yield disk
    subprocess.run(["umount", "-l", str(disk)], check=True)


def test_a_full_disk_is_for_later_and_the_next_run_with_room_comes_to_the_end(
    host: Callable[..., Path], sample: Sample, small_disk: Path
) -> None:
    fill = f"dd if=/dev/zero of={shlex.quote(str(small_disk / 'filled'))} bs=64k 2>/dev/null || true"
    folder = host(fill)
    write_config_with_state(folder, small_disk)
    exit_code, events = work(folder)
    assert exit_code == 75
    assert "space left" in json.dumps(events)
    (small_disk / "filled").unlink()
    (folder / "meanwhile").write_text("true\n")
    assert work(folder)[0] == 0
    assert handed_back(sample) == ALICES
    assert (claims(sample), unfinished(folder)) == ([], [])


def test_a_state_folder_that_became_read_only_is_said_and_nothing_is_lost(
    host: Callable[..., Path], sample: Sample, small_disk: Path
) -> None:
    folder = host()
    write_config_with_state(folder, small_disk)
    killed(folder, "run-ended")
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    running = loop(folder)
    stdout, stderr = running.communicate(timeout=60)
    assert running.returncode in (75, 78)
    assert "ead-only" in stdout + stderr and "Traceback" not in stderr
    subprocess.run(["mount", "-o", "remount,rw", str(small_disk)], check=True)
    (folder / "meanwhile").write_text("exit 1\n")
    assert work(folder)[0] == 0
    assert handed_back(sample) == ALICES


def write_config_with_state(folder: Path, disk: Path) -> None:
    path = folder / "config.toml"
    path.write_text(
        path.read_text().replace('state_dir = "state"', f"state_dir = {json.dumps(str(disk / 'state'))}")
    )
