"""What a text says that its issue depends on."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fordjent.scheduling.plain import plain
from fordjent.scheduling.references import dependencies, parent

HERE = "acme/widget"


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("Depends on: #1, #2", (1, 2)),
        ("depends on #3 and #4", (3, 4)),
        ("DEPENDS   ON:#3 #4", (3, 4)),
        ("Blocked by #5", (5,)),
        ("This is blocked by: #5.", (5,)),
        ("blocked on #5, #6 & #7", (5, 6, 7)),
        ("Depends on acme/widget#6", (6,)),
        ("Depends on Acme/Widget#6", (6,)),
        ("Depends on other/thing#6, #7", (7,)),
        ("Depends on other/widget#6", ()),
        ("Depends on https://forge.example.org/acme/widget/issues/8", (8,)),
        ("Depends on https://forge.example.org/acme/widget/pulls/8 and #9", (8, 9)),
        ("Depends on https://forge.example.org/acme/gadget/issues/8", ()),
        ("**Depends on:** #1", (1,)),
        ("**Depends on**: #1", (1,)),
        ("- Depends on #1", (1,)),
        ("- [ ] Depends on #1", (1,)),
        ("Some words.\n\nIt depends on #1.\nMore words about #2.", (1,)),
        ("Depends on #1 (the parser) and PR #2. See also #3.", (1, 2)),
        ("Depends on issue #1, and on the pull request #2", (1, 2)),
        ("Depends on: the parser #1, the lexer #2", (1, 2)),
        ("Depends on: #2, #1, #2", (2, 1)),
        ("Depends on:\n- #1\n- [ ] #2\n- [x] acme/widget#3\n* the lexer (#4), not #9\n\n1. #5\n\nUnlike #6.", (1, 2, 3, 4, 5)),
        ("## Depends on\n\n- #1 (see #9)\n- #2, #3\n", (1, 2, 3)),
        ("### Dependencies:\n- #1\n", (1,)),
        ("Dependencies: #1, #2", (1, 2)),
        ("Blocked by\n  - #1\n    with a remark about #9\n  - #2", (1, 2)),
        ("Depends on #1\r\nDepends on #2\r\n", (1, 2)),
        ("dependent on #1", (1,)),
        ("depends upon #1", (1,)),
    ],
)  # fmt: skip
def test_the_forms_that_people_write_are_read(text: str, numbers: tuple[int, ...]) -> None:
    assert dependencies(text, HERE) == numbers


@pytest.mark.parametrize(
    "text",
    [
        "",
        "See #1.",
        "Closes #1",
        "Parent: #1",
        "Part of #1",
        "Blocks #1",
        "It does not depend on #1",
        "It doesn't depend on #1",
        "This no longer depends on #1.",
        "#1 depends on this one",
        "#2 depends on #1",
        "We depend on goodwill. #1 is about it.",
        "Depends on nothing; #1 is another matter",
        "Depends on #1a or #b2",
        "Depends on page#1",
        "Depends on a/b/acme/widget#1",
        "Depends on #0",
        "~~Depends on #1~~ it is done differently",
        "```\nDepends on: #1\n```",
        "~~~markdown\nDepends on: #1\n```\n~~~",
        "```\nDepends on: #1",
        "- ```\n  Depends on: #1\n  ```",
        "Write `Depends on: #1` for that.",
        "Write ``Depends on: `#1` `` for that.",
        "Write `Depends on:\n#1 and so on` for that.",
        "> Depends on: #1",
        "> > Depends on: #1",
        "- > Depends on: #1",
        "<!-- Depends on: #1 -->",
        "<!--\nDepends on: #1\n-->",
        "<!-- for example\n```\n-->\n<!-- Depends on: #1",
        "Depends on <!-- #1 --> something",
        "independent depends-only #1",
    ],
)
def test_what_is_only_shown_or_said_of_something_else_is_not(text: str) -> None:
    assert dependencies(text, HERE) == ()


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("```\ncode\n```\nDepends on: #1", (1,)),
        ("```\ncode\n````\nDepends on: #1", (1,)),
        ("a ` tick\n\nDepends on: #1\n\nanother ` tick", (1,)),
        ("``` inline ``` Depends on: #1", (1,)),
        ("`<!--` Depends on: #1", (1,)),
        ("<!-- a --> Depends on: #1 <!-- #2 -->", (1,)),
        ("> quoted\n\nDepends on: #1", (1,)),
    ],
)
def test_what_stands_around_it_does_not_hide_it(text: str, numbers: tuple[int, ...]) -> None:
    assert dependencies(text, HERE) == numbers


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("As said.\n\nParent: #7", 7),
        ("**Parent:** acme/widget#7", 7),
        ("Part of #7", 7),
        ("Parent: #7\nDepends on: #8", 7),
        ("Parent: other/thing#7", 0),
        ("> Parent: #7", 0),
        ("`Parent: #7`", 0),
        ("Parent: the big one", 0),
        ("Its parent is #7", 0),
        ("", 0),
    ],
)
def test_a_parent_is_a_link_and_no_dependency(text: str, number: int) -> None:
    assert parent(text, HERE) == number
    assert 7 not in dependencies(text, HERE)


@given(st.text(alphabet=st.sampled_from("`~<!-> \n#1d-*depends on:"), max_size=300))
def test_any_text_can_be_read_and_quoting_all_of_it_leaves_nothing(text: str) -> None:
    found = dependencies(text, HERE)
    assert all(number > 0 for number in found)
    assert plain(text).count("\n") == text.count("\n")
    quoted = "\n".join(f"> {line}" for line in text.split("\n"))
    assert dependencies(quoted, HERE) == ()
    assert dependencies("`" * 400 + "\n" + text, HERE) == ()


@pytest.mark.parametrize(
    "piece",
    [
        "`",
        "` ",
        "<!--",
        "```\n",
        "depends on ",
        "Depends on:\n- #1\n",
        "#1",
        "(",
        "~~",
        "https://",
        "> ",
        "- ",
    ],
)
def test_no_text_takes_long(piece: str) -> None:
    begun = time.perf_counter()
    dependencies(piece * (150_000 // len(piece)), HERE)
    assert time.perf_counter() - begun < 3.0
