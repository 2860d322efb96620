"""One webhook delivery: verified, and of its body no more read than is needed to store it."""

from __future__ import annotations

import hashlib
import re
import uuid
from collections.abc import Mapping
from urllib.parse import parse_qs

import msgspec

from fordjent.intake import kinds
from fordjent.intake.signature import is_signed
from fordjent.session_key import is_repository

HIGHEST_NUMBER = 2**53


class Rejected(Exception):
    """The sender gets `status` and `why`, and nothing is stored."""

    def __init__(self, status: int, why: str, hint: str = "") -> None:
        """`hint`: the way out, for a person who has the delivery in a file."""
        super().__init__(why)
        self.status = status
        self.why = why
        self.hint = hint


class Delivery(msgspec.Struct, frozen=True):
    """`number` is 0 where it is about no issue or pull request; `ignored` says why it is, or is empty."""

    id: str
    event_id: str
    event_type: str
    action: str
    repository: str
    number: int
    sender: str
    body: bytes
    body_hash: str
    ignored: str


def read(headers: Mapping[str, str], body: bytes, secret: bytes) -> Delivery:
    """The delivery that a request is. Names of headers are in lower case.

    Raises:
        Rejected: 401 not signed with the secret, 400 not what a forge sends.
    """
    document = _document(headers, body)
    if not is_signed(headers, document, secret):
        raise Rejected(401, "no valid signature")
    return _delivery(headers, document)


def trusted(headers: Mapping[str, str], body: bytes) -> Delivery:
    """`read`, whoever signed it.

    Raises:
        Rejected: 400.
    """
    return _delivery(headers, _document(headers, body))


class _Numbered(msgspec.Struct):
    number: int = 0


class _Repository(msgspec.Struct):
    full_name: str = ""


class _Sender(msgspec.Struct):
    login: str = ""


class _Head(msgspec.Struct):
    """The few fields of a payload that are needed here; msgspec passes over the rest."""

    action: str = ""
    number: int = 0
    repository: _Repository | None = None
    sender: _Sender | None = None
    issue: _Numbered | None = None
    pull_request: _Numbered | None = None


_HEADS = msgspec.json.Decoder(_Head)
_ID = re.compile(r"[!-~]{1,200}")


def _delivery(headers: Mapping[str, str], document: bytes) -> Delivery:
    event = _first(headers, "event") or _first(headers, "event-type")
    if not event:
        raise Rejected(400, "no X-Forgejo-Event", "name the event with --event or --headers")
    head = _head(document)
    event_type = _first(headers, "event-type") or kinds.precise(event, head.action)
    repository = head.repository.full_name if head.repository else ""
    is_known = event_type in kinds.KNOWN
    if not is_repository(repository) and (is_known or repository):
        why = "repository.full_name is not like owner/name"
        raise Rejected(400, why, "the document needs the repository that it is about")
    return Delivery(
        id=_id(headers),
        event_id=str(uuid.uuid4()),
        event_type=event_type,
        action=head.action,
        repository=repository,
        number=_number(head),
        sender=head.sender.login if head.sender else "",
        body=document,
        body_hash=hashlib.sha256(document).hexdigest(),
        ignored="" if is_known else "an event of no use here",
    )


def _document(headers: Mapping[str, str], body: bytes) -> bytes:
    """What is signed: the body, or of a form its field `payload`."""
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/x-www-form-urlencoded":
        return body
    try:
        fields = parse_qs(
            body.decode("ascii"), strict_parsing=True, max_num_fields=16, errors="surrogateescape"
        )
        return fields["payload"][0].encode("utf-8", "surrogateescape")
    except (UnicodeDecodeError, ValueError, KeyError) as error:
        why = "the form has no field payload"
        raise Rejected(400, why, "leave its content-type out of --headers if it is JSON") from error


def _head(document: bytes) -> _Head:
    try:
        return _HEADS.decode(document)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:  # also ValidationError: of another shape
        why = "the body is no JSON object of a forge's event"
        raise Rejected(400, why, "give the delivery's JSON document on standard input") from error


def _first(headers: Mapping[str, str], name: str) -> str:
    return headers.get(f"x-forgejo-{name}") or headers.get(f"x-gitea-{name}") or ""


def _id(headers: Mapping[str, str]) -> str:
    given = _first(headers, "delivery")
    if given and not _ID.fullmatch(given):
        why = "X-Forgejo-Delivery is no id"
        raise Rejected(400, why, "up to 200 visible ASCII characters, or none for a new one")
    return given or str(uuid.uuid4())


def _number(head: _Head) -> int:
    for of in (head.issue, head.pull_request, head):
        if of and of.number:
            if not 0 < of.number < HIGHEST_NUMBER:
                why = "the number is none of an issue"
                raise Rejected(400, why, "the numbers of issues begin with 1")
            return of.number
    return 0
