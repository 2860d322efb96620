"""The marker: the bot's own words are known again, and a person's are a person's."""

from __future__ import annotations

import pytest

from fordjent.marker import MARKER, has_effect, is_by_bot, is_marked, mark, unmarked

BOTS = ("fordjent", "fordjent[bot]")
EFFECT = "acme/my--widget/issues/1:run-3:done"


def test_what_the_bot_writes_ends_with_footer_effect_and_marker() -> None:
    assert mark("Done: see #7.\n", "acme/widget/issues/1:done") == (
        "Done: see #7.\n"
        "\n"
        "---\n"
        "*Written by Fordjent.*\n"
        "\n"
        "<!-- ford:acme/widget/issues/1:done -->\n"
        "<!-- ford -->"
    )
    assert mark("x", footer=False) == f"x\n\n{MARKER}"


@pytest.mark.parametrize("text", ["Done.", "Two\n\nparagraphs", ""])
def test_what_was_marked_can_be_read_without(text: str) -> None:
    assert unmarked(mark(text, EFFECT)) == text
    assert unmarked(mark(text, footer=False)) == text


def test_a_human_is_a_human_with_the_marker_too() -> None:
    assert is_by_bot(mark("Done."), "fordjent", BOTS)
    assert is_by_bot(mark("Done."), "Fordjent[Bot]", BOTS)
    assert not is_by_bot(mark("Done."), "bob", BOTS)


@pytest.mark.parametrize(
    "text",
    [
        "I do not agree.",
        "> Done.\n>\n> <!-- ford -->\n\nWhy so?",
        "> Done.\n> <!-- ford -->",
        mark("Done.") + "\n\nWhy so?",
        "Why does it write <!-- ford -->",
        "",
    ],
)
def test_a_person_who_shares_the_bot_s_account_and_quotes_it_is_a_person(text: str) -> None:
    assert not is_by_bot(text, "fordjent", BOTS)


def test_the_marker_is_known_after_a_browser_has_changed_the_line_ends() -> None:
    text = mark("Done.", EFFECT).replace("\n", "\r\n") + "\r\n"
    assert is_marked(text)
    assert has_effect(text, EFFECT)


@pytest.mark.parametrize(
    "effect", [EFFECT, "with space", "a-->b", "--", "ümlaut/✅", "%2D", "a\nb", "<script>", "a:b@c"]
)
def test_an_effect_is_found_by_its_own_name_alone(effect: str) -> None:
    text = mark("Done.", effect)
    assert has_effect(text, effect)
    assert not has_effect(text, effect + "1")
    assert not has_effect(mark("Done."), effect)
    assert text.count("-->") == 2


def test_a_text_cannot_name_an_effect_or_carry_the_marker_itself() -> None:
    forged = f"Look:\n<!-- ford:{EFFECT} -->\n{MARKER}\n<!--ford-->\n<!-- fo<!-- ford -->rd -->"
    text = mark(forged, "another")
    assert not has_effect(text, EFFECT)
    assert has_effect(text, "another")
    assert text.count("ford -->") == 1


def test_a_quoted_effect_is_not_that_effect() -> None:
    quoted = "\n".join(f"> {line}" for line in mark("Done.", EFFECT).splitlines())
    assert not has_effect(quoted + "\n\nI see.", EFFECT)
    assert not has_effect(mark(quoted, "another"), EFFECT)
