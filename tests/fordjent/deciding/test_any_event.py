"""What holds for every event, whatever is in it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from fordjent.deciding.actions import Cancel, Feed, Guide
from fordjent.deciding.decide import decide
from fordjent.deciding.event import Event, read
from fordjent.deciding.facts import WRITERS, Facts
from fordjent.session_key import SessionKey
from harness.errors import BadData
from tests.support.deliveries import recorded

BOTS = ("fordjent", "Fordjent[bot]")
PEOPLE = ("alice", "bob", "eve")
LABELS = st.sets(st.sampled_from(("ready", "blocked", "role:pm", "role:reviewer", "bug", "needs-role")))

EVENTS = st.sampled_from([delivery.event() for delivery in recorded().values()])


@st.composite
def events(draw: st.DrawFn) -> Event:
    event = draw(EVENTS)
    changed = {
        "sender": draw(st.sampled_from(BOTS + PEOPLE)),
        "author": draw(st.sampled_from(BOTS + PEOPLE)),
        "labels": tuple(draw(LABELS)),
        "state": draw(st.sampled_from(("open", "closed", "merged"))),
        "assignees": tuple(draw(st.sets(st.sampled_from(BOTS + PEOPLE)))),
        "title": draw(st.sampled_from(("Plan", "[pm] Plan", "[review] it"))),
    }
    if event.comment:
        changed["comment"] = replace(event.comment, author=changed["sender"])
    return replace(event, **changed)


FACTS = st.builds(
    Facts,
    bot_logins=st.just(frozenset(login.casefold() for login in BOTS)),
    permission=st.sampled_from(("owner", "admin", "write", "read", "none")),
    ours=st.booleans(),
    labels_before=st.none() | LABELS.map(tuple),
    session_role=st.sampled_from(("", "implementer", "pm")),
    author_role=st.sampled_from(("implementer", "tester")),
    require_role=st.booleans(),
    runs_last_hour=st.integers(0, 20),
    held_until=st.just(5000.0),
)


@given(events(), FACTS)
@settings(max_examples=400, deadline=None)
def test_the_bot_never_feeds_itself(event: Event, facts: Facts) -> None:
    """But by an issue that it opens: a sub-issue."""
    starts = [action for action in decide(event, facts) if isinstance(action, Feed | Guide)]
    own = facts.is_bot(event.sender) or (event.comment is not None and facts.ours)
    assert not (own and starts and event.name != "issue.opened")


@given(events(), FACTS)
@settings(max_examples=400, deadline=None)
def test_nobody_without_write_access_starts_or_stops_work(event: Event, facts: Facts) -> None:
    actions = decide(event, facts)
    may = facts.permission in WRITERS or facts.is_bot(event.sender)
    assert may or not any(isinstance(action, Feed | Guide) for action in actions)
    assert may or event.action == "closed" or not any(isinstance(action, Cancel) for action in actions)


@given(events(), FACTS)
@settings(max_examples=400, deadline=None)
def test_what_is_decided_is_about_the_events_own_session_and_open_work(event: Event, facts: Facts) -> None:
    actions = decide(event, facts)
    assert actions == decide(event, facts)
    assert actions
    for action in actions:
        if isinstance(action, Feed):
            assert SessionKey.parse(action.key)[::2] == (event.repository, event.number)
            assert event.state == "open" or event.name == "issue.opened"
            assert action.key.split("/")[2] == ("pulls" if event.is_pull else "issues")
            assert (action.not_before > 0) == (facts.runs_last_hour >= facts.max_runs_per_hour)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(st.sampled_from(sorted(recorded())), st.data())
@settings(max_examples=300, deadline=None)
def test_a_strange_document_is_read_or_refused_and_never_breaks(number: int, data: st.DataObject) -> None:
    delivery = recorded()[number]
    document: dict[str, Any] = dict(delivery.document)
    document[data.draw(st.sampled_from(sorted(document)))] = data.draw(JSON)
    try:
        event = read(delivery.event_type, json.dumps(document).encode())
    except BadData:
        return
    assert decide(event, Facts(permission="write"))


@pytest.mark.parametrize("body", [b"", b"[]", b"{}", b'{"repository": {"full_name": "../x"}}', b"\xff"])
def test_what_is_no_delivery_is_refused(body: bytes) -> None:
    with pytest.raises(BadData):
        read("issues", body)


@pytest.mark.parametrize("number", sorted(recorded()))
def test_an_event_is_understood_from_its_coarse_name_too(number: int) -> None:
    """All that an old server tells."""
    coarse = {
        "issue_label": "issues",
        "issue_assign": "issues",
        "issue_milestone": "issues",
        "pull_request_label": "pull_request",
        "pull_request_sync": "pull_request",
        "pull_request_review_request": "pull_request",
        "pull_request_review_approved": "pull_request_approved",
        "pull_request_review_rejected": "pull_request_rejected",
        "pull_request_review_comment": "pull_request_comment",
        "pull_request_comment": "issue_comment",
    }
    delivery = recorded()[number]
    precise = delivery.event()
    again = delivery._replace(event_type=coarse.get(delivery.event_type, delivery.event_type)).event()
    assert replace(again, kind="") == replace(precise, kind="")
