"""Values as people read them, and plots."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.pages import plots, shown
from harness.pages.plots import Bar, Share


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (0, "$0.00"),
        (1234.5, "$1,234.50"),
        (0.25, "$0.25"),
        (0.0031, "$0.0031"),
        (0.000007, "$0.000007"),
        (0.9999, "$0.9999"),
    ],
)
def test_money_has_the_digits_that_it_takes(value: float, words: str) -> None:
    assert shown.dollars(value) == words


@given(st.integers(1, 10**13))
def test_nothing_that_was_spent_looks_like_nothing_or_like_much_else(microdollars: int) -> None:
    value = microdollars / 1_000_000
    read = float(shown.dollars(value).replace("$", "").replace(",", ""))
    assert (
        read > 0 and abs(read - value) <= max(0.005, 0.02 * value)
        if value >= 1
        else abs(read - value) < 0.00006
    )


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0, "0 s"),
        (0.04, "0.0 s"),
        (8.46, "8.5 s"),
        (59, "59 s"),
        (61, "1 min"),
        (4800, "1 h 20 min"),
        (3 * 86400, "3 days"),
        (-5, "0 s"),
    ],
)
def test_spans_of_time(seconds: float, words: str) -> None:
    assert shown.length(seconds) == words


def test_a_time_says_how_long_ago_and_exactly_when() -> None:
    assert 'datetime="1970-01-01T00:01:40+00:00"' in shown.ago(100, 160) and ">1 min ago<" in shown.ago(
        100, 160
    )
    assert ">in 20 s<" in shown.ago(100, 80)
    assert shown.moment_of("1970-01-01T00:01:40+00:00") == shown.moment(100)


def test_text_loses_what_would_hide_or_turn_it() -> None:
    assert shown.plain("a\u202eb\x1b[31m\x00\r\nc\td\ud800") == "ab[31m\nc\td"


def _drawn(markup: str) -> ET.Element:
    return ET.fromstring(f"<div>{markup}</div>")


def test_bars_have_the_values_and_the_highest_is_full() -> None:
    found = _drawn(plots.bars("spent", [Bar("mon", 0.0), Bar("tue<b>", 5.0), Bar("wed", 0.001)], "dollars"))
    bars = [one for one in found.iter("rect") if one.get("class") == "bar"]
    assert [(one.get("data-name"), float(one.get("data-value") or "")) for one in bars] == [
        ("spent mon", 0.0),
        ("spent tue<b>", 5.0),
        ("spent wed", 0.001),
    ]
    heights = [float(one.get("height") or "") for one in bars]
    assert heights[0] == 0 and heights[1] == 100 and 1 < heights[2] < 3


@given(st.lists(st.floats(0, 1e9), max_size=40))
def test_a_plot_never_leaves_its_frame(values: list[float]) -> None:
    for rect in _drawn(plots.bars("n", [Bar(str(i), value) for i, value in enumerate(values)])).iter("rect"):
        x, y, w, h = (float(rect.get(name) or "0") for name in ("x", "y", "width", "height"))
        assert x >= 0 and x + w <= 100.01 and y >= 0 and y + h <= 100.01
    for rect in _drawn(plots.shares("n", [Share("failed", value) for value in values])).iter("rect"):
        assert float(rect.get("x") or "") + float(rect.get("width") or "") <= 100.1


def test_a_meter_warns_before_it_is_full() -> None:
    kinds = [_drawn(plots.meter(part, 10)).find("svg") for part in (1, 8, 12)]
    assert [one.get("class") for one in kinds if one is not None] == [
        "meter under",
        "meter near",
        "meter over",
    ]
    assert plots.meter(5, 0) == ""
