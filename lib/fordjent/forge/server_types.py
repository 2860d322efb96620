"""Accounts, hooks and settings as the forge answers them (`types` has them all)."""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec

NEVER = datetime(1, 1, 1, tzinfo=UTC)


class User(msgspec.Struct, frozen=True, kw_only=True):
    id: int = 0
    login: str = ""
    full_name: str = ""
    email: str = ""
    is_admin: bool = False


class Permission(msgspec.Struct, frozen=True, kw_only=True):
    permission: str = "none"
    role_name: str = ""


class Token(msgspec.Struct, frozen=True, kw_only=True):
    """`sha1` is the token itself; it is told once."""

    id: int
    name: str = ""
    sha1: str = ""
    token_last_eight: str = ""
    scopes: list[str] = []


class Hook(msgspec.Struct, frozen=True, kw_only=True):
    """A webhook; the forge never tells its secret."""

    id: int
    type: str = ""
    active: bool = False
    events: list[str] = []
    config: dict[str, str] = {}
    branch_filter: str = ""

    @property
    def url(self) -> str:
        return self.config.get("url", "")


class Ui(msgspec.Struct, frozen=True, kw_only=True):
    allowed_reactions: list[str] = []
    custom_emojis: list[str] = []


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    max_response_items: int = 50
    default_paging_num: int = 30
    default_max_blob_size: int = 0


class Version(msgspec.Struct, frozen=True, kw_only=True):
    version: str = ""
