"""What a session is about: one issue or one pull request of one repository."""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

from harness.errors import BadData

Kind = Literal["issues", "pulls"]

_NAME = r"[A-Za-z0-9_.-]+"
_KEY = re.compile(rf"({_NAME})/({_NAME})/(issues|pulls)/([1-9][0-9]{{0,17}})")
_REPOSITORY = re.compile(rf"{_NAME}/{_NAME}")


class SessionKey(NamedTuple):
    """`owner/repo/issues/42` or `owner/repo/pulls/7`."""

    repository: str
    kind: Kind
    number: int

    def __str__(self) -> str:
        return f"{self.repository}/{self.kind}/{self.number}"

    @property
    def is_pull(self) -> bool:
        return self.kind == "pulls"

    @classmethod
    def parse(cls, text: str) -> SessionKey:
        """
        Raises:
            BadData: it is none.
        """
        match = _KEY.fullmatch(text)
        if not match or not is_repository(f"{match[1]}/{match[2]}"):
            raise BadData(
                f"{text!r} is no session key", hint="like owner/repo/issues/42 or owner/repo/pulls/7"
            )
        return cls(f"{match[1]}/{match[2]}", "pulls" if match[3] == "pulls" else "issues", int(match[4]))


def is_repository(name: str) -> bool:
    """Whether `name` is `owner/name` as Forgejo has them: it may go into a path and a URL."""
    parts = name.split("/")
    return bool(_REPOSITORY.fullmatch(name)) and not any(part.strip(".") == "" for part in parts)
