"""The stand-in forge answers and sends what the real one answered and sent: the whole recording, replayed."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.forge import StandIn
from tests.support.hook_receiver import HookReceiver, Received, signatures_fit
from tests.support.recordings import deliveries, shape_differences, transcript
from tests.support.replay import Replay

SECRET = "s3cret-for-fixtures"


@pytest.fixture(scope="module")
def replay(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Replay]:
    with HookReceiver() as receiver, StandIn.start(tmp_path_factory.mktemp("a plàce")) as forge:
        replay = Replay(forge, receiver)
        replay.run()
        yield replay


def test_every_recorded_request_gets_the_recorded_answer(replay: Replay) -> None:
    assert len(transcript()) == 151
    assert replay.differences == []


def test_nothing_that_was_recorded_is_strange(replay: Replay) -> None:
    assert replay.forge.strange == []


@pytest.mark.parametrize("family", ["refs", "issues and pull requests"])
def test_the_deliveries_come_in_the_recorded_order(replay: Replay, family: str) -> None:
    """Pushes are told of by a queue of their own, so the two kinds are not in order among each other."""

    def names(found: list[Received]) -> list[tuple[str, str, str]]:
        about_refs = ("push", "create", "delete")
        return [
            (one.event_type, str(one.payload.get("action", "")), one.headers["content-type"])
            for one in found
            if (one.event_type in about_refs) == (family == "refs")
        ]

    assert names(replay.received) == names(deliveries())


def test_the_deliveries_have_the_recorded_headers_and_payloads(replay: Replay) -> None:
    """The n-th of each type against the n-th recorded one."""
    differences = []
    for kind, mine, recorded in pairs(replay.received, deliveries()):
        if mine.event != recorded.event:
            differences.append(f"{kind}: event {mine.event} for {recorded.event}")
        if list(mine.headers) != list(recorded.headers):
            differences.append(f"{kind}: headers {list(mine.headers)} for {list(recorded.headers)}")
        if list(mine.payload) != list(recorded.payload):
            differences.append(f"{kind}: keys {list(mine.payload)} for {list(recorded.payload)}")
        differences += [
            f"{kind}: {key}: {said}" for key, said in shape_differences(recorded.payload, mine.payload)
        ]
    assert differences == []


def test_deliveries_are_signed_and_numbered(replay: Replay) -> None:
    received = replay.received
    assert all(signatures_fit(one, SECRET) for one in received)
    assert all(signatures_fit(one, SECRET) for one in deliveries())
    assert not any(signatures_fit(one, "another") for one in received)
    ids = {one.headers["x-forgejo-delivery"] for one in received}
    assert len(ids) == len(received) == len(deliveries())


def pairs(mine: list[Received], recorded: list[Received]) -> Iterator[tuple[str, Received, Received]]:
    def kind(one: Received) -> str:
        return f"{one.event_type} {one.payload.get('action', '')} {one.headers['content-type']}"

    for name in dict.fromkeys(kind(one) for one in recorded):
        yield from (
            (name, one, other)
            for one, other in zip(
                [one for one in mine if kind(one) == name],
                [one for one in recorded if kind(one) == name],
                strict=True,
            )
        )
