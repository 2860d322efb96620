"""The forge's lists against what was handled, as tables."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from fordjent.forge.types import Comment, Issue, Label, Pull, Review, Side, User
from fordjent.reconciling import comparing
from fordjent.reconciling.comparing import Handled, Listed, Said
from fordjent.store.issues import KnownIssue

SINCE, UNTIL = 1000.0, 2000.0


def moment(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


def issue(number: int = 1, *, at: float = 1500.0, labels: tuple[str, ...] = (), **more: Any) -> Issue:
    named = [Label(id=place, name=name) for place, name in enumerate(labels)]
    more = {"updated_at": moment(at), **more}
    return Issue(number=number, user=User(login="alice"), labels=named, created_at=moment(at), **more)


def pull(number: int = 7, *, at: float = 1500.0, head: str = "abc") -> Pull:
    side = Side(ref="topic", sha=head)
    user = User(login="alice")
    return Pull(number=number, user=user, head=side, created_at=moment(at), updated_at=moment(at))


def known(number: int = 1, *, is_pull: bool = False, **more: Any) -> KnownIssue:
    return KnownIssue(repository="acme/widget", number=number, is_pull=is_pull, seen_at=1200.0, **more)


def comment(id: int, *, number: int = 1, at: float = 1500.0) -> Comment:
    where = f"http://forge/acme/widget/issues/{number}"
    return Comment(id=id, user=User(login="bob"), issue_url=where, created_at=moment(at))


def review(id: int, *, at: float = 1500.0, state: str = "COMMENT", body: str = "Well.") -> Review:
    return Review(id=id, user=User(login="Bob"), state=state, body=body, submitted_at=moment(at))


def listed(**more: Any) -> Listed:
    return Listed(since=SINCE, until=UNTIL, **more)


def sources(found: Listed, handled: Handled) -> list[str]:
    return [one.source for one in comparing.missed(found, handled)]


def test_an_issue_of_the_window_that_no_delivery_opened_was_missed() -> None:
    assert sources(listed(issues=(issue(),)), Handled()) == ["opened:1"]


def test_one_that_a_delivery_opened_was_not() -> None:
    assert sources(listed(issues=(issue(),)), Handled(opened=frozenset((1,)))) == []


def test_one_that_is_older_than_the_window_is_left_alone() -> None:
    assert sources(listed(issues=(issue(at=SINCE - 1),)), Handled()) == []


def test_one_that_is_younger_may_be_on_its_way() -> None:
    assert sources(listed(issues=(issue(at=UNTIL + 1),)), Handled()) == []


def test_one_about_which_an_event_waits_is_left_until_that_is_decided() -> None:
    assert sources(listed(issues=(issue(),)), Handled(undecided=frozenset((1,)))) == []


def test_an_issue_that_is_known_by_a_comment_only_was_still_not_opened() -> None:
    assert sources(listed(issues=(issue(),)), Handled(known={1: known()})) == ["opened:1"]


def test_labels_that_differ_were_missed_also_on_an_old_issue() -> None:
    old = issue(at=10.0, labels=("ready",), updated_at=moment(1500))
    assert sources(listed(issues=(old,)), Handled(known={1: known(labels=("bug",))})) == ["labels:1:1200.000"]
    assert sources(listed(issues=(old,)), Handled(known={1: known(labels=("ready",))})) == []


def test_an_issue_that_nobody_ever_told_of_has_no_labels_to_compare() -> None:
    assert sources(listed(issues=(issue(at=10.0, labels=("ready",)),)), Handled()) == []


def test_assignees_are_compared_beside_the_labels() -> None:
    old = issue(at=10.0, labels=("ready",), assignees=[User(login="bob")])
    found = sources(listed(issues=(old,)), Handled(known={1: known()}))
    assert found == ["labels:1:1200.000", "assignees:1:1200.000"]


def test_one_that_was_closed_and_is_listed_was_opened_again() -> None:
    handled = Handled(known={1: known(state="closed", labels=("bug",))})
    assert sources(listed(issues=(issue(at=10.0),)), handled) == ["reopened:1:1200.000"]


def test_what_was_open_and_is_not_listed_is_gone() -> None:
    handled = Handled(known={1: known(), 2: known(2), 3: known(3, state="closed"), 4: known(4)})
    handled = Handled(known=handled.known, undecided=frozenset((4,)))
    assert comparing.gone(listed(issues=(issue(2),)), handled) == [1]


def test_a_head_that_no_event_told_of_was_missed_once() -> None:
    there = listed(pulls=(pull(at=10.0, head="new"),))
    before = {7: known(7, is_pull=True, head_commit="old")}
    assert sources(there, Handled(known=before)) == ["head:7:new"]
    assert sources(there, Handled(known=before, heads=frozenset(("new",)))) == []
    assert sources(there, Handled(known={7: known(7, is_pull=True, head_commit="new")})) == []
    assert sources(there, Handled(known={7: known(7, is_pull=True)})) == []


def test_comments_are_known_by_their_ids() -> None:
    there = listed(issues=(issue(at=10.0),), comments=(comment(1), comment(2), comment(3, at=SINCE - 1)))
    assert sources(there, Handled(comments=frozenset((1,)))) == ["comment:2"]


def test_a_comment_on_what_is_closed_starts_nothing() -> None:
    assert sources(listed(comments=(comment(1),)), Handled()) == []


def test_one_delivery_accounts_for_one_of_two_reviews_that_are_alike() -> None:
    there = listed(pulls=(pull(at=10.0),), reviews={7: (review(1), review(2))})
    assert sources(there, Handled()) == ["review:1", "review:2"]
    assert sources(there, Handled(said=(Said(7, "bob", "comment", "Well."),))) == ["review:2"]
    assert sources(there, Handled(told_reviews=frozenset((1,)))) == ["review:2"]
    assert sources(there, Handled(told_reviews=frozenset((1, 2)))) == []


def test_reviews_that_are_not_sent_off_are_none() -> None:
    waiting = (review(1, state="PENDING"), review(2, state="REQUEST_REVIEW"))
    assert sources(listed(pulls=(pull(at=10.0),), reviews={7: waiting}), Handled()) == []


def test_what_was_missed_comes_in_the_order_in_which_it_happened() -> None:
    there = listed(
        issues=(issue(1, at=1600.0), issue(2, at=1400.0)),
        comments=(comment(5, number=2, at=1700.0), comment(4, number=1, at=1650.0)),
    )
    assert sources(there, Handled()) == ["opened:2", "opened:1", "comment:4", "comment:5"]
