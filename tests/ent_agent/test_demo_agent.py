"""The shipped demo agent, in real runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from ent_agent.records import Record
from ent_agent.running import running, runs
from ent_agent.sample import ALICE
from tests.support.bench import Bench
from tests.support.sample import WELSH, Sample, configuration


@pytest.fixture
def bench(place: Path, sample: Sample) -> Bench:
    return Bench(sample, configuration(place, sample.url))


def work(bench: Bench, text: str = "") -> Record:
    """One whole run on the Welsh issue, whose text is replaced first."""
    if text:
        bench.sample.change({f"{WELSH}/description": text.encode()})
    bench.start(WELSH)
    runs.update(bench.config, bench.run, phase="claimed")
    bench.record = running.run(bench.record, bench.config, lambda: None)
    assert bench.record.run and bench.record.run.exit_code == 0
    return bench.finalize()


def answer(bench: Bench, text: str) -> None:
    folder = f"{WELSH}/comments/{'d' * 32}"
    bench.sample.change(
        {
            f"{folder}/description": text.encode(),
            f"{folder}/author": str(ALICE).encode(),
            f"{folder}/creation_time": b"2099-01-01T00:00:00+00:00",
            f"{WELSH}/assignee": b"Robo",
        }
    )


def test_it_writes_commits_says_so_and_hands_over(bench: Bench) -> None:
    result = work(bench, "Greet in Welsh\n\nPut it into greetings.md.").result
    assert result and (result.outcome, result.handed_to) == ("completed", str(ALICE))
    assert bench.log() == ["Greet in Welsh"]
    assert bench.sample.read("greetings.md", bench.branch) == "- Greet in Welsh\n"
    [comment] = bench.comments()
    assert comment.startswith("Done: wrote 'Greet in Welsh' into greetings.md.")
    assert "without a model" in comment


@pytest.mark.parametrize(
    ("text", "path", "line"),
    [
        ("Say more in greet.sh", "greet.sh", "# Say more in greet.sh"),
        ("No file named here", "NOTES.md", "- No file named here"),
        ("Change /etc/motd.txt", "NOTES.md", "- Change /etc/motd.txt"),
        ("Change ../../other.md", "NOTES.md", "- Change ../../other.md"),
        ("Change no/such/folder.md", "NOTES.md", "- Change no/such/folder.md"),
    ],
)
def test_it_edits_the_file_that_is_named_and_none_elsewhere(
    bench: Bench, text: str, path: str, line: str
) -> None:
    work(bench, text)
    assert line in (bench.sample.read(path, bench.branch) or "").splitlines()


def test_it_asks_when_it_is_told_to_and_goes_on_with_the_answer(bench: Bench) -> None:
    result = work(bench, "Which colour?\n\nHandler: bob\nDemo: stuck").result
    assert result and (result.outcome, result.handed_to, result.commits) == ("stuck", "bob", [])
    answer(bench, "Blue.\nLike the sky.")
    result = work(bench).result
    assert result and result.outcome == "completed"
    assert bench.sample.read("NOTES.md", bench.branch) == "- Blue.\n"


def test_it_does_nothing_when_it_is_told_to(bench: Bench) -> None:
    result = work(bench, "Rest\n\nDemo: nothing").result
    assert result and result.outcome == "failed"
    assert bench.pushed() is None


def test_what_is_there_already_is_not_written_again(bench: Bench) -> None:
    bench.sample.commit({"NOTES.md": b"- Rest"})
    result = work(bench, "Rest").result
    assert result and (result.outcome, result.commits) == ("completed", [])
    assert any("nothing to change" in comment for comment in bench.comments())
