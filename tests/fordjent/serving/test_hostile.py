"""Titles, comments, branches, names of tools and their output are shown, and are nothing but text."""

from __future__ import annotations

import re
import time
from html.parser import HTMLParser

import pytest
from sqlalchemy import Connection, update

from fordjent.context import Context
from fordjent.serving.pages import calls
from fordjent.store import pausing
from fordjent.store.schema import issues, sessions
from tests.fordjent.serving.conftest import Ask
from tests.support import busy_state
from tests.support.busy_state import HOSTILE, KEY, SECRET

PAGES = ["/admin", "/sessions", "/activity", f"/trace/{KEY}", f"/trace/{KEY}/changes/run1"]
ALLOWED = set(
    [
        "html",
        "head",
        "meta",
        "title",
        "link",
        "noscript",
        "style",
        "body",
        "header",
        "a",
        "nav",
        "span",
        "form",
        "input",
        "button",
        "main",
        "h1",
        "h2",
        "h3",
        "small",
        "p",
        "b",
        "br",
        "section",
        "div",
        "table",
        "thead",
        "tbody",
        "tr",
        "th",
        "td",
        "time",
        "data",
        "svg",
        "rect",
        "figure",
        "select",
        "option",
        "label",
        "details",
        "summary",
        "pre",
        "code",
        "script",
    ]
)


def filled(context: Context) -> None:
    def fill(connection: Connection) -> None:
        busy_state.fill(connection, time.time())
        connection.execute(update(issues).values(title=HOSTILE))
        connection.execute(
            update(sessions).values(branch=f"fordjent/{HOSTILE}", base=HOSTILE, reason=HOSTILE, role=HOSTILE)
        )
        pausing.begin(connection, HOSTILE, True, time.time())

    context.database.submit(fill).result(20)


class Elements(HTMLParser):
    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))


@pytest.mark.parametrize("path", PAGES)
def test_hostile_words_are_words(ask: Ask, path: str) -> None:
    page = ask(path, prepare=filled)
    assert page.status_code == 200
    nonce = re.search(r"script-src 'nonce-([\w-]+)'", page.headers["content-security-policy"])
    assert nonce
    for tag, given in Elements(page.text).tags:
        assert tag in ALLOWED or (tag == "title"), tag
        assert not [name for name in given if name.startswith("on") or name == "style"], given
        if tag in ("script", "style"):
            assert given == {"nonce": nonce[1]}
        for name in ("href", "action"):
            assert given.get(name) is None or re.match(
                r"/|#|data:,$|http://127\.0\.0\.1:1/acme/", given[name] or ""
            ), given
    assert "&lt;script&gt;" in page.text or path.endswith("run1")
    assert "49" not in re.findall(r"&amp;(\{\{ 7\*7 \}\}|49)", page.text)
    assert SECRET not in page.text and "\u202e" not in page.text and "\x1b" not in page.text


def test_the_policy_lets_nothing_in_from_outside_and_no_nonce_comes_twice(ask: Ask) -> None:
    policies = {ask("/admin").headers["content-security-policy"] for _ in range(3)}
    assert len(policies) == 3
    parts = dict(part.strip().split(" ", 1) for part in policies.pop().split(";"))
    assert parts.pop("default-src") == parts.pop("frame-ancestors") == parts.pop("base-uri") == "'none'"
    assert (
        parts.pop("form-action") == parts.pop("connect-src") == "'self'" and parts.pop("img-src") == "data:"
    )
    assert set(parts) == {"style-src", "script-src"}
    assert all(re.fullmatch(r"'nonce-[\w-]{24}'", part) for part in parts.values())


@pytest.mark.parametrize(
    "arguments",
    [
        "",
        "null",
        "[1]",
        "{",
        '{"command": 3}',
        '{"args": "x"}',
        '{"path": null}',
        '{"a": {"b": ["<c>"]}}',
        "9" * 5000,
    ],
)
@pytest.mark.parametrize("name", ["bash", "git", "edit_file", "write_file", "read_file", "<b>", ""])
def test_a_call_of_anything_can_be_shown(name: str, arguments: str) -> None:
    assert calls.shown(name, arguments).name == name


def test_an_edit_is_a_diff_and_a_long_one_is_cut() -> None:
    found = calls.shown("edit_file", busy_state.EDIT)
    assert (found.about, found.is_diff) == ("greeting.py", True)
    assert [line.text for line in found.lines if line.kind == "added"] == ['+    return f"Hello, {name}!"']
    assert [line.text for line in found.lines if line.kind == "removed"] == ['-    return "Hello!"']
    long = calls.shown("write_file", '{"path": "a", "content": "' + "x\\n" * 5000 + '"}')
    assert len(long.lines) == calls.SHOWN_LINES + 1 and "4,600 more lines" in long.lines[-1].text
    assert calls.diff_of("just\n@@ words") is None and calls.diff_of(busy_state.DIFF)
