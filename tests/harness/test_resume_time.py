from __future__ import annotations

from datetime import datetime, timedelta, timezone
from zoneinfo import available_timezones

import pytest

from harness import resume_time

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=timezone(timedelta(hours=1)))  # 11:00 UTC


@pytest.mark.parametrize(
    ("said", "resume_at"),
    [
        ("1796040000", "2026-11-30T12:00:00+00:00"),
        ("1796040000123", "2026-11-30T12:00:00+00:00"),
        ("2026-12-01T08:00:00Z", "2026-12-01T08:00:00+00:00"),
        ("2026-12-01 08:00", "2026-12-01T07:00:00+00:00"),
        ("30", "2026-11-30T11:00:30+00:00"),
        ("90s", "2026-11-30T11:01:30+00:00"),
        ("2 hours 5 minutes", "2026-11-30T13:05:00+00:00"),
        ("1h30m", "2026-11-30T12:30:00+00:00"),
        ("3 days", "2026-12-03T11:00:00+00:00"),
        ("3pm", "2026-11-30T14:00:00+00:00"),
        ("3:05 PM", "2026-11-30T14:05:00+00:00"),
        ("11am", "2026-12-01T10:00:00+00:00"),
        ("12am", "2026-11-30T23:00:00+00:00"),
        ("15:30", "2026-11-30T14:30:00+00:00"),
        ("Dec 3rd, 2026 3:05 PM", "2026-12-03T14:05:00+00:00"),
        ("Dec 3 at 3pm", "2026-12-03T14:00:00+00:00"),
        # none, or not to be believed
        ("soon", ""),
        ("", ""),
        ("1600000000", ""),
        ("2020-01-01T00:00:00Z", ""),
        ("2030-01-01T00:00:00Z", ""),
        ("25:99", ""),
        ("13pm", ""),
        ("Feb 31st, 2027 3:05 PM", ""),
        ("9" * 400, ""),
        ("3pm (Nowhere/Atlantis)", "2026-11-30T14:00:00+00:00"),
    ],
)
def test_the_time_in_what_a_cli_says(said: str, resume_at: str) -> None:
    assert resume_time.parse(said, NOW) == resume_at


def test_a_day_without_a_year_is_the_next_one_of_that_date() -> None:
    assert resume_time.parse("Jan 2 3pm", NOW.replace(month=12, day=20)) == "2027-01-02T14:00:00+00:00"


@pytest.mark.skipif(not available_timezones(), reason="no time zone data (apt install tzdata)")
@pytest.mark.parametrize(
    ("said", "resume_at"),
    [
        ("3pm (America/New_York)", "2026-11-30T20:00:00+00:00"),
        ("3pm (UTC)", "2026-11-30T15:00:00+00:00"),
        ("11am (Asia/Tokyo)", "2026-12-01T02:00:00+00:00"),
    ],
)
def test_a_time_of_day_may_name_its_zone(said: str, resume_at: str) -> None:
    assert resume_time.parse(said, NOW) == resume_at
