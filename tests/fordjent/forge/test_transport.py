"""What happens to a request between a function and the forge."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from email.utils import formatdate
from time import monotonic, time
from typing import TypeVar
from urllib.parse import unquote

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fordjent.forge import answers, branches, comments, issues, paths
from fordjent.forge.errors import ForgeError, NotAllowed, NotFound, NotUnderstood, Refused, Unreachable
from fordjent.forge.forge import Forge
from fordjent.forge.pace import Pace
from fordjent.forge.types import Issue
from harness.errors import BadConfig, BadData, TryLater
from tests.support.scripted_forge import TOKEN, Says, ScriptedForge, talk

T = TypeVar("T")

REPOSITORY = "acme/widget"
ISSUE = "/repos/acme/widget/issues/1"
COMMENTS = "/repos/acme/widget/issues/1/comments"


async def get_issue(forge: Forge) -> Issue:
    return await issues.get(forge, REPOSITORY, 1)


async def comment(forge: Forge) -> object:
    return await comments.create(forge, REPOSITORY, 1, "x")


def test_the_token_goes_in_a_header_and_nowhere_else() -> None:
    script = ScriptedForge().on("GET", ISSUE, Says(200, {"number": 1}))
    talk(script, get_issue)
    assert script.asked[0].headers["authorization"] == f"token {TOKEN}"
    assert TOKEN not in script.asked[0].path + str(script.asked[0].query)


def test_another_role_asks_with_its_own_token_over_the_same_pool() -> None:
    script = ScriptedForge().on("GET", ISSUE, Says(200, {"number": 1}))

    async def both(forge: Forge) -> None:
        role = forge.as_role("another-token-of-the-reviewer")
        await get_issue(role)
        await get_issue(forge.as_role(""))
        assert role.pool is forge.pool

    talk(script, both)
    tokens = [asked.headers["authorization"] for asked in script.asked]
    assert tokens == ["token another-token-of-the-reviewer", f"token {TOKEN}"]


def test_what_the_server_says_is_told_without_the_token() -> None:
    said = {"message": f"no such token {TOKEN}", "errors": ["look"], "url": "http://forge.test"}
    script = ScriptedForge().on("GET", ISSUE, Says(401, said))
    with pytest.raises(NotAllowed) as raised:
        talk(script, get_issue)
    error = raised.value
    assert error.said == "no such token [redacted]; look"
    assert error.message == f"GET {ISSUE}: 401 {error.said}"
    assert TOKEN not in str(error) + error.hint
    assert (error.method, error.path, error.status) == ("GET", ISSUE, 401)


def test_a_role_s_errors_hide_both_tokens() -> None:
    both = f"{TOKEN} and another-token-of-the-reviewer"
    script = ScriptedForge().on("GET", ISSUE, Says(403, {"message": both}))
    with pytest.raises(NotAllowed) as raised:
        talk(script, lambda forge: get_issue(forge.as_role("another-token-of-the-reviewer")))
    assert raised.value.said == "[redacted] and [redacted]"


@pytest.mark.parametrize("status", [429, 500, 502, 503, 504])
def test_reading_is_tried_again_while_the_server_has_trouble(status: int) -> None:
    script = ScriptedForge().on("GET", ISSUE, Says(status), Says(status), Says(200, {"number": 1}))
    assert talk(script, get_issue).number == 1
    assert len(script.asked) == 3


@pytest.mark.parametrize("status", [400, 401, 403, 404, 409, 412, 422, 423])
def test_a_refusal_is_not_tried_again(status: int) -> None:
    script = ScriptedForge().on("GET", ISSUE, Says(status, {"message": "no"}))
    with pytest.raises(ForgeError) as raised:
        talk(script, get_issue)
    assert not isinstance(raised.value, TryLater)
    assert len(script.asked) == 1


def test_trying_again_has_an_end() -> None:
    script = ScriptedForge().on("GET", ISSUE, Says(502, "<html><h1>Bad gateway</h1></html>"))
    with pytest.raises(Unreachable) as raised:
        talk(script, get_issue)
    assert isinstance(raised.value, TryLater)
    assert raised.value.said == "Bad gateway"
    assert len(script.asked) == 5


@pytest.mark.parametrize(
    "trouble", [Says(500), Says(502), httpx2.ReadError("reset"), httpx2.ReadTimeout("slow")]
)
def test_writing_is_not_repeated_where_it_may_have_arrived(trouble: Says | Exception) -> None:
    script = ScriptedForge().on("POST", COMMENTS, trouble)
    with pytest.raises(Unreachable) as raised:
        talk(script, comment)
    assert raised.value.received
    assert len(script.asked) == 1


@pytest.mark.parametrize("trouble", [Says(429), httpx2.ConnectError("refused")])
def test_writing_is_repeated_where_it_did_not_arrive(trouble: Says | Exception) -> None:
    script = ScriptedForge().on("POST", COMMENTS, trouble, Says(201, {"id": 7}))
    assert talk(script, comment) is not None
    assert len(script.asked) == 2


def test_what_may_be_done_twice_is_repeated_after_a_lost_answer() -> None:
    script = ScriptedForge().on("PATCH", ISSUE, httpx2.ReadError("reset"), Says(201, {"number": 1}))
    talk(script, lambda forge: issues.edit(forge, REPOSITORY, 1, title="new"))
    assert len(script.asked) == 2


def test_retry_after_is_waited_for() -> None:
    script = ScriptedForge().on(
        "GET", ISSUE, Says(429, headers={"Retry-After": "1"}), Says(200, {"number": 1})
    )
    began = monotonic()
    talk(script, get_issue)
    assert monotonic() - began >= 0.9


def test_a_retry_after_beyond_patience_is_left_to_the_caller() -> None:
    script = ScriptedForge().on("GET", ISSUE, Says(429, headers={"Retry-After": "7200"}))
    with pytest.raises(Unreachable) as raised:
        talk(script, get_issue)
    assert raised.value.wait_seconds == answers.LONGEST_WAIT_SECONDS
    assert raised.value.resume_at
    assert len(script.asked) == 1


@pytest.mark.parametrize(
    ("header", "least", "most"),
    [
        ("", 0, 0),
        ("30", 30, 30),
        ("soon", 0, 0),
        ("-5", 0, 0),
        ("Mon, 30 Nov 2015 21:57:11 GMT", 0, 0),
        ("9" * 40, 3600, 3600),
    ],
)
def test_retry_after_is_a_number_or_a_date(header: str, least: float, most: float) -> None:
    assert least <= answers.retry_after(header) <= most


def test_retry_after_is_counted_from_now() -> None:
    assert 1 < answers.retry_after(formatdate(time() + 20, usegmt=True)) <= 20


@pytest.mark.parametrize("token", ["", " ", "a b", "tökén-of-the-bot", "token\nX-Header: 1"])
def test_what_is_no_token_is_refused_without_showing_it(token: str) -> None:
    with pytest.raises(BadConfig) as raised:
        Forge("https://forge.test", token)
    assert not token.strip() or token not in str(raised.value)


@pytest.mark.parametrize("body", ["<html>Sign in</html>", "[1, 2]", '{"title": "no number"}', ""])
def test_an_answer_of_something_else_is_said(body: str) -> None:
    script = ScriptedForge().on("GET", ISSUE, Says(200, body))
    with pytest.raises(NotUnderstood):
        talk(script, get_issue)


def test_a_branch_is_one_segment_of_a_path_encoded_once() -> None:
    path = "/repos/acme/widget/branches/fordjent%2Fissue-1"
    script = ScriptedForge().on("GET", path, Says(200, {"name": "fordjent/issue-1"}))
    assert talk(script, lambda forge: branches.get(forge, REPOSITORY, "fordjent/issue-1")).name
    odd = "/repos/acme/widget/branches/50%25%20%C3%BC%3F%23"
    script = ScriptedForge().on("GET", odd, Says(200, {"name": "50% ü?#"}))
    assert talk(script, lambda forge: branches.get(forge, REPOSITORY, "50% ü?#")).name


@given(st.text(min_size=1).filter(lambda name: name not in (".", "..")))
def test_whatever_a_branch_is_called_it_stays_one_segment(name: str) -> None:
    path = f"{paths.of(REPOSITORY)}/branches/{paths.segment(name)}"
    raw = httpx2.URL(f"https://forge.test/api/v1{path}").raw_path.decode("ascii")
    assert raw.count("/") == 7
    assert unquote(raw.rpartition("/")[2]) == name


def test_a_branch_of_bytes_that_are_no_text_has_a_path() -> None:
    assert paths.segment(b"caf\xe9".decode("utf-8", "surrogateescape")) == "caf%E9"
    with pytest.raises(BadData):
        paths.segment("\ud800")


def test_half_a_character_is_not_sent() -> None:
    with pytest.raises(BadData):
        talk(ScriptedForge(), lambda forge: comments.create(forge, REPOSITORY, 1, "\ud800"))


@pytest.mark.parametrize("repository", ["acme", "acme/../admin", "acme/widget/x", "../..", "a b/c", "acme/"])
def test_no_repository_name_leads_to_another_path(repository: str) -> None:
    with pytest.raises(BadData):
        paths.of(repository)


@pytest.mark.parametrize("path", ["../x", "a//b", "/etc/passwd", "a/./b", ""])
def test_no_file_s_path_leads_to_another_one(path: str) -> None:
    with pytest.raises(BadData):
        paths.tail(path)


def test_a_list_is_read_over_all_pages() -> None:
    script = ScriptedForge()
    three = [Says(200, _issues(1, 50), _total(120)), Says(200, _issues(51, 50), _total(120))]
    script.on("GET", "/repos/acme/widget/issues", *three, Says(200, _issues(101, 20), _total(120)))
    numbers = talk(script, _open_numbers)
    assert numbers == list(range(1, 121))
    assert [asked.query["page"] for asked in script.asked] == ["1", "2", "3"]
    assert {asked.query["limit"] for asked in script.asked} == {"50"}


def test_a_server_that_gives_less_than_asked_for_is_asked_on() -> None:
    script = ScriptedForge()
    following = {"Link": '<http://x/?page=2>; rel="next",<http://x/?page=2>; rel="last"'}
    ending = {"Link": '<http://x/?page=1>; rel="first",<http://x/?page=1>; rel="prev"'}
    script.on(
        "GET",
        "/repos/acme/widget/issues",
        Says(200, _issues(1, 20), following),
        Says(200, _issues(21, 1), ending),
    )
    assert len(talk(script, _open_numbers)) == 21
    assert len(script.asked) == 2


def test_without_a_word_on_the_end_an_empty_page_is_it() -> None:
    script = ScriptedForge()
    script.on("GET", "/repos/acme/widget/issues", Says(200, _issues(1, 3)), Says(200, "null"))
    assert talk(script, _open_numbers) == [1, 2, 3]


def test_a_list_that_knows_no_pages_is_read_once() -> None:
    script = ScriptedForge().on("GET", "/repos/acme/widget/issues", Says(200, _issues(1, 3)))
    assert talk(script, _open_numbers) == [1, 2, 3]
    assert len(script.asked) == 2


def test_a_list_without_end_is_refused() -> None:
    script = ScriptedForge().on(
        "GET", "/repos/acme/widget/issues", *(Says(200, _issues(page, 1)) for page in range(1, 9))
    )

    async def few(forge: Forge) -> list[Issue]:
        return await forge.all("/repos/acme/widget/issues", Issue, pages=4)

    with pytest.raises(Refused):
        talk(script, few)
    assert len(script.asked) == 4


def test_a_redirect_of_the_same_server_is_followed() -> None:
    moved = "/repos/acme/gadget/issues/1"
    script = ScriptedForge().on("GET", ISSUE, Says(307, "", {"Location": f"/api/v1{moved}"}))
    script.on("GET", moved, Says(200, {"number": 1}))
    assert talk(script, get_issue).number == 1


@pytest.mark.parametrize(
    "location", ["https://other.test/api/v1/x", "http://forge.test/api/v1/x", "https://forge.test:81/", ""]
)
def test_the_token_is_not_taken_to_another_server(location: str) -> None:
    script = ScriptedForge().on("GET", ISSUE, Says(302, "", {"Location": location}))
    with pytest.raises(ForgeError) as raised:
        talk(script, get_issue)
    assert raised.value.status == 302
    assert len(script.asked) == 1


def test_redirects_have_an_end() -> None:
    script = ScriptedForge()
    script.on("GET", ISSUE, Says(302, "", {"Location": f"/api/v1{ISSUE}?x=1"}))
    with pytest.raises(ForgeError):
        talk(script, get_issue)
    assert len(script.asked) <= 4


def test_a_server_that_is_not_there_is_unreachable_and_nothing_arrived() -> None:
    async def ask() -> None:
        async with Forge("http://127.0.0.1:9", TOKEN, first_wait_seconds=0.0) as forge:
            await comment(forge)

    with pytest.raises(Unreachable) as raised:
        asyncio.run(ask())
    assert not raised.value.received
    assert "127.0.0.1:9 does not answer" in raised.value.message


def test_a_connection_that_breaks_is_made_anew_for_reading() -> None:
    broken: list[int] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        broken.append(1)
        if len(broken) > 1:
            writer.write(b'HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\n{"number":1}')
        writer.close()

    assert _served(answer, get_issue).number == 1
    assert len(broken) == 2


def test_an_answer_without_end_is_cut_or_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        try:
            while True:
                writer.write(b"1000\r\n" + b"x" * 4096 + b"\r\n")
                await writer.drain()
        except ConnectionError:
            writer.close()

    monkeypatch.setattr("fordjent.forge.wire.ANSWER_BYTES", 100_000)
    text, more = _served(answer, lambda forge: forge.text("/x.diff", at_most=1000))
    assert (text, more) == ("x" * 1000, True)
    with pytest.raises(NotUnderstood, match="over 100000 bytes"):
        _served(answer, get_issue)


def test_a_server_that_says_nothing_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    monkeypatch.setattr("fordjent.forge.wire.REQUEST_SECONDS", 0.1)
    with pytest.raises(Unreachable):
        _served(answer, comment)


def test_requests_keep_the_pace_after_a_burst() -> None:
    now = [100.0]
    pace = Pace(60, clock=lambda: now[0])
    first = [pace.delay() for _ in range(10)]
    assert first == [0.0] * 10
    assert [pace.delay() for _ in range(3)] == [1.0, 2.0, 3.0]
    now[0] += 100.0
    assert pace.delay() == 0.0


def test_a_pace_that_was_told_to_pause_does() -> None:
    now = [100.0]
    pace = Pace(600, clock=lambda: now[0])
    pace.pause(7.0)
    assert pace.delay() == pytest.approx(7.0)


def test_a_slow_pace_is_one_request_at_a_time() -> None:
    pace = Pace(1, clock=lambda: 0.0)
    assert [pace.delay(), pace.delay(), pace.delay()] == [0.0, 60.0, 120.0]


def test_only_so_many_requests_are_under_way_at_once() -> None:
    under_way: list[int] = []
    most: list[int] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        under_way.append(1)
        most.append(len(under_way))
        await asyncio.sleep(0.02)
        under_way.pop()
        writer.write(b'HTTP/1.1 200 OK\r\nContent-Length: 12\r\nConnection: close\r\n\r\n{"number":1}')
        writer.close()

    async def many(forge: Forge) -> None:
        await asyncio.gather(*(get_issue(forge) for _ in range(40)))

    _served(answer, many, requests_per_minute=60000)
    assert 1 < max(most) <= 16


def test_a_missing_issue_is_not_found() -> None:
    script = ScriptedForge().on("GET", ISSUE, Says(404, {"message": "The target couldn't be found."}))
    with pytest.raises(NotFound, match="The target couldn't be found"):
        talk(script, get_issue)


def _served(
    answer: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]],
    what: Callable[[Forge], Awaitable[T]],
    requests_per_minute: int = 600,
) -> T:
    """What came of `what`, asked of a server on loopback."""

    async def run() -> T:
        server = await asyncio.start_server(answer, "127.0.0.1", 0)
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        async with (
            server,
            Forge(url, TOKEN, first_wait_seconds=0.0, requests_per_minute=requests_per_minute) as forge,
        ):
            return await what(forge)

    return asyncio.run(run())


async def _open_numbers(forge: Forge) -> list[int]:
    return [issue.number async for issue in issues.list_open(forge, REPOSITORY)]


def _issues(first: int, count: int) -> list[dict[str, int]]:
    return [{"number": number} for number in range(first, first + count)]


def _total(count: int) -> dict[str, str]:
    return {"X-Total-Count": str(count)}
