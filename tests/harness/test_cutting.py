"""Nothing that is cut before secrets are taken out of it holds a part of one, wherever the cut falls."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fordjent.agent.summary import _told
from fordjent.agent.turns import _wrong_with
from fordjent.models.messages import Answer, Message, ToolCall, ToolSpec, Usage
from fordjent.tools.output import cut_whole, fit
from fordjent.tools.shown import words
from harness import cutting, templates
from harness.redaction import Redactor

SECRET = "0aB3-correct.horse/battery+staple=9Zq8w7e6r5t4"
REDACTOR = Redactor([SECRET])
CAP = 400

CALL = ToolCall("1", "bash", "")
TELLING = {
    "the beginning": lambda text: cutting.beginning(text, CAP),
    "the end": lambda text: cutting.ending(text, CAP),
    "data of a prompt": lambda text: templates.data(text, CAP),
    "a line of a prompt": lambda text: templates.line(text, CAP),
    "words of an issue": lambda text: words("alice", text, CAP),
    "both ends": lambda text: cut_whole(text, CAP),
    "what a tool says": lambda text: fit(text, REDACTOR, CAP),
    "arguments that are none": lambda text: _wrong_with(
        msgspec.structs.replace(CALL, arguments=text),
        [ToolSpec("bash", "", {})],
        Answer(Message("assistant", ""), Usage(), "", ""),
    ),
    "arguments in a summary": lambda text: _told(
        Message("assistant", "", tool_calls=(msgspec.structs.replace(CALL, arguments=text * 6),))
    ),
}


@pytest.mark.parametrize("way", TELLING)
@given(before=st.integers(0, 900), after=st.integers(0, 900), gap=st.sampled_from([" ", "\n", '"', "é"]))
@example(before=CAP - 20, after=300, gap=" ")
@example(before=CAP - 1, after=300, gap="\n")
def test_no_part_of_a_secret_is_left_by_a_cut(way: str, before: int, after: int, gap: str) -> None:
    text = f"{'word ' * (before // 5)}{'x' * (before % 5)}{gap}{SECRET}{gap}{'more ' * (after // 5)}"
    told = REDACTOR.redact(TELLING[way](text))
    parts = {SECRET[start : start + 8] for start in range(len(SECRET) - 7)}
    assert not any(part in told for part in parts)


def test_a_text_without_gaps_is_cut_all_the_same() -> None:
    assert len(cutting.beginning("x" * 50_000, 30_000)) == 30_000
    assert cutting.beginning("字" * 500, 300) == "字" * 300
    assert cutting.ending("short", 300) == "short"
