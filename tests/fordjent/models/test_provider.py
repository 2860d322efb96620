"""Slots, breaker and fallback: what conversations of one process share."""

from __future__ import annotations

import asyncio

import pytest

from fordjent.models import breaker as breakers
from fordjent.models.breaker import FAILURES, OPEN_SECONDS, Breaker
from fordjent.models.endpoint import AttemptFailed
from fordjent.models.messages import Answer, Usage, user
from fordjent.models.model import ModelFailure
from fordjent.models.models import Models
from tests.support.model_endpoint import Does, ModelEndpoint, refuses, says
from tests.support.model_providers import configured, provider

ASKED = [user("Add a file.")]


# ---- slots


def test_never_more_calls_at_once_than_allowed_whoever_makes_them() -> None:
    async def many(endpoint: ModelEndpoint) -> None:
        models = Models(configured({"main": provider(endpoint.url, max_concurrent=2)}), str)
        roles = ["pm", "implementer", "reviewer"] * 3
        calls = [asyncio.create_task(models.of(role).answer(ASKED, [])) for role in roles]
        while endpoint.at_once < 2:
            await asyncio.sleep(0.01)
        endpoint.release.set()
        await asyncio.gather(*calls)
        await models.aclose()

    with ModelEndpoint(says("Done.", way="held")) as endpoint:
        asyncio.run(many(endpoint))
    assert len(endpoint.requests) == 9
    assert endpoint.most_at_once == 2


def test_who_waits_to_try_again_holds_no_slot() -> None:
    async def two(endpoint: ModelEndpoint) -> None:
        slow = {"retry_base_delay": "30s", "retry_max_delay": "30s"}
        models = Models(configured({"main": provider(endpoint.url, max_concurrent=1, **slow)}), str)
        waiting = asyncio.create_task(models.of("pm").answer(ASKED, []))
        while not endpoint.requests:
            await asyncio.sleep(0.01)
        async with asyncio.timeout(5):
            assert (await models.of("pm").answer(ASKED, [])).message.content == "Done."
        waiting.cancel()
        await models.aclose()

    with ModelEndpoint(refuses(500), says("Done.")) as endpoint:
        asyncio.run(two(endpoint))


# ---- fallback


def answer_of(config_providers: dict[str, object], role: str = "pm") -> Answer:
    async def asked() -> Answer:
        models = Models(configured(config_providers), str)  # type: ignore[arg-type]
        try:
            return await models.of(role).answer(ASKED, [])
        finally:
            await models.aclose()

    return asyncio.run(asked())


def test_the_fallback_answers_in_its_own_name_and_at_its_own_price() -> None:
    with ModelEndpoint(refuses(503)) as broken, ModelEndpoint(says("Done.")) as sound:
        answer = answer_of(
            {
                "main": provider(broken.url, fallback="second"),
                "second": provider(sound.url, input_usd_per_million=100.0, output_usd_per_million=0.0),
            }
        )
        assert len(broken.requests) == 4
    assert answer.provider == "second"
    assert answer.cost_microdollars == 100 * 100


def test_what_the_first_one_wasted_is_on_the_bill() -> None:
    with ModelEndpoint(says("")) as empty, ModelEndpoint(says("Done.")) as sound:
        answer = answer_of(
            {"main": provider(empty.url, fallback="second", max_retries=0), "second": provider(sound.url)}
        )
    assert answer.cost_microdollars == 2 * 120
    assert answer.usage == Usage(200, 20)


@pytest.mark.parametrize(("status", "asked"), [(401, 0), (400, 0), (404, 0), (402, 1), (500, 1)])
def test_a_fallback_stands_in_for_outages_not_for_mistakes(status: int, asked: int) -> None:
    with ModelEndpoint(refuses(status)) as first, ModelEndpoint(says("Done.")) as second:
        providers = {"main": provider(first.url, fallback="second"), "second": provider(second.url)}
        if asked:
            answer_of(providers)
        else:
            with pytest.raises(ModelFailure):
                answer_of(providers)
        assert len(second.requests) == asked


def test_fallbacks_that_name_each_other_end() -> None:
    with ModelEndpoint(refuses(500)) as first, ModelEndpoint(refuses(500)) as second:
        with pytest.raises(ModelFailure, match="provider second"):
            answer_of(
                {
                    "main": provider(first.url, fallback="second", max_retries=0),
                    "second": provider(second.url, fallback="main", max_retries=0),
                }
            )
        assert (len(first.requests), len(second.requests)) == (1, 1)


def test_a_role_has_the_provider_that_it_names() -> None:
    with ModelEndpoint(says("One.")) as one, ModelEndpoint(says("Two.")) as two:

        async def both() -> list[str]:
            providers = {"one": provider(one.url), "two": provider(two.url)}
            models = Models(configured(providers, roles={"pm": {"provider": "two"}}), str)
            answers = [await models.of(role).answer(ASKED, []) for role in ("pm", "tester")]
            await models.aclose()
            return [answer.message.content for answer in answers]

        assert asyncio.run(both()) == ["Two.", "One."]


# ---- breaker


def fail(breaker: Breaker, kind: str = "broken") -> None:
    with pytest.raises(AttemptFailed), breaker.attempt():
        raise AttemptFailed(kind, "no")  # type: ignore[arg-type]


def succeed(breaker: Breaker) -> None:
    with breaker.attempt():
        pass


def test_a_breaker_opens_after_failures_in_a_row_and_one_tries_after_a_while() -> None:
    now = 0.0
    breaker = Breaker(lambda: now)
    for _ in range(FAILURES - 1):
        fail(breaker)
    succeed(breaker)
    assert not breaker.is_open
    for _ in range(FAILURES):
        assert not breaker.is_open
        fail(breaker)
    assert breaker.is_open
    with pytest.raises(AttemptFailed) as refused, breaker.attempt():
        raise AssertionError("not to be asked")
    assert refused.value.kind == "open"
    assert refused.value.retry_after_seconds == OPEN_SECONDS
    now = OPEN_SECONDS
    with breaker.attempt():
        assert breaker.is_open, "only one tries"
    assert not breaker.is_open


def test_a_probe_that_fails_keeps_it_open_and_one_that_is_cancelled_lets_another_try() -> None:
    now = 0.0
    breaker = Breaker(lambda: now)
    for _ in range(FAILURES):
        fail(breaker)
    now = OPEN_SECONDS
    with pytest.raises(asyncio.CancelledError), breaker.attempt():
        raise asyncio.CancelledError
    assert not breaker.is_open
    fail(breaker)
    assert breaker.is_open
    now += OPEN_SECONDS
    succeed(breaker)
    assert not breaker.is_open


def test_being_too_fast_is_no_outage() -> None:
    breaker = Breaker(lambda: 0.0)
    for _ in range(FAILURES * 2):
        fail(breaker, "busy")
    assert not breaker.is_open


def test_an_open_breaker_sends_everybody_to_the_fallback_without_asking() -> None:
    async def two(first: ModelEndpoint, second: ModelEndpoint) -> None:
        providers = {
            "main": provider(first.url, fallback="second", max_retries=FAILURES - 1),
            "second": provider(second.url),
        }
        models = Models(configured(providers), str)
        await models.of("pm").answer(ASKED, [])
        assert len(first.requests) == FAILURES
        await models.of("reviewer").answer(ASKED, [])
        assert len(first.requests) == FAILURES
        assert len(second.requests) == 2
        await models.aclose()

    with ModelEndpoint(refuses(500)) as first, ModelEndpoint(says("Done.")) as second:
        asyncio.run(two(first, second))


def test_without_a_fallback_an_open_breaker_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(breakers, "OPEN_SECONDS", 0.2)

    async def two(endpoint: ModelEndpoint) -> Answer:
        models = Models(configured({"main": provider(endpoint.url, max_retries=FAILURES - 1)}), str)
        with pytest.raises(ModelFailure):
            await models.of("pm").answer(ASKED, [])
        answer = await models.of("pm").answer(ASKED, [])
        await models.aclose()
        return answer

    with ModelEndpoint(*[refuses(500)] * FAILURES, says("Done.")) as endpoint:
        assert asyncio.run(two(endpoint)).message.content == "Done."
        assert endpoint.times[-1] - endpoint.times[-2] >= 0.2


def test_an_answer_without_an_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    from fordjent.models import openai_endpoint

    monkeypatch.setattr(openai_endpoint, "LARGEST_ANSWER_BYTES", 1000)
    with ModelEndpoint(Does(body=says("x" * 5000).body), says("Done.")) as endpoint:
        assert answer_of({"main": provider(endpoint.url)}).retries == 1
