"""One forge and one account on it: the transport of its REST API.

    async with Forge(config.forgejo.url, config.forgejo.token) as forge:
        issue = await issues.get(forge, "acme/widget", 1)

The modules beside this one have a function per endpoint. Accounts of one process (`as_role`)
share connections, the pace of requests and what is known of the server.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import TypeVar

import httpx2
import msgspec
import stamina

from fordjent.forge import answers
from fordjent.forge.answers import Answer
from fordjent.forge.errors import ForgeError, NotUnderstood, Refused, Unreachable
from fordjent.forge.pace import Pace
from harness.redaction import Redactor

T = TypeVar("T")

Params = Mapping[str, str | int | bool]

PAGE = 50
"""The most that a stock server gives at once."""
PAGES = 200
CONNECT_SECONDS = 10.0
SILENCE_SECONDS = 30.0
REQUEST_SECONDS = 120.0
ATTEMPTS = 5
RETRY_SECONDS = 60.0
"""No new attempt after so long, whatever the server asks to wait."""
IDLE_SECONDS = 4.0
"""Less than servers keep an idle connection: a request into one that just closes may or may not arrive."""
CONCURRENT = 16
ANSWER_BYTES = 32 * 1024 * 1024
REDIRECTS = 3

NOT_SENT = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout, httpx2.ProxyError)


@dataclass
class Pool:
    """What all accounts of a process share."""

    client: httpx2.AsyncClient
    pace: Pace
    places: asyncio.Semaphore
    reactions: frozenset[str] | None = None
    """Names of the reactions that the server allows; None: not asked yet."""
    labels: dict[str, dict[str, int]] = field(default_factory=dict)
    """Ids by name, for each repository that was asked for."""
    locks: dict[str, asyncio.Lock] = field(default_factory=dict)


class Forge:
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
        self._token = token
        self._own, self._others = Redactor([token]), redact
        self._retry_seconds = retry_seconds
        self._first_wait_seconds = first_wait_seconds
        self.pool = pool or _pool(requests_per_minute, transport)

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

        `at_most`: bytes of the answer, cut there; 0: `ANSWER_BYTES`, and refused beyond.

        Raises:
            ForgeError: the class says what it was.
        """

        def wait(error: Exception) -> bool | float:
            return _wait(error, method, repeatable, self._retry_seconds)

        async for attempt in stamina.retry_context(
            wait,
            attempts=ATTEMPTS,
            timeout=self._retry_seconds,
            wait_initial=self._first_wait_seconds,
            wait_max=10.0,
            wait_jitter=self._first_wait_seconds,
        ):
            with attempt:
                return await self._once(method, path, params, body, headers or {}, at_most)
        raise AssertionError("the last attempt returns or raises")

    async def _once(
        self,
        method: str,
        path: str,
        params: Params | None,
        body: object,
        headers: Mapping[str, str],
        at_most: int,
    ) -> Answer:
        url = httpx2.URL(f"{self.url}/api/v1{path}")
        if params:
            url = url.copy_merge_params(_query(params))
        content = None if body is None else msgspec.json.encode(body)
        sent = {"Accept": "application/json", "Authorization": f"token {self._token}", **headers}
        if content is not None:
            sent["Content-Type"] = "application/json"
        for _ in range(REDIRECTS + 1):
            await self.pool.pace.turn()
            answer = await self._exchange(method, path, url, content, sent, at_most)
            if answer.status not in (301, 302, 307, 308):
                break
            url = self._next_place(answer, url)
        if 200 <= answer.status < 300:
            return answer
        error = answers.failure(answer, self._redact)
        if isinstance(error, Unreachable) and error.status == 429:
            self.pool.pace.pause(min(error.wait_seconds, self._retry_seconds))
        raise error

    async def _exchange(
        self,
        method: str,
        path: str,
        url: httpx2.URL,
        content: bytes | None,
        headers: Mapping[str, str],
        at_most: int,
    ) -> Answer:
        try:
            async with (
                self.pool.places,
                asyncio.timeout(REQUEST_SECONDS),
                self.pool.client.stream(method, url, content=content, headers=headers) as response,
            ):
                data, cut = await _read(response, at_most or ANSWER_BYTES)
        except NOT_SENT as error:
            raise self._unreachable(method, path, error, received=False) from error
        except (httpx2.RequestError, ssl.SSLError, TimeoutError) as error:
            raise self._unreachable(method, path, error, received=True) from error
        if cut and not at_most:
            raise NotUnderstood(method, path, response.status_code, f"answer of over {ANSWER_BYTES} bytes")
        names = {name.lower(): value for name, value in response.headers.items()}
        return Answer(method, path, response.status_code, names, data, cut)

    def _redact(self, text: str) -> str:
        return self._own.redact(self._others(text) if self._others else text)

    def _unreachable(self, method: str, path: str, error: Exception, *, received: bool) -> Unreachable:
        said = self._redact(f"{self.url} does not answer: {error or type(error).__name__}")
        return Unreachable(method, path, 0, said[: answers.SAID_CHARACTERS], received=received)

    def _next_place(self, answer: Answer, url: httpx2.URL) -> httpx2.URL:
        """Where a redirect leads: the token goes to no other host, nor from TLS to none.

        Raises:
            ForgeError: elsewhere, or nowhere.
        """
        try:
            place = url.join(answer.headers.get("location", ""))
        except httpx2.InvalidURL as error:
            raise NotUnderstood(answer.method, answer.path, answer.status, "leads nowhere") from error
        if (place.scheme, place.host, place.port) == (url.scheme, url.host, url.port) and place != url:
            return place
        raise ForgeError(
            answer.method,
            answer.path,
            answer.status,
            f"leads to {place.scheme}://{place.host}",
            hint="set forgejo.url to the address that the forge gives itself",
        )


def _pool(requests_per_minute: int, transport: httpx2.AsyncBaseTransport | None) -> Pool:
    client = httpx2.AsyncClient(
        timeout=httpx2.Timeout(SILENCE_SECONDS, connect=CONNECT_SECONDS),
        limits=httpx2.Limits(
            max_connections=CONCURRENT, max_keepalive_connections=CONCURRENT, keepalive_expiry=IDLE_SECONDS
        ),
        follow_redirects=False,
        transport=transport,
    )
    return Pool(client, Pace(requests_per_minute), asyncio.Semaphore(CONCURRENT))


def _wait(error: Exception, method: str, repeatable: bool, longest: float) -> bool | float:
    """Whether to try again, or after how many seconds the server wants it."""
    if not isinstance(error, Unreachable):
        return False
    if error.received and method != "GET" and (not repeatable or error.status == 500):
        return False  # what it refuses with 500 (a branch that is not there) it refuses again
    if error.wait_seconds > longest:
        return False
    return error.wait_seconds or True


def _query(params: Params) -> dict[str, str]:
    return {
        name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in params.items()
    }


async def _read(response: httpx2.Response, at_most: int) -> tuple[bytes, bool]:
    """The body, at most so many bytes of it, and whether it was longer."""
    data = bytearray()
    async for chunk in response.aiter_bytes():
        data += chunk
        if len(data) > at_most:
            return bytes(data[:at_most]), True
    return bytes(data), False
