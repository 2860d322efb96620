"""When summaries are due: once for each day, whatever the clock does meanwhile."""

from __future__ import annotations

from datetime import date, datetime, timedelta

DAY = timedelta(days=1)


def due(now: datetime, at: str, last: date) -> date | None:
    """The day for which they are due, None: none is. `now`: local; `at`: "02:00", "": never; `last`: done for.

    A time that the clock leaves out in spring is passed all the same, and one that it has twice in
    autumn counts once. What was missed is made good. A day in the future was noted by a clock that was
    wrong; the next one may come of a clock that was put back a little.
    """
    newest = newest_day(now, at)
    if newest is None or last in (newest, newest + DAY):
        return None
    return newest


def newest_day(now: datetime, at: str) -> date | None:
    """The last day whose time has come; None: never."""
    if not at:
        return None
    hours, minutes = (int(part) for part in at.split(":"))
    today = now.date()
    return today if (now.hour, now.minute) >= (hours, minutes) else today - DAY
