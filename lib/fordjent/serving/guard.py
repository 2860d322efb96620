"""Who may look: with `admin_token` whoever has it, without one whoever sits at this machine."""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import time
from collections.abc import Awaitable, Callable
from urllib.parse import parse_qs, quote

from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response

from fordjent.config import Server
from fordjent.serving import pages

Endpoint = Callable[[Request], Awaitable[Response]]

COOKIE = "fordjent"
COOKIE_SECONDS = 7 * 24 * 3600
FORM_BYTES = 4096
FORWARDED = ("forwarded", "x-forwarded-for", "x-real-ip")


class Guard:
    """`admitting(endpoint)` is that endpoint, for those who may."""

    def __init__(self, server: Server) -> None:
        self._token = server.admin_token
        self._is_secure = server.public_url.startswith("https:")

    def admitting(self, endpoint: Endpoint) -> Endpoint:
        async def guarded(request: Request) -> Response:
            return self._refusal(request) or await endpoint(request)

        return guarded

    async def login(self, request: Request) -> Response:
        """The form, and what it sends."""
        following = _local(request.query_params.get("next", ""))
        if request.method != "POST":
            return pages.page("login.html", wrong=False)
        body = b""
        async for part in request.stream():
            body += part
            if len(body) > FORM_BYTES:
                return JSONResponse({"error": "too long"}, status_code=413)
        given = parse_qs(body.decode("utf-8", "replace"), errors="replace").get("token", [""])[0]
        if not self._token or not _equal(given, self._token):
            return pages.page("login.html", status=401, wrong=True)
        response = RedirectResponse(following, status_code=303)
        until = int(time.time()) + COOKIE_SECONDS
        response.set_cookie(
            COOKIE,
            self._cookie(until),
            max_age=COOKIE_SECONDS,
            httponly=True,
            samesite="strict",
            secure=self._is_secure,
        )
        return response

    def _refusal(self, request: Request) -> Response | None:
        if not self._token:
            if _is_at_this_machine(request):
                return None
            hint = "set server.admin_token in config.toml, or ask from this machine"
            return JSONResponse({"error": "not from here", "hint": hint}, status_code=403)
        if self._has_token(request) or self._has_cookie(request):
            return None
        if "text/html" in request.headers.get("accept", ""):
            return RedirectResponse(f"/login?next={quote(request.url.path)}", status_code=303)
        return JSONResponse(
            {"error": "admin_token needed"}, status_code=401, headers={"WWW-Authenticate": "Bearer"}
        )

    def _has_token(self, request: Request) -> bool:
        scheme, _, given = request.headers.get("authorization", "").partition(" ")
        return scheme.lower() == "bearer" and _equal(given.strip(), self._token)

    def _has_cookie(self, request: Request) -> bool:
        given = request.cookies.get(COOKIE, "")
        until = given.partition(".")[0]
        if not until.isascii() or not until.isdigit() or len(until) > 12:
            return False
        return _equal(given, self._cookie(int(until))) and time.time() < int(until)

    def _cookie(self, until: int) -> str:
        """Says until when, in seconds since 1970, and only who has the token can have written it."""
        signed = hmac.new(
            self._token.encode("utf-8", "surrogateescape"), b"cookie %d" % until, hashlib.sha256
        )
        return f"{until}.{signed.hexdigest()}"


def _equal(given: str, expected: str) -> bool:
    return hmac.compare_digest(
        given.encode("utf-8", "surrogateescape"), expected.encode("utf-8", "surrogateescape")
    )


def _is_at_this_machine(request: Request) -> bool:
    """Not through a proxy that stands here, and not by a name that some page made point here."""
    if any(name in request.headers for name in FORWARDED):
        return False
    named = request.url.hostname or ""
    is_here = request.client is not None and _is_loopback(request.client.host)
    return is_here and (named == "localhost" or _is_loopback(named))


def _is_loopback(address: str) -> bool:
    try:
        return ipaddress.ip_address(address.strip("[]")).is_loopback
    except ValueError:
        return False


def _local(path: str) -> str:
    """Where to go on to: a page of ours, never another site."""
    is_ours = path.startswith("/") and not path.startswith(("//", "/\\")) and path.isprintable()
    return path if is_ours else "/activity"
