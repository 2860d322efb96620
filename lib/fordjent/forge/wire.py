"""One request and its answer, over connections that the accounts of a process share."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field

import httpx2
import msgspec

from fordjent.forge.answers import SAID_CHARACTERS, Answer
from fordjent.forge.errors import ForgeError, NotUnderstood, Unreachable
from fordjent.forge.pace import Pace
from harness import cutting

CONNECT_SECONDS = 10.0
SILENCE_SECONDS = 30.0
REQUEST_SECONDS = 120.0
IDLE_SECONDS = 4.0
"""Less than servers keep an idle connection: a request into one that just closes may or may not arrive."""
CONCURRENT = 16
ANSWER_BYTES = 32 * 1024 * 1024
REDIRECTS = 3

NOT_SENT = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout, httpx2.ProxyError)


class Request(msgspec.Struct, frozen=True):
    """`path` is for people; `at_most`: bytes of the answer, cut there; 0: `ANSWER_BYTES`, and refused beyond."""

    method: str
    path: str
    url: str
    headers: dict[str, str]
    content: bytes | None = None
    at_most: int = 0


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


def open_pool(requests_per_minute: int, transport: httpx2.AsyncBaseTransport | None = None) -> Pool:
    client = httpx2.AsyncClient(
        timeout=httpx2.Timeout(SILENCE_SECONDS, connect=CONNECT_SECONDS),
        limits=httpx2.Limits(
            max_connections=CONCURRENT, max_keepalive_connections=CONCURRENT, keepalive_expiry=IDLE_SECONDS
        ),
        follow_redirects=False,
        transport=transport,
    )
    return Pool(client, Pace(requests_per_minute), asyncio.Semaphore(CONCURRENT))


async def exchange(pool: Pool, request: Request) -> Answer:
    """The answer, whatever its status, after redirects within the same server.

    Raises:
        Unreachable: there was none.
        ForgeError: it leads to another server.
    """
    url = httpx2.URL(request.url)
    for _ in range(REDIRECTS + 1):
        await pool.pace.turn()
        answer = await _once(pool, request, url)
        if answer.status not in (301, 302, 307, 308):
            break
        url = _next_place(answer, url)
    return answer


def query(params: Mapping[str, str | int | bool]) -> str:
    """`?a=1&b=true`, or nothing."""
    shown = {name: str(value).lower() if isinstance(value, bool) else value for name, value in params.items()}
    return f"?{httpx2.QueryParams(shown)}" if shown else ""


async def _once(pool: Pool, request: Request, url: httpx2.URL) -> Answer:
    try:
        async with (
            pool.places,
            asyncio.timeout(REQUEST_SECONDS),
            pool.client.stream(
                request.method, url, content=request.content, headers=request.headers
            ) as response,
        ):
            data, cut = await _read(response, request.at_most or ANSWER_BYTES)
    except NOT_SENT as error:
        raise _unreachable(request, url, error, received=False) from error
    except (httpx2.RequestError, ssl.SSLError, TimeoutError) as error:
        raise _unreachable(request, url, error, received=True) from error
    if cut and not request.at_most:
        said = f"answer of over {ANSWER_BYTES} bytes"
        raise NotUnderstood(request.method, request.path, response.status_code, said)
    names = {name.lower(): value for name, value in response.headers.items()}
    return Answer(request.method, request.path, response.status_code, names, data, cut)


async def _read(response: httpx2.Response, at_most: int) -> tuple[bytes, bool]:
    """The body, at most so many bytes of it, and whether it was longer."""
    data = bytearray()
    async for chunk in response.aiter_bytes():
        data += chunk
        if len(data) > at_most:
            return bytes(data[:at_most]), True
    return bytes(data), False


def _next_place(answer: Answer, url: httpx2.URL) -> httpx2.URL:
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


def _unreachable(request: Request, url: httpx2.URL, error: Exception, *, received: bool) -> Unreachable:
    where = f"{url.scheme}://{url.netloc.decode('ascii', 'replace')}"
    said = cutting.beginning(f"{where} does not answer: {error or type(error).__name__}", SAID_CHARACTERS)
    return Unreachable(request.method, request.path, 0, said, received=received)
