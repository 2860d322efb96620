"""A server that is killed at random moments beside a forge that fails at random, with people who talk: all is done once."""

from __future__ import annotations

import random
import subprocess
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

import pytest

from tests.support.forge.people import Refused
from tests.support.scripts import Rule, call, commit, propose, write
from tests.support.served import BOT, REPOSITORY, Served, until

FAULTS = (500, 502, 503, 429, "reset", "lost", "slow")
PATHS = (r"/api/v1/", r"/issues/\d+/comments", r"/pulls", r"/labels", r"/reactions", r"\.git/")
SETTLE_SECONDS = 120.0


def rules(issues: int) -> list[Rule]:
    """Each issue changes a file of its own; a comment is read, and what was begun is gone on with."""
    found: list[Rule] = []
    for number in range(1, issues + 1):
        change = [write(path=f"part_{number}.py"), *commit(f"Add part {number}")]
        proposal = [propose(f"Add part {number}", f"Closes #{number}")]
        for role, heard, calls in (
            ("user", "It was opened", change),
            ("user", "no pull request", change),
            ("tool", "has no commit|not committed|interrupted", change),
            ("tool", "", proposal),
        ):
            rule = {"last_role": role, "last": heard, "tool_calls": calls, "times": 0, "delay": "200ms"}
            found.append({**rule, "anywhere": [rf"- Issue: #{number}\n"]})
    read = call("forgejo_comment", body="I read it.")
    return [*found, {"last_role": "user", "times": 0, "tool_calls": [read], "delay": "100ms"}]


@pytest.mark.stress
@pytest.mark.timeout(300)
def test_killed_a_few_times_beside_a_flaky_forge_all_is_done_once(place: Path) -> None:
    soak(place, issues=2, kills=4, seed=4711)


@pytest.mark.stress
@pytest.mark.timeout(600)
@pytest.mark.parametrize("seed", range(3))
def test_killed_for_a_minute_beside_a_flaky_forge_all_is_done_once(place: Path, seed: int) -> None:
    soak(place, issues=8, kills=25, seed=seed)


def soak(place: Path, issues: int, kills: int, seed: int) -> None:
    chance = random.Random(seed)
    sessions = {"max_sessions": 4, "reconcile_interval": "2s", "max_retries": 5, "max_runs_per_hour": 100}
    with Served(place, rules(issues), sessions=sessions) as served:
        served.start()
        numbers = [
            served.bob.open_issue(REPOSITORY, f"Part {one}", "Add it.") for one in range(1, issues + 1)
        ]
        until(lambda: served.row("SELECT count(*) FROM deliveries")[0][0] >= issues, "all are taken")
        said: dict[str, int] = {}
        for kill in range(kills):
            trouble(served, chance)
            time.sleep(chance.uniform(0.1, 2.0))
            word = f"word {kill}."
            number = chance.choice(numbers)
            with suppress(Refused, OSError):  # the person meets the faults too, and says no more
                served.bob.comment(REPOSITORY, number, word)
                said[word] = number
            time.sleep(chance.uniform(0.0, 0.5))
            served.kill()
            served.start()
        served.forge.faults.planned.clear()
        try:
            until(
                lambda: all_is_told(served, list(said)) and all_completed(served, numbers),
                "all is done",
                SETTLE_SECONDS,
            )
        except AssertionError as error:
            known = served.row("SELECT key, state, reason, ready_at, lease_owner FROM sessions")
            waiting = served.row("SELECT id, kind, state, not_before FROM events WHERE state != 'decided'")
            raise AssertionError(f"seed {seed}: {error}\n{known}\n{waiting}\n{served.log[-5000:]}") from None
        assert served.stop() == 0
        once(served, numbers)
        sound(served)


def trouble(served: Served, chance: random.Random) -> None:
    for _ in range(chance.randrange(1, 5)):
        kind = chance.choice(FAULTS)
        after = {"retry_after": "1"} if kind == 429 else {}
        served.forge.fail_next("*", chance.choice(PATHS), kind, chance.randrange(1, 3), **after)  # type: ignore[arg-type]


def all_completed(served: Served, numbers: list[int]) -> bool:
    return all(served.settled(f"issues/{number}") == "completed" for number in numbers)


def all_is_told(served: Served, words: list[str]) -> bool:
    told = " ".join(text for (text,) in served.row("SELECT message FROM messages"))
    return all(word in told for word in words)


def once(served: Served, numbers: list[int]) -> None:
    """One pull request for each issue, nothing said twice, and nothing left to do."""
    heads = Counter(pull["head"]["ref"] for pull in served.bob.pulls(REPOSITORY, "all"))
    assert heads == Counter(f"fordjent/issue-{number}" for number in numbers)
    for number in numbers:
        bodies = [
            one["body"] for one in served.bob.comments(REPOSITORY, number) if one["user"]["login"] == BOT
        ]
        assert len(bodies) == len(set(bodies)) >= 1, bodies
        assert served.bob.labels(REPOSITORY, number) == ["review"]
        assert served.bob.file(REPOSITORY, f"part_{number}.py", f"fordjent/issue-{number}")
    assert served.row("SELECT count(*) FROM inputs WHERE run = ''") == [(0,)]
    assert served.row("SELECT count(*) FROM runs WHERE ended_at IS NULL") == [(0,)]
    assert served.row("SELECT count(*) FROM tool_calls WHERE state = 'running'") == [(0,)]


def sound(served: Served) -> None:
    """The database and every repository are whole."""
    assert served.row("PRAGMA integrity_check") == [("ok",)]
    repositories = [
        *served.folder.glob("state/repositories/*/*/control.git"),
        *served.folder.glob("forge/**/*.git"),
    ]
    assert repositories
    for repository in repositories:
        words = ["git", f"--git-dir={repository}", "fsck", "--strict", "--no-dangling"]
        checked = subprocess.run(words, capture_output=True, text=True, check=False)
        assert checked.returncode == 0, checked.stdout + checked.stderr
