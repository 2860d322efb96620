"""One forge and one account on it: the transport of its REST API.

    async with Forge(config.forgejo.url, config.forgejo.token) as forge:
        issue = await issues.get(forge, "acme/widget", 1)

The modules beside this one have a function per endpoint. Accounts of one process (`as_role`)
share connections, the pace of requests and what is known of the server.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable, Mapping
from types import TracebackType
from typing import TypeVar

import httpx2
import msgspec
import stamina

from fordjent.forge import answers, wire
from fordjent.forge.answers import Answer
from fordjent.forge.errors import Refused, Unreachable
from fordjent.forge.wire import Pool, Request
from harness.errors import BadConfig, BadData
from harness.redaction import Redactor

T = TypeVar("T")

Params = Mapping[str, str | int | bool]

PAGE = 50
"""The most that a stock server gives at once."""
PAGES = 200
ATTEMPTS = 5
RETRY_SECONDS = 60.0
"""No new attempt after so long, whatever the server asks to wait."""


class Forge:
    """
    Raises:
        BadConfig: a token that cannot be sent.
    """

    def __init__(
        self,
        url: str,
        token: str,
        *,
        requests_per_minute: int = 600,
        redact: Callable[[str], str] | None = None,
        retry_seconds: float = RETRY_SECONDS,
        first_wait_seconds: float = 0.5,
        transport: httpx2.AsyncBaseTransport | None = None,
        pool: Pool | None = None,
    ) -> None:
        self.url = url.rstrip("/")
        self._token = _checked(token)
        self._own, self._others = Redactor([token]), redact
        self._retry_seconds = retry_seconds
        self._first_wait_seconds = first_wait_seconds
        self.pool = pool or wire.open_pool(requests_per_minute, transport)

    def as_role(self, token: str) -> Forge:
        """The same forge by another account; an empty token is this one's."""
        return Forge(
            self.url,
            token or self._token,
            redact=self._redact,
            retry_seconds=self._retry_seconds,
            first_wait_seconds=self._first_wait_seconds,
            pool=self.pool,
        )

    async def aclose(self) -> None:
        await self.pool.client.aclose()

    async def __aenter__(self) -> Forge:
        return self

    async def __aexit__(
        self,
        _type: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        await self.aclose()

    async def get(self, path: str, of: type[T], params: Params | None = None) -> T:
        """Raises: ForgeError, as all of these do."""
        return answers.decode(await self.request("GET", path, params=params), of)

    async def post(self, path: str, of: type[T], body: object = None, *, repeatable: bool = False) -> T:
        """`repeatable`: done twice is the same as done once, so that it is tried again after a lost answer."""
        return answers.decode(await self.request("POST", path, body=body, repeatable=repeatable), of)

    async def patch(self, path: str, of: type[T], body: object) -> T:
        return answers.decode(await self.request("PATCH", path, body=body, repeatable=True), of)

    async def put(self, path: str, of: type[T], body: object = None) -> T:
        return answers.decode(await self.request("PUT", path, body=body, repeatable=True), of)

    async def delete(self, path: str, body: object = None) -> None:
        await self.request("DELETE", path, body=body, repeatable=True)

    async def text(self, path: str, at_most: int, params: Params | None = None) -> tuple[str, bool]:
        """The first `at_most` bytes of an answer that is not JSON, and whether there were more."""
        answer = await self.request("GET", path, params=params, at_most=at_most)
        return answer.body.decode("utf-8", "replace"), answer.truncated

    async def pages(
        self, path: str, of: type[T], params: Params | None = None, *, pages: int = PAGES
    ) -> AsyncIterator[T]:
        """Every item of a list, page by page, by what the server says of its end.

        Raises:
            Refused: it does not end within so many pages.
        """
        seen, before = 0, b""
        for page in range(1, pages + 1):
            query = {**(params or {}), "limit": PAGE, "page": page}
            answer = await self.request("GET", path, params=query)
            items = answers.decode(answer, list[of])  # type: ignore[valid-type]
            if not items or answer.body == before:  # some endpoints know no pages and repeat all of it
                return
            for item in items:
                yield item
            seen, before = seen + len(items), answer.body
            if answers.is_last_page(answer, seen):
                return
        raise Refused("GET", path, 0, f"has more than {pages} pages")

    async def all(
        self, path: str, of: type[T], params: Params | None = None, *, pages: int = PAGES
    ) -> list[T]:
        """`pages`, as a list."""
        return [item async for item in self.pages(path, of, params, pages=pages)]

    async def request(
        self,
        method: str,
        path: str,
        *,
        params: Params | None = None,
        body: object = None,
        headers: Mapping[str, str] | None = None,
        repeatable: bool = False,
        at_most: int = 0,
    ) -> Answer:
        """One request, tried again where that can help and cannot do harm.

        `at_most`: bytes of the answer, cut there; 0: what `wire` takes at most, and refused beyond.

        Raises:
            ForgeError: the class says what it was.
        """

        request = Request(
            method,
            path,
            f"{self.url}/api/v1{path}{wire.query(params or {})}",
            {**self._headers(body), **(headers or {})},
            None if body is None else _encoded(body),
            at_most,
        )
        async for attempt in stamina.retry_context(
            lambda error: _wait(error, method, repeatable, self._retry_seconds),
            attempts=ATTEMPTS,
            timeout=self._retry_seconds,
            wait_initial=self._first_wait_seconds,
            wait_max=10.0,
            wait_jitter=self._first_wait_seconds,
        ):
            with attempt:
                return await self._once(request)
        raise AssertionError("the last attempt returns or raises")

    async def _once(self, request: Request) -> Answer:
        answer = await wire.exchange(self.pool, request)
        if 200 <= answer.status < 300:
            return answer
        error = answers.failure(answer, self._redact)
        if isinstance(error, Unreachable) and error.status == 429:
            self.pool.pace.pause(min(error.wait_seconds, self._retry_seconds))
        raise error

    def _headers(self, body: object) -> dict[str, str]:
        sent = {"Accept": "application/json", "Authorization": f"token {self._token}"}
        return sent if body is None else {**sent, "Content-Type": "application/json"}

    def _redact(self, text: str) -> str:
        return self._own.redact(self._others(text) if self._others else text)


def _encoded(body: object) -> bytes:
    """
    Raises:
        BadData: a text in it is none: half a character.
    """
    try:
        return msgspec.json.encode(body)
    except UnicodeEncodeError as error:
        raise BadData("a text for the forge holds what is no character") from error


def _checked(token: str) -> str:
    """A token as it may stand in a header: whatever else it held, an error would show all of it."""
    if not re.fullmatch(r"[!-~]+", token.strip()):
        raise BadConfig("forgejo.token: empty, or with characters that no token has")
    return token.strip()


def _wait(error: Exception, method: str, repeatable: bool, longest: float) -> bool | float:
    """Whether to try again, or after how many seconds the server wants it."""
    if not isinstance(error, Unreachable):
        return False
    if error.received and method != "GET" and (not repeatable or error.status == 500):
        return False  # what it refuses with 500 (a branch that is not there) it refuses again
    if error.wait_seconds > longest:
        return False
    return error.wait_seconds or True
