"""When summaries are due, and that a server makes them once a day."""

from __future__ import annotations

from datetime import date, datetime, timedelta

import pytest

from fordjent.memory import nightly
from fordjent.memory.keeping import DAY, Keeper
from fordjent.store import counters
from tests.support import remembered
from tests.support.proposals import REPOSITORY, Desk

MONDAY, TUESDAY = date(2026, 3, 2), date(2026, 3, 3)


@pytest.mark.parametrize(
    ("now", "at", "last", "expected"),
    [
        ("2026-03-03 01:59", "02:00", MONDAY, None),
        ("2026-03-03 02:00", "02:00", MONDAY, TUESDAY),
        ("2026-03-03 23:59", "02:00", MONDAY, TUESDAY),
        ("2026-03-03 02:00", "02:00", TUESDAY, None),
        ("2026-03-04 01:00", "02:00", MONDAY, TUESDAY),  # it was down, and is up again in the night
        ("2026-03-03 12:00", "", MONDAY, None),
        ("2026-03-02 23:30", "02:00", TUESDAY, None),  # the clock was put back over midnight
        ("2026-03-03 12:00", "02:00", date(2099, 1, 1), TUESDAY),  # a clock was far wrong
        ("2026-03-03 12:00", "00:00", MONDAY, TUESDAY),
    ],
)
def test_it_is_due_once_for_each_day(now: str, at: str, last: date, expected: date | None) -> None:
    assert nightly.due(datetime.fromisoformat(now), at, last) == expected


@pytest.mark.parametrize("jumps", [{2: 60}, {3: -60}], ids=["spring", "autumn"])
def test_a_night_in_which_the_clock_changes_has_it_once(jumps: dict[int, int]) -> None:
    """The wall clock, minute by minute, over three days."""
    now, last, done = datetime(2026, 3, 28), date(2026, 3, 27), []
    for minute in range(3 * 24 * 60):
        now += timedelta(minutes=1)
        hour = minute - 24 * 60
        if hour >= 0 and hour % 60 == 0 and hour // 60 in jumps:
            now += timedelta(minutes=jumps[hour // 60])
        day = nightly.due(now, "02:30", last)
        if day:
            done.append(day)
            last = day
    assert done == [date(2026, 3, 28), date(2026, 3, 29), date(2026, 3, 30)]


def at_time(at: Desk, keeper: Keeper, text: str) -> bool:
    return at.run(keeper.compact(datetime.fromisoformat(text)))


def noted(at: Desk) -> date:
    return date.fromordinal(at.context.database.look(counters.value, DAY))


def test_a_first_start_begins_no_old_work_and_the_next_night_does(at: Desk) -> None:
    remembered.session(at.context.database, f"{REPOSITORY}/issues/1", "completed")
    keeper = Keeper(at.context)
    assert not at_time(at, keeper, "2026-03-02 15:00") and at.alice.pulls(REPOSITORY) == []
    assert at_time(at, keeper, "2026-03-03 02:00") and len(at.alice.pulls(REPOSITORY)) == 1
    assert noted(at) == TUESDAY
    assert not at_time(at, Keeper(at.context), "2026-03-03 02:01")  # after a restart too


def test_while_the_forge_is_away_the_day_is_not_over(at: Desk) -> None:
    remembered.session(at.context.database, f"{REPOSITORY}/issues/1", "completed")
    at_time(at, Keeper(at.context), "2026-03-02 15:00")
    at.forge.down()
    keeper = Keeper(at.context)
    assert at_time(at, keeper, "2026-03-03 02:00") and noted(at) == MONDAY
    at.forge.up()
    assert not at_time(at, keeper, "2026-03-03 02:01")  # not every minute
    assert at_time(at, Keeper(at.context), "2026-03-03 02:20") and noted(at) == TUESDAY
