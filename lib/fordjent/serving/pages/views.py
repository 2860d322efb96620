"""The pages and the actions on them: from a request to what the database has, and back."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from sqlalchemy import Connection
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response

from fordjent.intake.rejections import Rejections
from fordjent.serving.pages import calls, changes, dashboard, of_fordjent
from fordjent.session_key import SessionKey
from fordjent.sessions import steering
from fordjent.store import deliveries, overview, pausing, statistics, traces
from harness.errors import BadData, Busy
from harness.pages.guard import Form, Guard

if TYPE_CHECKING:
    from fordjent.context import Context

ACTIVITY = 50
LISTED = 50
REASON_CHARACTERS = 300
KEY_PARTS = ("owner", "repo", "kind", "number")


class Views:
    """`guard` says who may; here is only what they see."""

    def __init__(self, context: Context, rejections: Rejections, guard: Guard) -> None:
        self._context = context
        self._rejections = rejections
        self._guard = guard

    # ---- pages

    async def home(self, _request: Request) -> Response:
        return RedirectResponse("/admin", status_code=303)

    async def admin(self, request: Request) -> Response:
        await self._rejections.written()
        found = await self._context.database.read(dashboard.gather, time.time())
        return self._page(
            request, "admin.html", found=found, budgets=dashboard.budgets(self._context.config), unpriced=dashboard.unpriced(self._context.config),
            most=self._context.config.sessions.max_sessions,
        )  # fmt: skip

    async def sessions(self, request: Request) -> Response:
        asked = request.query_params
        state = asked.get("state", "") if asked.get("state", "") in statistics.STATES else ""
        repository = asked.get("repository", "").strip()
        before = _place(asked.get("before", ""))
        found = await self._context.database.read(
            overview.listed, time.time(), LISTED + 1, state=state, repository=repository, before=before
        )
        more = ""
        if len(found) > LISTED:
            last = found[LISTED - 1]
            chosen = {"state": state, "repository": repository, "before": f"{last.changed_at!r}_{last.key}"}
            more = urlencode({name: value for name, value in chosen.items() if value})
        counts = await self._context.database.read(statistics.states)
        return self._page(
            request, "sessions.html", found=found[:LISTED], counts=counts, state=state, repository=repository,
            more=more, is_first=before is None,
        )  # fmt: skip

    async def activity(self, request: Request) -> Response:
        def read(connection: Connection) -> dict[str, Any]:
            return {
                "arrived": deliveries.last(connection, ACTIVITY),
                "changes": statistics.changes(connection, ACTIVITY),
                "turns": statistics.turns(connection, ACTIVITY),
            }

        return self._page(request, "activity.html", **await self._context.database.read(read))

    async def trace(self, request: Request) -> Response:
        key = _key(request)
        if isinstance(key, Response):
            return key
        before = request.query_params.get("before", "")
        place = int(before) if before.isascii() and before.isdigit() and len(before) < 12 else None
        trace = await self._context.database.read(
            traces.of, str(key), self._context.redactor, time.time(), place
        )
        if trace is None:
            return _json_error(f"there is no session {key}", 404)
        return self._page(
            request, "trace.html", trace=trace, key=key, is_last=place is None, shown_call=calls.shown,
            diff_of=calls.diff_of, budget=self._context.config.budget.session,
        )  # fmt: skip

    async def change(self, request: Request) -> Response:
        """What a run has changed, as git has it."""
        key = _key(request)
        if isinstance(key, Response):
            return key
        run = await self._context.database.read(traces.run, str(key), request.path_params["run"])
        if run is None:
            return _json_error(f"{key} has no such run", 404)
        diff = await changes.of(self._context, key, run.start_commit, run.end_commit)
        return self._page(
            request, "change.html", key=key, run=run, diff=diff, lines=calls.lines_of(diff.text)
        )

    # ---- actions

    async def steer(self, request: Request, form: Form) -> Response:
        key = _key(request)
        if isinstance(key, Response):
            return key
        what = request.path_params["what"]
        try:
            done = await self._context.database.write(steering.steer, str(key), what, time.time())
        except (BadData, Busy) as failure:
            return _json_error(failure.message, 404 if isinstance(failure, BadData) else 409, failure.hint)
        self._context.log.info("admin.steered", key=str(key), what=what, done=done)
        return self._back(form, f"/trace/{key}")

    async def pause(self, _request: Request, form: Form) -> Response:
        reason = self._clean(form.get("reason", ""))[:REASON_CHARACTERS]
        interrupts = form.get("interrupts", "") == "yes"
        await self._context.database.write(pausing.begin, reason, interrupts, time.time())
        self._context.log.warning("admin.paused", reason=reason, interrupts=interrupts)
        return self._back(form, "/admin")

    async def resume(self, _request: Request, form: Form) -> Response:
        was = await self._context.database.write(pausing.end)
        self._context.log.warning("admin.resumed", was_paused=was)
        return self._back(form, "/admin")

    def _back(self, form: Form, otherwise: str) -> Response:
        self._context.bus.woke("sessions")
        self._context.bus.woke("changes")
        to = form.get("back", "")
        is_ours = to.startswith(("/admin", "/sessions", "/trace/")) and to.isprintable() and "\\" not in to
        return RedirectResponse(to if is_ours else otherwise, status_code=303)

    # ---- what all have

    def _page(self, request: Request, template: str, **values: Any) -> Response:
        form_token = self._guard.form_token(request)
        return of_fordjent().page(
            template,
            here=request.url.path,
            back=request.url.path + (f"?{request.url.query}" if request.url.query else ""),
            leaving=form_token if self._guard.asks else "",
            form_token=form_token,
            clean=self._clean,
            forge=self._context.config.forgejo.url.rstrip("/"),
            possible=_possible,
            **values,
        )

    def _clean(self, text: str) -> str:
        return self._context.redactor.redact(text)


def _possible(one: overview.Shown) -> list[steering.What]:
    return steering.possible(one.state, one.at_work, one.ready_at is not None)


def _key(request: Request) -> SessionKey | Response:
    try:
        return SessionKey.parse("/".join(request.path_params[name] for name in KEY_PARTS))
    except BadData as error:
        return _json_error(error.message, 400, error.hint)


def _place(text: str) -> tuple[float, str] | None:
    """Where a list goes on: a time and a key."""
    at, _, key = text.partition("_")
    try:
        return (float(at), key) if key else None
    except ValueError:
        return None


def _json_error(message: str, status: int, hint: str = "") -> Response:
    return JSONResponse({"error": message, "hint": hint}, status_code=status)
