"""What the loop says: for a person without anything that steers a terminal, for a collector as JSON lines."""

from __future__ import annotations

import io
import json
import threading

import pytest

from ent_agent.loop import progress, telling
from ent_agent.loop.progress import JsonLines, Readable
from ent_agent.records import IssueSection, Record, ResultSection, RunSection, Usage, WorktreeSection

ISSUE = "1a2b3c4d" * 4


def done(outcome: str = "completed", **more: object) -> Record:
    return Record(
        issue=IssueSection(id=ISSUE, title="A title", description="", state="blocked"),
        worktree=WorktreeSection(path="/w", branch="robo/x", base="main", start="c0ffee"),
        run=RunSection(
            id="r",
            agent_type="demo",
            started_at="2026-01-01T00:00:00+00:00",
            ended_at="2026-01-01T02:05:00+00:00",
            usage=Usage(cost_usd=0.5),
        ),
        result=ResultSection(outcome=outcome, **more),  # type: ignore[arg-type]
    )


def test_a_collector_gets_one_object_a_line_with_the_facts() -> None:
    stream = io.StringIO()
    telling.ended(JsonLines(stream), done(commits=["a", "b"], pushed=True, handed_to="alice\n"))
    (line,) = stream.getvalue().splitlines()
    said = json.loads(line)
    assert (said["event"], said["issue"], said["level"]) == ("ended", ISSUE, "info")
    assert (said["commits"], said["handed_to"], said["seconds"]) == (["a", "b"], "alice\n", 7500.0)
    assert said["cost_usd"] == 0.5 and "input_tokens" not in said


def test_a_person_gets_a_line_with_a_short_id() -> None:
    stream = io.StringIO()
    telling.ended(Readable(stream), done(commits=["a"], pushed=True, handed_to="alice"))
    assert "  1a2b3c4d  completed in 2 h 5 min: 1 commit on robo/x, handed to alice\n" in stream.getvalue()


def test_commits_that_were_not_pushed_are_said() -> None:
    stream = io.StringIO()
    telling.ended(Readable(stream), done("failed", reason="no claim", commits=["a", "b"]))
    assert "failed in 2 h 5 min: no claim, 2 commits on robo/x, not pushed\n" in stream.getvalue()


def test_control_characters_and_markup_do_not_reach_the_terminal() -> None:
    stream = io.StringIO()
    Readable(stream).say("x", "a\x1b[31m [red]b[/red] \x07 \x9b :smile:")
    assert "a\N{REPLACEMENT CHARACTER}[31m [red]b[/red]" in stream.getvalue()
    assert not {"\x1b", "\x07", "\x9b"} & set(stream.getvalue())
    assert ":smile:" in stream.getvalue()


def test_threads_do_not_mix_their_lines() -> None:
    stream = io.StringIO()
    said = JsonLines(stream)
    threads = [
        threading.Thread(target=lambda: [said.say("x", "m" * 200) for _ in range(50)]) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [json.loads(line)["message"] for line in stream.getvalue().splitlines()] == ["m" * 200] * 400


@pytest.mark.parametrize(
    ("seconds", "said"), [(0, "0 s"), (89.4, "89 s"), (90, "2 min"), (3600, "60 min"), (7500, "2 h 5 min")]
)
def test_lengths_of_time(seconds: float, said: str) -> None:
    assert progress.duration(seconds) == said


def test_ids_are_shortened_and_nothing_else() -> None:
    assert (
        progress.short_ids(f"waits for {ISSUE} (new), abc, {'1' * 40}")
        == f"waits for 1a2b3c4d (new), abc, {'1' * 40}"
    )
