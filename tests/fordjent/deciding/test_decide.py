"""The table of decisions row by row, each from a recorded delivery and a change of it."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from fordjent.deciding.actions import Action, Cancel, Feed, Guide, Nothing, Remember, Reschedule
from fordjent.deciding.decide import RULES, decide
from fordjent.deciding.facts import Facts, Inline, KnownReview
from tests.support.deliveries import Recorded, recorded

WRITER = Facts(
    bot_logins=frozenset(("fordjent", "fordjent[bot]")),
    permission="write",
    labels_before=(),
    protected_branches=frozenset(("main", "master")),
)
READER = replace(WRITER, permission="read")

OPENED, LABELLED, COMMENT, EDITED, DELETED = 1, 4, 8, 10, 40
PULL, REJECTED, REMARK, PULL_COMMENT, APPROVED = 11, 14, 15, 16, 18
MERGED, CLOSED, PUSHED, PULL_CLOSED, REOPENED, SYNCHRONIZED, UNDRAFTED = 19, 36, 21, 33, 34, 121, 117


def delivery(number: int, **values: Any) -> Recorded:
    return recorded()[number].but(**values)


def named(*names: str) -> list[dict[str, str]]:
    return [{"name": name} for name in names]


def decided(number: int, facts: Facts = WRITER, **values: Any) -> list[Action]:
    """All but what is remembered."""
    actions = decide(delivery(number, **values).event(), facts)
    return [action for action in actions if not isinstance(action, Remember)]


def fed(number: int, facts: Facts = WRITER, **values: Any) -> Feed:
    [action] = decided(number, facts, **values)
    assert isinstance(action, Feed), action
    return action


def why_nothing(number: int, facts: Facts = WRITER, **values: Any) -> str:
    [action] = decided(number, facts, **values)
    assert isinstance(action, Nothing), action
    return action.reason


HUMAN_PULL = {"pull_request__user": {"login": "bob"}, "sender": {"login": "bob"}}


# ---- issues


def test_an_issue_of_somebody_with_write_access_starts_a_session() -> None:
    action = fed(OPENED)
    assert (action.key, action.role, action.input.source) == ("acme/widget/issues/1", "implementer", "opened")
    assert "Print **hello**." in action.input.text


@pytest.mark.parametrize("permission", ["read", "none", ""])
def test_an_issue_of_anybody_else_is_only_remembered(permission: str) -> None:
    [remembered, nothing] = decide(
        recorded()[OPENED].event(), Facts(permission=permission, max_runs_per_hour=1)
    )
    assert isinstance(remembered, Remember)
    assert nothing == Nothing(reason="bob has no write access")


@pytest.mark.parametrize("permission", ["owner", "admin", "write"])
def test_every_right_to_write_counts(permission: str) -> None:
    assert fed(OPENED, replace(WRITER, permission=permission))


def test_allowed_senders_need_no_write_access_however_they_are_spelt() -> None:
    assert fed(OPENED, replace(READER, allowed_senders=frozenset(("bob",))), sender__login="BOB")


def test_the_bots_own_sub_issue_starts_with_its_role_without_being_asked_for_rights() -> None:
    action = fed(OPENED, READER, sender__login="fordjent", issue__labels=named("role:tester"))
    assert (action.role, action.by_person) == ("tester", False)


def test_a_sub_issue_that_waits_is_not_started() -> None:
    labels = named("blocked", "role:implementer")
    assert "blocked" in why_nothing(OPENED, READER, sender__login="fordjent", issue__labels=labels)


def test_a_comment_does_not_start_an_issue_that_waits() -> None:
    assert "ready" in why_nothing(COMMENT, issue__labels=named("blocked"))


def test_a_comment_reaches_a_session_that_is_blocked() -> None:
    blocked = replace(WRITER, session_role="implementer")
    assert fed(COMMENT, blocked, issue__labels=named("blocked")).input.text == "@fordjent please start"


# ---- labels


@pytest.mark.parametrize(
    ("title", "before", "now", "starts"),
    [
        ("Add a greeting", (), ("ready",), "Label set: ready"),
        ("Add a greeting", (), ("plan-approved",), "Label set: plan-approved"),
        ("Add a greeting", (), ("role:pm",), "Label set: role:pm"),
        ("Add a greeting", (), ("role:developer",), "Label set: role:implementer"),
        ("Add a greeting", ("bug",), ("bug", "ready", "role:pm"), "Label set: ready, role:pm"),
        ("Add a greeting", ("blocked",), ("blocked", "ready"), "Label set: ready"),
        ("Add a greeting", ("blocked", "role:pm"), ("ready", "role:pm"), "Label set: ready"),
        ("Add a greeting", (), ("bug",), None),
        ("Add a greeting", ("ready",), ("ready",), None),  # set to the same
        ("Add a greeting", ("ready", "bug"), ("ready",), None),  # another one taken off
        ("Add a greeting", ("ready",), (), None),  # taken off
        ("Add a greeting", ("role:pm",), (), None),
        ("Add a greeting", ("role:pm",), ("role:pm", "role:tester"), None),  # it has a role
        ("Add a greeting", ("role:pm",), ("role:tester",), None),
        ("[pm] Plan", (), ("role:pm",), None),  # its title names one
        ("Add a greeting", ("blocked",), ("blocked", "role:pm"), None),  # waits for others
        ("Add a greeting", (), ("Ready",), None),
    ],
)
def test_a_label_starts_an_issue_when_it_was_not_there_before(
    title: str, before: tuple[str, ...], now: tuple[str, ...], starts: str | None
) -> None:
    facts = replace(WRITER, labels_before=before)
    [action] = decided(LABELLED, facts, issue__labels=named(*now), issue__title=title)
    assert (action.input.text if isinstance(action, Feed) else None) == starts


def test_a_label_on_an_issue_that_was_never_seen_starts_it_only_by_a_plain_word() -> None:
    unseen = replace(WRITER, labels_before=None)
    assert fed(LABELLED, unseen, issue__labels=named("ready"))
    assert why_nothing(LABELLED, unseen, issue__labels=named("role:pm"))


def test_the_bots_own_labels_start_nothing() -> None:
    assert (
        why_nothing(LABELLED, sender__login="fordjent", issue__labels=named("ready")) == "by the bot itself"
    )


def test_a_label_of_somebody_without_write_access_starts_nothing() -> None:
    assert "no write access" in why_nothing(LABELLED, READER, issue__labels=named("ready"))


def test_a_label_on_a_closed_issue_starts_nothing() -> None:
    assert why_nothing(LABELLED, issue__state="closed", issue__labels=named("ready"))


def test_the_same_label_set_again_later_is_told_again() -> None:
    first = fed(LABELLED)
    later = fed(LABELLED, issue__updated_at="2026-11-30T16:00:00Z")
    assert first.input.source != later.input.source


def test_all_labels_cleared_are_remembered_as_none() -> None:
    [remembered, _] = decide(recorded()[48].event(), WRITER)
    assert isinstance(remembered, Remember)
    assert remembered.labels == ()


# ---- roles


def test_where_a_role_is_required_an_issue_without_one_is_guided_once() -> None:
    strict = replace(WRITER, require_role=True)
    assert decided(OPENED, strict) == [Guide(key="acme/widget/issues/1")]
    assert decided(COMMENT, strict, issue__labels=[]) == [Guide(key="acme/widget/issues/1")]
    assert "needs-role" in why_nothing(COMMENT, strict, issue__labels=named("needs-role"))


def test_the_role_that_is_set_then_starts_it() -> None:
    strict = replace(WRITER, require_role=True, labels_before=("needs-role",))
    assert fed(LABELLED, strict, issue__labels=named("needs-role", "role:devops")).role == "devops"


def test_a_session_keeps_its_role_where_the_issue_names_none() -> None:
    assert fed(COMMENT, replace(WRITER, session_role="pm", require_role=True), issue__labels=[]).role == "pm"


# ---- comments


@pytest.mark.parametrize("number", [EDITED, DELETED])
def test_an_edited_or_deleted_comment_starts_nothing(number: int) -> None:
    assert why_nothing(number, sender__login="bob", comment__user__login="bob", issue__state="open")


def test_a_comment_on_a_closed_issue_starts_nothing() -> None:
    assert why_nothing(COMMENT, issue__state="closed") == "the issue is closed"


def test_a_comment_of_which_the_event_does_not_say_what_it_is_on_goes_where_the_forge_says() -> None:
    old = delivery(COMMENT)
    del old.document["is_pull"]
    assert old.event().is_pull is None
    for is_pull, key in ((True, "acme/widget/pulls/1"), (False, "acme/widget/issues/1")):
        [_, action] = decide(old.event(), replace(WRITER, is_pull=is_pull))
        assert isinstance(action, Feed)
        assert action.key == key


# ---- the bot's own pull request


@pytest.mark.parametrize("number", [REJECTED, REMARK, PULL_COMMENT, APPROVED])
def test_feedback_on_the_bots_pull_request_goes_to_its_author_on_its_branch(number: int) -> None:
    action = fed(number, replace(WRITER, author_role="devops"))
    assert (action.key, action.role) == ("acme/widget/pulls/3", "devops")
    assert (action.branch, action.base, action.pull) == ("fordjent/issue-1", "main", 3)


def test_a_review_is_told_with_every_inline_comment() -> None:
    inline = (
        Inline(path="a.txt", line=1, text="rename this", hunk="@@ -0,0 +1,2 @@\n+a"),
        Inline(path="a.txt", line=2, text="and this"),
    )
    told = fed(122, replace(WRITER, review=KnownReview(id=8, inline=inline))).input
    assert told.source == "review:8"
    assert told.text == (
        "Review: changes requested.\n\nSee inline.\n\n"
        "a.txt, line 1:\n    @@ -0,0 +1,2 @@\n    +a\nrename this\n\na.txt, line 2:\nand this"
    )


def test_a_review_that_was_told_already_is_not_told_again() -> None:
    assert "told already" in why_nothing(REJECTED, replace(WRITER, review_told=True))


def test_a_review_of_the_bot_starts_nothing() -> None:
    assert why_nothing(REJECTED, sender__login="fordjent") == "by the bot itself"


@pytest.mark.parametrize("number", [REJECTED, PULL_COMMENT])
@pytest.mark.parametrize("merged", [True, False])
def test_feedback_on_a_pull_request_that_is_over_starts_nothing(number: int, merged: bool) -> None:
    values = {"pull_request__state": "closed", "pull_request__merged": merged}
    assert why_nothing(number, **values) == f"the pull request is {'merged' if merged else 'closed'}"


@pytest.mark.parametrize("number", [PULL, SYNCHRONIZED])
@pytest.mark.parametrize("sender", ["fordjent", "bob"])
def test_the_bot_does_not_review_its_own_pull_request(number: int, sender: str) -> None:
    assert why_nothing(number, sender__login=sender)


@pytest.mark.parametrize("number", [PULL, SYNCHRONIZED])
def test_a_reviewer_with_a_login_of_its_own_does(number: int) -> None:
    two = replace(
        WRITER,
        bot_logins=frozenset(("fordjent", "ford-review")),
        reviewer_login="ford-review",
        permission="none",
    )
    action = fed(number, two)
    assert (action.role, action.by_person, action.key.split("/")[2]) == ("reviewer", False, "pulls")
    assert why_nothing(number, replace(two, reviewer_login="Fordjent"))
    summaries = why_nothing(number, two, pull_request__head__ref="fordjent/memory")
    assert summaries == "the bot's pull request of summaries"


def test_a_branch_that_is_protected_is_never_the_authors() -> None:
    facts = replace(WRITER, author_role="implementer")
    for head, default in (("master", "main"), ("trunk", "trunk")):
        values = {"pull_request__head__ref": head, "repository__default_branch": default}
        assert fed(PULL_COMMENT, facts, **values).role == "reviewer"


# ---- people's pull requests


def test_a_persons_pull_request_is_for_the_reviewer() -> None:
    action = fed(PULL, **HUMAN_PULL)
    assert (action.key, action.role, action.input.kind) == ("acme/widget/pulls/3", "reviewer", "head")


def test_each_new_head_of_it_is_reviewed_once() -> None:
    first = fed(PULL, **HUMAN_PULL).input.source
    assert fed(SYNCHRONIZED, **HUMAN_PULL).input.source != first
    assert first == "head:7a955876ff87cbddb862f07164d61d299a491100"


def test_a_comment_on_it_is_for_the_reviewer_too() -> None:
    by_bob = {"pull_request__user": {"login": "bob"}, "issue__user": {"login": "bob"}}
    assert fed(PULL_COMMENT, replace(WRITER, author_role="tester"), **by_bob).role == "reviewer"


def test_a_draft_is_reviewed_when_it_is_none_any_more() -> None:
    assert "draft" in why_nothing(PULL, pull_request__draft=True, **HUMAN_PULL)
    assert "draft" in why_nothing(SYNCHRONIZED, pull_request__draft=True, **HUMAN_PULL)
    assert fed(UNDRAFTED, **HUMAN_PULL).input.kind == "head"
    assert why_nothing(UNDRAFTED, changes={"title": {"from": "b"}}, **HUMAN_PULL)


def test_a_strangers_pull_request_is_only_remembered() -> None:
    assert "no write access" in why_nothing(PULL, READER, **HUMAN_PULL)


# ---- what only frees others, and what stops


@pytest.mark.parametrize("sender", ["fordjent", "bob", "eve"])
@pytest.mark.parametrize("number", [MERGED, CLOSED, PUSHED, PULL_CLOSED, REOPENED, 37])
def test_what_others_may_wait_for_is_seen_whoever_did_it(number: int, sender: str) -> None:
    actions = decided(number, Facts(bot_logins=WRITER.bot_logins), sender__login=sender)
    assert Reschedule(repository="acme/widget") in actions
    assert not any(isinstance(action, Feed | Guide) for action in actions)


def test_a_push_elsewhere_starts_nothing() -> None:
    assert why_nothing(PUSHED, ref="refs/heads/topic") == "not the default branch"
    assert why_nothing(PUSHED, ref="refs/tags/main")


def test_a_session_is_cancelled_when_a_person_closes_its_issue() -> None:
    assert Cancel(key="acme/widget/issues/2", reason="closed by bob") in decided(CLOSED)


def test_a_session_that_closes_its_own_issue_is_not_cancelled() -> None:
    assert not any(isinstance(action, Cancel) for action in decided(CLOSED, sender__login="fordjent"))


@pytest.mark.parametrize(
    ("before", "now", "stops"),
    [
        (("fordjent",), (), True),
        (("fordjent",), ("bob",), True),
        ((), ("bob",), True),
        (None, ("bob",), True),
        (("bob",), ("bob", "alice"), True),
        ((), ("fordjent",), False),
        (("fordjent",), ("FORDJENT", "bob"), False),
        (("bob",), ("bob",), False),
        (("bob", "alice"), ("bob",), False),
        (("bob",), (), False),
    ],
)
def test_a_session_is_cancelled_when_its_issue_is_given_to_somebody_else(
    before: tuple[str, ...] | None, now: tuple[str, ...], stops: bool
) -> None:
    facts = replace(WRITER, assignees_before=before)
    [action] = decided(7, facts, issue__assignees=[{"login": login} for login in now])
    assert isinstance(action, Cancel) is stops


# ---- layers of loop prevention


@pytest.mark.parametrize("login", ["fordjent", "Fordjent", "FORDJENT[BOT]", "fordjent[bot]"])
def test_the_bot_is_known_by_its_logins_however_they_are_spelt(login: str) -> None:
    values = {"sender": {"login": login}, "comment__user": {"login": login}}
    assert why_nothing(COMMENT, **values) == "by the bot itself"


def test_our_own_comment_is_known_whoever_it_is_said_to_be_of() -> None:
    marked = {"comment__body": "On it.\n\n<!-- ford -->"}
    assert why_nothing(COMMENT, replace(WRITER, ours=True), **marked) == "the comment is one of ours"


@pytest.mark.parametrize(
    "body", ["> On it.\n> <!-- ford -->\n\nWhy?", "On it.\n\n<!-- ford -->", "what is <!-- ford --> for?"]
)
def test_a_person_who_quotes_the_marker_is_a_person(body: str) -> None:
    assert fed(COMMENT, comment__body=body).input.text == body


def test_a_new_head_with_the_bots_commit_prefix_is_not_reviewed() -> None:
    facts = replace(WRITER, head_message="[agent-automation] Update docs/issues")
    assert "commit of the bot's" in why_nothing(SYNCHRONIZED, facts, **HUMAN_PULL)
    assert fed(SYNCHRONIZED, replace(facts, head_message="Mend it"), **HUMAN_PULL)


def test_the_breaker_holds_a_session_that_ran_too_often_within_an_hour() -> None:
    often = replace(WRITER, max_runs_per_hour=3, runs_last_hour=3, held_until=4000.0)
    assert fed(COMMENT, often).not_before == 4000.0
    assert fed(COMMENT, replace(often, runs_last_hour=2)).not_before == 0.0


def test_own_doings_are_told_apart_from_others() -> None:
    [action] = decided(9)
    assert isinstance(action, Nothing) and action.own
    [action] = decided(EDITED)
    assert isinstance(action, Nothing) and not action.own


def test_every_row_of_the_table_is_an_event_that_a_forge_sends() -> None:
    sent = {delivery.event().name for delivery in recorded().values()}
    assert set(RULES) <= sent
