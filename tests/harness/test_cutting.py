"""Nothing that is cut before secrets are taken out of it holds a part of one, wherever the cut falls."""

from __future__ import annotations

import io
from collections.abc import Callable

import httpx2
import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ent_agent.repositories.pushing import _said
from fordjent.agent.summary import _told
from fordjent.agent.turns import _wrong_with
from fordjent.forge.wire import Request, _unreachable
from fordjent.models.messages import Answer, Message, ToolCall, ToolSpec, Usage
from fordjent.tools.files import _lines
from fordjent.tools.output import cut_whole, fit
from fordjent.tools.shown import words
from fordjent.workspaces import remote
from harness import cutting, templates
from harness.acp.progress import clip
from harness.process import Finished
from harness.redaction import Redactor

SECRET = "0aB3-correct.horse/battery+staple=9Zq8w7e6r5t4"
REDACTOR = Redactor([SECRET])
CAP = 400

CALL = ToolCall("1", "bash", "")
ASKED = Request("GET", "/x", "http://127.0.0.1:1/x", {})


def refused(text: str) -> Finished:
    """What git said, and exited."""
    return Finished(("git", "push"), 1, b"", text.encode())


def line_of_a_file(text: str) -> str:
    """In a line that is cut at 2,000 characters."""
    long = "word " * 320 + text.replace("\n", " ") + "more " * 300
    return next(_lines(io.BytesIO(long.encode()), REDACTOR))


TELLING: dict[str, Callable[[str], str]] = {
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
    "a forge that is away": lambda text: (
        _unreachable(ASKED, httpx2.URL(ASKED.url), OSError(text), received=False).message
    ),
    "what git says of the forge": lambda text: remote.explain(refused(text)).message,
    "what git says of origin": lambda text: _said(refused(text)),
    "a line of an agent's progress": lambda text: str(clip("word " * 320 + text + "more " * 320)),
    "the end of an agent's progress": lambda text: str(clip("word " * 640 + text + "more " * 320)),
    "a long line of a file": line_of_a_file,
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
