"""The failures that a user can act on, each with its exit code (sysexits.h) and a hint.

Everything that is not a `Failure` is a bug of ours and ends as exit code 70.
"""

from __future__ import annotations

import errno

EX_OK = 0
EX_USAGE = 64
EX_DATAERR = 65
EX_UNAVAILABLE = 69
EX_SOFTWARE = 70
EX_IOERR = 74
EX_TEMPFAIL = 75
EX_NOPERM = 77
EX_CONFIG = 78


class Failure(Exception):
    """Something that the user, or a later try, can mend.

    `code` is the machine's word for it (snake_case), `hint` the way out in one
    sentence, `retry` whether the same call can succeed later by itself, and
    `resume_at` (RFC 3339) when, where that is known.
    """

    exit_code = EX_SOFTWARE
    code = "failed"
    retry = False

    def __init__(self, message: str, *, hint: str = "", code: str = "", resume_at: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.resume_at = resume_at
        if code:
            self.code = code


class Usage(Failure):
    """The command line is off."""

    exit_code = EX_USAGE
    code = "usage"


class BadData(Failure):
    """A record, issue or file that was read is malformed."""

    exit_code = EX_DATAERR
    code = "bad_data"


class Missing(Failure):
    """A program that is needed is not installed."""

    exit_code = EX_UNAVAILABLE
    code = "program_missing"


class TryLater(Failure):
    """It may work by itself later: network, a refused push, a quota."""

    exit_code = EX_TEMPFAIL
    code = "try_later"
    retry = True


class Busy(TryLater):
    """Somebody else is at it: another process, another host, a person's own worktree."""

    code = "busy"


class OutputRefused(Failure):
    """What reads our stdout, or the disk below it, takes no more."""

    exit_code = EX_IOERR
    code = "output_refused"
    retry = True


class NotLoggedIn(Failure):
    """The agent CLI needs a person to log in."""

    exit_code = EX_NOPERM
    code = "agent_not_logged_in"


class BadConfig(Failure):
    """config.toml, an adapter, a key folder or a template is wrong; names the file and the key."""

    exit_code = EX_CONFIG
    code = "configuration"


def of_disk(error: OSError) -> Failure | None:
    """What a disk's refusal means to a person: full is for later, not writable for them to mend; None: neither."""
    where = f"{error.filename}: {error.strerror}" if error.filename else str(error.strerror)
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return TryLater(where, hint="make room on the disk", code="disk_full")
    if error.errno in (errno.EROFS, errno.EACCES, errno.EPERM):
        folders = "Fordjent: state.dir; ent-agent: state_dir, ssh_key_dir"
        return BadConfig(where, hint=f"let this user write there, or name another folder ({folders})")
    if error.errno in (errno.ENOTDIR, errno.ENAMETOOLONG):
        return BadConfig(where, hint="name another path: a part of this one is no folder, or too long")
    return None
