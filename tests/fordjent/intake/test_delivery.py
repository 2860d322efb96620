"""What is made of a delivery, row by row, with what a real Forgejo sent."""

from __future__ import annotations

import json
from pathlib import Path
from urllib.parse import urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fordjent.intake import delivery
from fordjent.intake.delivery import Delivery, Rejected
from fordjent.intake.kinds import KNOWN, precise
from tests.support import senders

SECRET = b"s3cret-for-fixtures"
RECORDED = sorted(path.name.split(".")[0] for path in senders.RECORDED.glob("*.headers.json"))
ISSUE = {
    "action": "opened",
    "number": 7,
    "repository": {"full_name": "acme/widget"},
    "sender": {"login": "alice"},
}


def recorded(name: str) -> tuple[dict[str, str], bytes]:
    headers = json.loads((senders.RECORDED / f"{name}.headers.json").read_bytes())
    body = (senders.RECORDED / f"{name}.body.json").read_bytes()
    return {key.lower(): value for key, value in headers.items()}, body


def signed(document: object, **headers: str) -> tuple[dict[str, str], bytes]:
    body = document if isinstance(document, bytes) else json.dumps(document).encode()
    signature = senders.signed(body, SECRET.decode())
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return {"x-forgejo-event": "issues", "x-forgejo-signature": signature, **named}, body


def status(headers: dict[str, str], body: bytes) -> int:
    """200, or with what it is rejected."""
    try:
        delivery.read(headers, body, SECRET)
    except Rejected as rejected:
        return rejected.status
    return 200


def read(document: object, **headers: str) -> Delivery:
    return delivery.read(*signed(document, **headers), SECRET)


@pytest.mark.parametrize("name", RECORDED)
def test_every_recorded_delivery_is_read(name: str) -> None:
    headers, body = recorded(name)
    found = delivery.read(headers, body, SECRET)
    assert found.id == headers["x-forgejo-delivery"]
    assert found.event_type == headers["x-forgejo-event-type"]
    assert found.repository in ("acme/widget", "acme/gadget", "acme/empty")
    assert found.sender in ("alice", "bob", "fordjent")
    assert (found.number > 0) == (found.event_type not in ("push", "create", "delete"))
    assert bool(found.ignored) == (found.event_type in ("create", "delete"))
    assert json.loads(found.body)["repository"]["full_name"] == found.repository


def test_of_a_form_the_payload_is_what_is_signed_and_kept() -> None:
    headers, body = recorded("044-issues")
    found = delivery.read(headers, body, SECRET)
    assert (found.action, found.number) == ("opened", 1)
    assert found.body.startswith(b"{\n") and b"%22" not in found.body
    raw = {**headers, "x-forgejo-signature": senders.signed(body, SECRET.decode())}
    for name in ("x-gitea-signature", "x-hub-signature-256"):
        raw.pop(name)
    assert status(raw, body) == 401  # signed as it was sent: not what a forge does


def test_a_form_without_a_payload_is_refused() -> None:
    headers, _ = recorded("044-issues")
    for body in (
        b"",
        b"other=1",
        b"no form",
        "payload=ü".encode(),
        urlencode({"x": "y"} | {str(i): "" for i in range(50)}).encode(),
    ):
        assert status(headers, body) == 400


@pytest.mark.parametrize("name", ["x-forgejo-signature", "x-gitea-signature", "x-hub-signature-256"])
@pytest.mark.parametrize("prefix", ["", "sha256="])
def test_one_valid_signature_is_enough(name: str, prefix: str) -> None:
    headers, body = signed(ISSUE)
    signature = headers.pop("x-forgejo-signature")
    wrong = dict.fromkeys(("x-forgejo-signature", "x-gitea-signature", "x-hub-signature-256"), "0" * 64)
    assert status(headers | {name: prefix + signature}, body) == 200
    assert status(headers | wrong | {name: prefix + signature}, body) == 200


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"x-forgejo-signature": ""},
        {"x-hub-signature-256": "sha256="},
        {"x-forgejo-signature": "0" * 64},
        {"x-forgejo-signature": "ü" * 64},
        {"x-hub-signature": "sha1=2112890a1f59b917bac0f3ad042a5c717064f811"},
        {"x-forgejo-signature": senders.signed(json.dumps(ISSUE).encode(), "another secret")},
        {"x-forgejo-signature": senders.signed(json.dumps(ISSUE).encode() + b" ", SECRET.decode())},
    ],
)
def test_no_empty_or_wrong_signature_is_taken(given: dict[str, str]) -> None:
    assert status({"x-forgejo-event": "issues", **given}, json.dumps(ISSUE).encode()) == 401


@pytest.mark.parametrize(
    "body", [b"", b"null", b"[]", b'"text"', b"7", b"{", b'{"action": 7}', b'{"action": "\xff"}']
)
def test_what_is_no_object_of_an_event_is_refused(body: bytes) -> None:
    assert status(*signed(body)) == 400


@pytest.mark.parametrize(
    "name",
    [
        "",
        "acme",
        "acme/widget/x",
        "../widget",
        "acme/..",
        "acme/wid get",
        "acme/widget\n",
        "/widget",
        "acme/",
        "a\0/b",
    ],
)
def test_a_repository_that_is_not_owner_and_name_is_refused(name: str) -> None:
    assert status(*signed(ISSUE | {"repository": {"full_name": name}})) == 400
    if name:
        assert status(*signed(ISSUE | {"repository": {"full_name": name}}, x_forgejo_event="wiki")) == 400


def test_the_precise_type_goes_before_the_event_and_forgejo_before_gitea() -> None:
    both = read(ISSUE, x_forgejo_event_type="issue_label", x_gitea_event_type="issues")
    assert both.event_type == "issue_label"
    headers, body = signed(ISSUE, x_gitea_event="issue_comment")
    del headers["x-forgejo-event"]
    assert delivery.read(headers, body, SECRET).event_type == "issue_comment"


def test_without_any_event_it_is_refused() -> None:
    headers, body = signed(ISSUE)
    del headers["x-forgejo-event"]
    assert status(headers, body) == 400


@pytest.mark.parametrize("name", RECORDED)
def test_the_precise_type_is_found_from_event_and_action_too(name: str) -> None:
    headers, body = recorded(name)
    found = delivery.read(headers, body, SECRET)
    if found.event_type != "pull_request_comment":  # issue_comment with is_pull: the body says it
        assert precise(headers["x-forgejo-event"], found.action) == found.event_type


def test_unknown_events_are_ignored_with_a_reason() -> None:
    for event in ("wiki", "release", "something_new"):
        assert read(ISSUE, x_forgejo_event=event).ignored
    assert not read(ISSUE).ignored and "issues" in KNOWN


def test_a_delivery_without_an_id_gets_one_of_its_own() -> None:
    first, second = read(ISSUE), read(ISSUE)
    assert first.id and first.id != second.id and first.event_id != second.event_id
    assert first.body_hash == second.body_hash


@pytest.mark.parametrize("given", ["a b", "x" * 201, "a\tb", "ü"])
def test_an_id_that_is_none_is_refused(given: str) -> None:
    assert status(*signed(ISSUE, x_forgejo_delivery=given)) == 400


@pytest.mark.parametrize("number", [-1, 2**53, 2**70])
def test_a_number_that_no_issue_has_is_refused(number: int) -> None:
    assert status(*signed(ISSUE | {"number": number})) == 400


def test_the_number_is_that_of_the_issue_or_pull_request() -> None:
    assert read(ISSUE | {"issue": {"number": 9}}).number == 9
    assert read(ISSUE | {"pull_request": {"number": 5}, "issue": None}).number == 5
    assert read({"repository": {"full_name": "acme/widget"}}).number == 0


@given(st.binary(max_size=300), st.dictionaries(st.text(max_size=20), st.text(max_size=40), max_size=5))
def test_whatever_is_sent_is_read_or_rejected(body: bytes, headers: dict[str, str]) -> None:
    given = {
        **headers,
        "x-forgejo-event": "issues",
        "x-forgejo-signature": senders.signed(body, SECRET.decode()),
    }
    assert status(given, body) in (200, 400, 401)
    assert status(given | {"content-type": "application/x-www-form-urlencoded"}, body) in (200, 400, 401)


def test_the_recorded_deliveries_are_all_there() -> None:
    assert len(RECORDED) == 73 and Path(senders.RECORDED / "044-issues.body.json").is_file()
