"""The log: JSON lines or text, and no secret in it whoever wrote the line."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator

import pytest
import stamina
import structlog

from fordjent.config import Log
from fordjent.serving import logs
from harness.redaction import Redactor

SECRET = 'a "quoted" secret\\value'


@pytest.fixture(autouse=True)
def restored() -> Iterator[None]:
    handlers, level = logging.root.handlers[:], logging.root.level
    yield
    structlog.reset_defaults()
    logging.root.handlers[:], logging.root.level = handlers, level


def begun(**settings: str) -> io.StringIO:
    stream = io.StringIO()
    logs.begin(Log(**settings), Redactor([SECRET]), stream)  # type: ignore[arg-type]
    return stream


def test_what_is_tried_again_is_told_in_a_word() -> None:
    said = io.StringIO()
    logs.begin(Log(format="json"), Redactor(), said)
    for attempt in stamina.retry_context(on=ValueError, attempts=2, wait_initial=0, wait_jitter=0):
        with attempt:
            if attempt.num == 1:
                raise ValueError("no answer")
    (line,) = map(json.loads, said.getvalue().splitlines())
    assert (line["event"], line["why"], line["level"]) == ("tried again", "no answer", "info")


def test_a_line_is_json_with_its_values() -> None:
    stream = begun()
    structlog.get_logger().info("said", key="acme/widget/issues/1", number=7)
    line = json.loads(stream.getvalue())
    assert (line["event"], line["key"], line["number"], line["level"]) == (
        "said",
        "acme/widget/issues/1",
        7,
        "info",
    )
    assert line["at"].endswith("Z")


@pytest.mark.parametrize("format", ["json", "text"])
def test_no_secret_is_in_it_however_it_is_said(format: str) -> None:
    stream = begun(format=format)
    log = structlog.get_logger().bind(bound=SECRET)
    log.error(
        f"event {SECRET}",
        value=SECRET,
        inner={"deep": [SECRET, {"deeper": SECRET}]},
        error=ValueError(SECRET),
    )
    try:
        raise RuntimeError(SECRET)
    except RuntimeError:
        log.exception("failed")
    logging.getLogger("a.library").warning("said %s", SECRET)
    try:
        raise RuntimeError(SECRET)
    except RuntimeError:
        logging.getLogger("a.library").exception("failed")
    text = stream.getvalue()
    assert "quoted" not in text and text.count("[redacted]") >= 8
    assert "RuntimeError" in text


def test_lines_of_libraries_are_json_too_and_their_chatter_is_not_there() -> None:
    stream = begun()
    logging.getLogger("httpx2").info("HTTP Request: GET https://forge.example.org")
    logging.getLogger("uvicorn.error").error("bad")
    (line,) = stream.getvalue().splitlines()
    assert json.loads(line)["event"] == "bad"


def test_what_is_below_the_level_is_not_said() -> None:
    stream = begun(level="warning")
    structlog.get_logger().info("detail")
    structlog.get_logger().warning("important")
    assert "detail" not in stream.getvalue() and "important" in stream.getvalue()
