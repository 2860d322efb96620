"""The receiver over real HTTP: what the forge is answered, and what is stored by then."""

from __future__ import annotations

import json
import socket
import sqlite3
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest

from tests.support import senders, server
from tests.support.server import SECRET, Server

DOCUMENT = senders.body()


@pytest.fixture
def running(place: Path) -> Iterator[Server]:
    config = server.write_config(place, server="max_body_bytes = 20000")
    with server.started(config) as one:
        yield one


def headers(document: bytes, delivery: str = "d1", **more: str) -> dict[str, str]:
    return {
        "X-Forgejo-Event": "issues",
        "X-Forgejo-Delivery": delivery,
        "X-Forgejo-Signature": senders.signed(document, SECRET),
        **{name.replace("_", "-"): value for name, value in more.items()},
    }


def post(
    one: Server, document: bytes, named: dict[str, str], method: str = "POST"
) -> tuple[int, dict[str, Any]]:
    connection = HTTPConnection(*one.address, timeout=10)
    try:
        connection.request(method, "/acp/v1/events", document, named)
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read() or b"{}")
    finally:
        connection.close()


def numbers(one: Server) -> Any:
    connection = HTTPConnection(*one.address, timeout=10)
    connection.request("GET", "/status")
    found = json.loads(connection.getresponse().read())
    connection.close()
    return found


def rows(place: Path, query: str) -> list[tuple[Any, ...]]:
    with sqlite3.connect(place / "state/fordjent.db") as connection:
        return connection.execute(query).fetchall()


def test_an_accepted_delivery_is_stored_by_the_time_of_its_answer(place: Path, running: Server) -> None:
    status, answer = post(running, DOCUMENT, headers(DOCUMENT))
    assert (status, answer["status"]) == (200, "accepted")
    assert rows(place, "SELECT id, event_id, status, body FROM deliveries") == [
        ("d1", answer["event_id"], "accepted", DOCUMENT)
    ]
    assert rows(place, "SELECT delivery, kind, state FROM events") == [("d1", "issues", "new")]


def test_the_same_delivery_is_a_duplicate_also_after_a_restart(place: Path) -> None:
    config = server.write_config(place)
    with server.started(config) as one:
        _, first = post(one, DOCUMENT, headers(DOCUMENT))
        status, again = post(one, DOCUMENT, headers(DOCUMENT))
        assert (status, again) == (200, {"status": "duplicate", "event_id": first["event_id"]})
        one.kill()
    with server.started(config) as one:
        assert post(one, DOCUMENT, headers(DOCUMENT)) == (200, again)
        assert numbers(one)["deliveries"]["duplicate"] == 2
    assert rows(place, "SELECT count(*) FROM events") == [(1,)]


def test_two_ids_of_one_body_are_two_deliveries(running: Server) -> None:
    answers = [post(running, DOCUMENT, headers(DOCUMENT, name))[1] for name in ("d1", "d2")]
    assert [answer["status"] for answer in answers] == ["accepted", "accepted"]
    assert answers[0]["event_id"] != answers[1]["event_id"]


def test_an_event_of_no_use_is_ignored_and_counted(place: Path, running: Server) -> None:
    status, answer = post(running, DOCUMENT, headers(DOCUMENT, X_Forgejo_Event="wiki"))
    assert (status, answer["status"]) == (200, "ignored")
    assert numbers(running)["deliveries"]["ignored"] == 1
    assert rows(place, "SELECT event_type, status FROM deliveries") == [("wiki", "ignored")]
    assert rows(place, "SELECT count(*) FROM events") == [(0,)]


def test_what_is_rejected_is_counted_by_status_and_never_stored(place: Path, running: Server) -> None:
    bad = json.dumps({"repository": {"full_name": "../etc"}}).encode()
    assert post(running, b"[]", headers(b"[]"))[0] == 400
    assert post(running, bad, headers(bad))[0] == 400
    assert post(running, DOCUMENT, headers(DOCUMENT, X_Forgejo_Signature=""))[0] == 401
    assert post(running, DOCUMENT, headers(DOCUMENT), method="PUT")[0] == 405
    assert post(running, b"", {}, method="GET")[0] == 405
    found = numbers(running)
    assert found["rejected"] == {"400": 2, "401": 1, "405": 2}
    assert found["deliveries"]["rejected"] == 5
    assert rows(place, "SELECT count(*) FROM deliveries") == [(0,)]


def test_a_body_that_is_announced_too_long_is_refused_before_it_is_sent(running: Server) -> None:
    with socket.create_connection(running.address, timeout=10) as connection:
        connection.sendall(b"POST /acp/v1/events HTTP/1.1\r\nHost: x\r\nContent-Length: 20001\r\n\r\n")
        assert connection.recv(4096).startswith(b"HTTP/1.1 413 ")


def test_a_body_that_turns_out_too_long_is_not_read_on(running: Server) -> None:
    head = b"POST /acp/v1/events HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
    with socket.create_connection(running.address, timeout=10) as connection:
        connection.sendall(head + b"".join(b"1000\r\n" + b"x" * 4096 + b"\r\n" for _ in range(5)))
        assert connection.recv(4096).startswith(b"HTTP/1.1 413 ")
        while connection.recv(4096):  # and the connection ends
            pass


def test_a_client_that_sends_all_of_a_long_body_still_sees_the_answer(running: Server) -> None:
    assert post(running, b"x" * 3_000_000, headers(b""))[0] == 413


def test_a_body_of_just_the_limit_is_taken(running: Server) -> None:
    document = DOCUMENT.ljust(20000)
    assert post(running, document, headers(document))[0] == 200


def test_a_body_that_breaks_off_harms_nobody(place: Path, running: Server) -> None:
    with socket.create_connection(running.address, timeout=10) as connection:
        connection.sendall(b"POST /acp/v1/events HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n{")
    assert post(running, DOCUMENT, headers(DOCUMENT))[0] == 200
    assert rows(place, "SELECT count(*) FROM deliveries") == [(1,)]


def test_neither_forge_nor_model_is_needed_to_take_a_delivery(running: Server) -> None:
    """`write_config` names some that do not answer."""
    assert post(running, DOCUMENT, headers(DOCUMENT))[0] == 200
