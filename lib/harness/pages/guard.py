"""Who may look and act: with a token whoever has it, without one whoever sits at this machine.

What is changed is changed by a form of ours: it carries a token that no other site can read, bound to
the cookie. A program that sends the token itself (`Authorization: Bearer`) needs none.
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import os
import time
from collections import deque
from collections.abc import Awaitable, Callable
from urllib.parse import parse_qs, quote

from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response

from harness.pages.rendering import Pages

Endpoint = Callable[[Request], Awaitable[Response]]
Form = dict[str, str]
Action = Callable[[Request, Form], Awaitable[Response]]

COOKIE_SECONDS = 7 * 24 * 3600
FORM_BYTES = 4096
FORWARDED = ("forwarded", "x-forwarded-for", "x-real-ip")
GUESSES, GUESSES_SECONDS = 20, 60.0
"""More wrong tokens in that time, and nobody is asked for one until it is over."""


class Guard:
    """`admitting(endpoint)` is that endpoint, for those who may; `acting(action)` also asks for a form of ours.

    `cookie`: its name. `home`: where a login leads to by itself. `asks_for`: the token, in a person's words.
    """

    def __init__(
        self, token: str, pages: Pages, *, cookie: str, home: str, asks_for: str, is_secure: bool = False
    ) -> None:
        self._token = token
        self._pages = pages
        self._cookie_name = cookie
        self._home = home
        self._asks_for = asks_for
        self._is_secure = is_secure
        self._key = token.encode("utf-8", "surrogateescape") or os.urandom(32)
        self._wrong: deque[float] = deque(maxlen=GUESSES)

    @property
    def asks(self) -> bool:
        """Whether there is a token to know."""
        return bool(self._token)

    def admitting(self, endpoint: Endpoint) -> Endpoint:
        async def guarded(request: Request) -> Response:
            return self._refusal(request) or await endpoint(request)

        return guarded

    def acting(self, action: Action) -> Endpoint:
        async def guarded(request: Request) -> Response:
            refusal = self._refusal(request)
            if refusal:
                return refusal
            form = await _form(request)
            if form is None:
                return JSONResponse({"error": "too long"}, status_code=413)
            if not self._has_token(request) and not self._is_ours(request, form):
                hint = "load the page anew, and send its form again"
                return JSONResponse({"error": "not sent by a page of ours", "hint": hint}, status_code=403)
            return await action(request, form)

        return guarded

    def form_token(self, request: Request) -> str:
        """What a form must send as `form_token`."""
        of = request.cookies.get(self._cookie_name, "") if self._token else ""
        return self._signed(f"form {of}")

    async def login(self, request: Request) -> Response:
        """The form, and what it sends."""
        following = self._local(request.query_params.get("next", ""))
        if request.method != "POST":
            return self._form(200)
        form = await _form(request)
        if form is None:
            return JSONResponse({"error": "too long"}, status_code=413)
        if self._is_guessed_at():
            response = self._form(429, "Too many wrong tokens: wait a minute.")
            response.headers["Retry-After"] = f"{GUESSES_SECONDS:.0f}"
            return response
        if not self._token or not _equal(form.get("token", ""), self._token):
            self._wrong.append(time.monotonic())
            return self._form(401, "That is not the token.")
        redirect = RedirectResponse(following, status_code=303)
        until = int(time.time()) + COOKIE_SECONDS
        redirect.set_cookie(
            self._cookie_name,
            self._cookie(until),
            max_age=COOKIE_SECONDS,
            httponly=True,
            samesite="lax",  # a link on the forge leads here; what changes anything is a POST with a form's token
            secure=self._is_secure,
        )
        return redirect

    async def logout(self, _request: Request, _form: Form) -> Response:
        redirect = RedirectResponse("/login", status_code=303)
        redirect.delete_cookie(self._cookie_name, httponly=True, samesite="lax", secure=self._is_secure)
        return redirect

    def _form(self, status: int, wrong: str = "") -> Response:
        return self._pages.page("login.html", status=status, wrong=wrong, asks_for=self._asks_for)

    def _refusal(self, request: Request) -> Response | None:
        if not self._token:
            if _is_at_this_machine(request):
                return None
            hint = f"set {self._asks_for}, or ask from this machine"
            return JSONResponse({"error": "not from here", "hint": hint}, status_code=403)
        if self._has_token(request) or self._has_cookie(request):
            return None
        if "text/html" in request.headers.get("accept", ""):
            return RedirectResponse(f"/login?next={quote(_asked(request))}", status_code=303)
        return JSONResponse(
            {"error": "token needed", "hint": self._asks_for},
            status_code=401,
            headers={"WWW-Authenticate": "Bearer"},
        )

    def _is_ours(self, request: Request, form: Form) -> bool:
        if request.headers.get("sec-fetch-site", "same-origin") != "same-origin":
            return False
        return _equal(form.get("form_token", ""), self.form_token(request))

    def _is_guessed_at(self) -> bool:
        return len(self._wrong) == GUESSES and time.monotonic() - self._wrong[0] < GUESSES_SECONDS

    def _has_token(self, request: Request) -> bool:
        scheme, _, given = request.headers.get("authorization", "").partition(" ")
        return bool(self._token) and scheme.lower() == "bearer" and _equal(given.strip(), self._token)

    def _has_cookie(self, request: Request) -> bool:
        given = request.cookies.get(self._cookie_name, "")
        until = given.partition(".")[0]
        if not until.isascii() or not until.isdigit() or len(until) > 12:
            return False
        return _equal(given, self._cookie(int(until))) and time.time() < int(until)

    def _cookie(self, until: int) -> str:
        """Says until when, in seconds since 1970, and only who has the token can have written it."""
        return f"{until}.{self._signed(f'cookie {until}')}"

    def _signed(self, text: str) -> str:
        return hmac.new(self._key, text.encode("utf-8", "surrogateescape"), hashlib.sha256).hexdigest()

    def _local(self, path: str) -> str:
        """Where to go on to: a page of ours, never another site."""
        is_ours = path.startswith("/") and not path.startswith(("//", "/\\")) and path.isprintable()
        return path if is_ours else self._home


async def _form(request: Request) -> Form | None:
    """The first value of each field; None: too long."""
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > FORM_BYTES:
            return None
    found = parse_qs(body.decode("utf-8", "replace"), errors="replace", keep_blank_values=True)
    return {name: values[0] for name, values in found.items()}


def _asked(request: Request) -> str:
    return f"{request.url.path}?{request.url.query}" if request.url.query else request.url.path


def _equal(given: str, expected: str) -> bool:
    return hmac.compare_digest(
        given.encode("utf-8", "surrogateescape"), expected.encode("utf-8", "surrogateescape")
    )


def _is_at_this_machine(request: Request) -> bool:
    """Not through a proxy that stands here, and not by a name that some page made point here."""
    if any(name in request.headers for name in FORWARDED):
        return False
    named = request.url.hostname or ""
    is_here = request.client is not None and is_loopback(request.client.host)
    return is_here and (named == "localhost" or is_loopback(named))


def is_loopback(address: str) -> bool:
    try:
        return ipaddress.ip_address(address.strip("[]")).is_loopback
    except ValueError:
        return False
