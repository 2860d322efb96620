"""A pause holds until its end, its `resume`, and across processes; selection and the loop honour it."""

from __future__ import annotations

import pytest

from ent_agent import state
from ent_agent.config import Config, load
from ent_agent.selection import pausing


@pytest.fixture
def config(config_file: object) -> Config:
    return load()


def test_without_a_pause_work_goes_on(config: Config) -> None:
    assert pausing.current(config) is None
    assert pausing.resume(config) is False


def test_a_pause_without_end_holds_until_resumed(config: Config) -> None:
    pausing.pause(config, reason="holidays")
    paused = pausing.current(config)
    assert paused and str(paused) == "paused until `invoke resume`: holidays"
    assert pausing.resume(config) is True
    assert pausing.current(config) is None


def test_a_pause_with_an_end_is_over_then(config: Config, monkeypatch: pytest.MonkeyPatch) -> None:
    begun = pausing.pause(config, for_seconds=7200.0)
    assert pausing.current(config) == begun
    now = pausing.time.time()
    monkeypatch.setattr(pausing.time, "time", lambda: now + 7201)
    assert pausing.current(config) is None
    assert pausing.resume(config) is False


def test_the_last_pause_counts(config: Config) -> None:
    pausing.pause(config, for_seconds=60.0)
    pausing.pause(config)
    paused = pausing.current(config)
    assert paused and not paused.until


def test_a_pause_that_cannot_be_read_holds(config: Config) -> None:
    pausing.pause(config)
    (state.of(config).root / "pause.json").write_bytes(b'{"since": "2026')
    paused = pausing.current(config)
    assert paused and "not readable" in paused.reason
    assert pausing.resume(config) is True
