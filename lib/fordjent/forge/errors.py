"""What the forge answers when it does not do what was asked: one class for each thing that a caller can do about it."""

from __future__ import annotations

from harness.errors import EX_DATAERR, EX_NOPERM, EX_SOFTWARE, EX_TEMPFAIL, Failure, TryLater


class ForgeError(Failure):
    """A request was refused. `said` is the server's own message, redacted; `status` 0: there was no answer."""

    exit_code = EX_SOFTWARE
    code = "forge_refused"

    def __init__(
        self, method: str, path: str, status: int, said: str = "", *, hint: str = "", resume_at: str = ""
    ) -> None:
        what = f"{status} {said}".strip() if status else said
        super().__init__(f"{method} {path}: {what}", hint=hint, resume_at=resume_at)
        self.method = method
        self.path = path
        self.status = status
        self.said = said


class NotFound(ForgeError):
    """404: not there, or not for this account to see."""

    exit_code = EX_DATAERR
    code = "forge_not_found"


class NotOffered(NotFound):
    """This server has no such endpoint."""

    code = "forge_not_offered"


class NotAllowed(ForgeError):
    """401 or 403: the token is wrong, lacks a scope, or its account lacks the right."""

    exit_code = EX_NOPERM
    code = "forge_not_allowed"


class Refused(ForgeError):
    """400 or 422: the request makes no sense to the server; the same one never will."""


class Conflict(ForgeError):
    """409: something else is there already, or has moved."""

    code = "forge_conflict"


class HeadMoved(Conflict):
    """The branch has other commits than those that were to be merged."""

    code = "forge_head_moved"


class MergeConflict(Conflict):
    """Head and base cannot be merged by the server."""

    code = "forge_merge_conflict"


class Circular(Conflict):
    """The dependency would close a circle."""

    code = "forge_circular"


class Draft(ForgeError):
    """405: the pull request is marked as work in progress."""

    code = "forge_draft"


class NotYet(ForgeError):
    """405: cannot be merged for now: it is being looked at, or a check or an approval is missing."""

    exit_code = EX_TEMPFAIL
    code = "forge_not_yet"
    retry = True


class Locked(ForgeError):
    """412: an issue with open dependencies is not closed."""

    code = "forge_dependencies"


class Archived(ForgeError):
    """423: the repository is archived; nothing is written there any more."""

    code = "forge_archived"


class Unreachable(ForgeError, TryLater):
    """No answer, 5xx, or 429: later. `received` is whether the server may have done it all the same."""

    exit_code = EX_TEMPFAIL
    code = "forge_unreachable"
    retry = True

    def __init__(
        self,
        method: str,
        path: str,
        status: int,
        said: str = "",
        *,
        received: bool = True,
        wait_seconds: float = 0.0,
        resume_at: str = "",
    ) -> None:
        super().__init__(method, path, status, said, resume_at=resume_at)
        self.received = received
        self.wait_seconds = wait_seconds
        """How long the server asked to wait; 0: it did not say."""


class NotUnderstood(ForgeError):
    """An answer that is no answer of Forgejo's API: a proxy's page, or a version that we do not know."""

    code = "forge_not_understood"


BY_STATUS: dict[int, type[ForgeError]] = {
    400: Refused,
    401: NotAllowed,
    403: NotAllowed,
    404: NotFound,
    405: NotYet,
    409: Conflict,
    412: Locked,
    413: Refused,
    422: Refused,
    423: Archived,
}
