"""Single values, by entomologist's rules (it is written in Rust: its trim, its lower case, chrono's times)."""

from __future__ import annotations

import contextlib
import datetime
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ent_agent.tracker import format
from ent_agent.tracker.model import STATES
from ent_agent.tracker.times import INVALID, OUT_OF_RANGE, TOO_LONG, TOO_SHORT, Instant
from harness.errors import BadData


def in_zone(monkeypatch: pytest.MonkeyPatch, zone: str) -> None:
    monkeypatch.setenv("TZ", zone)
    time.tzset()


# ---- states and trimming


@pytest.mark.parametrize(
    ("content", "state"),
    [
        (b"new", "new"),
        (b"  done \n", "done"),
        (b"\tWontDo\r\n", "wontdo"),
        ("\u00a0new\u3000".encode(), "new"),
        ("bac\u212alog".encode(), "backlog"),
        (b"InProgress\x0b\x0c", "inprogress"),
        ("\u0085BLOCKED\u2028".encode(), "blocked"),
    ],
)
def test_states_are_trimmed_and_their_case_does_not_matter(content: bytes, state: str) -> None:
    assert format.parse_state(content) == state


@pytest.mark.parametrize(
    "content",
    [b"", b"\n", b"\x1cnew", "\ufeffnew".encode(), b"in progress", b"<<<<<<< ours\nnew\n", b"\xff", b"news"],
)
def test_what_is_no_state(content: bytes) -> None:
    with pytest.raises(BadData):
        format.parse_state(content)


def test_only_white_space_is_trimmed() -> None:
    assert format.trim("\t\u2003x \u0085") == "x"
    assert format.trim("\x1cx\x1f\u200b") == "\x1cx\x1f\u200b"


@given(st.binary())
def test_no_content_breaks_the_parser_of_states(content: bytes) -> None:
    with contextlib.suppress(BadData):
        assert format.parse_state(content) in STATES


# ---- times: read


@pytest.mark.parametrize(
    ("text", "seconds", "nanoseconds"),
    [
        ("2025-07-06 06:32:09+00:00", 1751783529, 0),
        ("2025-01-01t00:00:00.1+05:30", 1735669800, 100_000_000),
        ("2025-01-01T00:00:00z", 1735689600, 0),
        ("2025-01-01T00:00:00\u221200:30", 1735691400, 0),
        ("2025-01-01T00:00:00.1234567891234Z", 1735689600, 123_456_789),
        ("2025-01-01T00:00:60Z", 1735689659, 1_000_000_000),
        ("2025-01-01T00:00:60.5Z", 1735689659, 1_500_000_000),
        ("0000-02-29T00:00:00Z", -62162121600, 0),
        ("9999-12-31T23:59:59+23:59", 253402300799 - 86340, 0),
        ("1970-01-01T00:00:00-23:59", 86340, 0),
    ],
)
def test_times_that_are_taken(text: str, seconds: int, nanoseconds: int) -> None:
    assert format.parse_time(text) == Instant(seconds, nanoseconds)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", TOO_SHORT),
        ("2025-01-01", TOO_SHORT),
        ("1735689600", TOO_SHORT),
        ("2025-01-01T00:00:00", TOO_SHORT),
        ("2025-01-01T00:00:00.", TOO_SHORT),
        ("2025-01-01T00:00:00.5", TOO_SHORT),
        ("2025-01-01T00:00:00+00", TOO_SHORT),
        ("2025-01-01T00:00:00+00:0", TOO_SHORT),
        ("2025-01-01T00:00:00+0000", INVALID),
        ("2025-01-01T00:00:00,5Z", INVALID),
        ("2025-01-01T00:00:00.Z", INVALID),
        ("10000-01-01T00:00:00Z", INVALID),
        ("-0001-01-01T00:00:00Z", INVALID),
        ("+2025-01-01T00:00:00Z", INVALID),
        ("2025-01-01_00:00:00Z", INVALID),
        ("2025-1-01T00:00:00Zxx", INVALID),
        ("\u0662025-01-01T00:00:00Z", INVALID),
        ("2025-13-01T00:00:00Z", OUT_OF_RANGE),
        ("2025-02-29T00:00:00Z", OUT_OF_RANGE),
        ("1900-02-29T00:00:00Z", OUT_OF_RANGE),
        ("2025-01-00T00:00:00Z", OUT_OF_RANGE),
        ("2025-01-01T24:00:00Z", OUT_OF_RANGE),
        ("2025-01-01T00:60:00Z", OUT_OF_RANGE),
        ("2025-01-01T00:00:61Z", OUT_OF_RANGE),
        ("2025-01-01T00:00:00+24:00", OUT_OF_RANGE),
        ("2025-01-01T00:00:00+00:60", OUT_OF_RANGE),
        ("2025-01-01T00:00:00Z ", TOO_LONG),
        ("2025-01-01T00:00:00+00:00x", TOO_LONG),
    ],
)
def test_times_that_are_refused_with_chronos_words(text: str, why: str) -> None:
    with pytest.raises(BadData) as caught:
        format.parse_time(text)
    assert caught.value.message == why


@given(st.text() | st.from_regex(r"\A\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d*)?(Z|[+-]\d\d:?\d\d)?.?\Z"))
def test_no_text_breaks_the_parser_of_times(text: str) -> None:
    try:
        format.parse_time(text)
    except BadData as error:
        assert error.message in (TOO_SHORT, INVALID, OUT_OF_RANGE, TOO_LONG)


@given(st.datetimes(datetime.datetime(2, 1, 1), datetime.datetime(9997, 1, 1)), st.integers(-1439, 1439))
def test_times_agree_with_pythons_own(moment: datetime.datetime, offset_minutes: int) -> None:
    zone = datetime.timezone(datetime.timedelta(minutes=offset_minutes))
    moment = moment.replace(tzinfo=zone)
    since = moment - datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
    seconds, rest = divmod(since, datetime.timedelta(seconds=1))
    assert format.parse_time(moment.isoformat()) == Instant(seconds, rest.microseconds * 1000)


# ---- times: written and shown


@pytest.mark.parametrize(
    ("nanoseconds", "fraction"),
    [
        (0, ""),
        (100_000_000, ".100"),
        (120_000, ".000120"),
        (1, ".000000001"),
        (1_000_000, ".001"),
        (999_999_999, ".999999999"),
    ],
)
def test_fractions_have_no_three_six_or_nine_digits(nanoseconds: int, fraction: str) -> None:
    instant = Instant(1735689600, nanoseconds)
    assert format.write_time(instant) == f"2025-01-01T00:00:00{fraction}+00:00"
    assert format.display_time(instant) == f"2025-01-01 00:00:00{fraction} +00:00"


@pytest.mark.parametrize(
    ("zone", "written"),
    [
        ("UTC", "2025-07-01T00:00:00+00:00"),
        ("Asia/Kathmandu", "2025-07-01T05:45:00+05:45"),
        ("America/New_York", "2025-06-30T20:00:00-04:00"),
        ("XYZ-3", "2025-07-01T03:00:00+03:00"),
        ("", "2025-07-01T00:00:00+00:00"),
    ],
)
def test_the_zone_is_the_local_one_at_that_moment(
    monkeypatch: pytest.MonkeyPatch, zone: str, written: str
) -> None:
    in_zone(monkeypatch, zone)
    assert format.write_time(Instant(1751328000)) == written


def test_an_offset_with_seconds_is_shown_whole_and_rounded_in_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    in_zone(monkeypatch, "Asia/Kathmandu")
    instant = format.parse_time("1850-06-01T12:00:00Z")
    assert format.display_time(instant) == "1850-06-01 17:41:16 +05:41:16"
    assert format.write_time(instant) == "1850-06-01T17:41:16+05:41"
    assert format.parse_time(format.exact_time(instant)) == instant


def test_a_leap_second_is_written_as_second_60() -> None:
    instant = format.parse_time("2025-01-01T00:00:60.25Z")
    assert format.write_time(instant) == "2025-01-01T00:00:60.250+00:00"


@pytest.mark.parametrize(
    ("zone", "text"), [("America/New_York", "0001-01-01T00:00:00Z"), ("Asia/Tokyo", "9998-12-31T23:59:59Z")]
)
def test_a_year_that_could_not_be_read_again_is_not_written(
    monkeypatch: pytest.MonkeyPatch, zone: str, text: str
) -> None:
    in_zone(monkeypatch, zone)
    with pytest.raises(BadData, match="year"):
        format.write_time(format.parse_time(text))


@given(st.integers(-62135596800 + 86400, 253370764800 - 86400), st.integers(0, 999_999_999))
def test_what_is_written_is_read_again(seconds: int, nanoseconds: int) -> None:
    instant = Instant(seconds, nanoseconds)
    assert format.parse_time(format.write_time(instant)) == instant
    assert format.parse_time(format.exact_time(instant)) == instant


# ---- tags


@pytest.mark.parametrize(
    ("tag", "name"),
    [("a,b/c", "a,0b,1c"), (",0,1/", ",00,01,1"), ("Zed", "Zed"), ("ünï", "ünï"), (" x\n.", " x\n.")],
)
def test_tags_are_escaped(tag: str, name: str) -> None:
    assert format.escape_tag(tag) == name
    assert format.unescape_tag(name) == tag


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("a,b", 'invalid escape character "b" in tag file "a,b"'),
        ("a,", "invalid trailing escape character ',' in tag file \"a,\""),
        ("a,é", 'invalid escape character "é" in tag file "a,é"'),
        ('"\n,', 'invalid trailing escape character \',\' in tag file "\\"\\n,"'),
    ],
)
def test_a_bad_escape_is_told_in_entomologists_words(name: str, why: str) -> None:
    with pytest.raises(BadData) as caught:
        format.unescape_tag(name)
    assert caught.value.message == why


@given(st.text())
def test_every_tag_survives_its_file_name(tag: str) -> None:
    assert "/" not in format.escape_tag(tag)
    assert format.unescape_tag(format.escape_tag(tag)) == tag


@given(st.text(alphabet=",01ab/"))
def test_no_file_name_breaks_the_parser_of_tags(name: str) -> None:
    with contextlib.suppress(BadData):
        assert format.escape_tag(format.unescape_tag(name)) == name.replace("/", ",1")
