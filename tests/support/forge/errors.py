"""The forge's refusals, with the bodies that were recorded."""

from __future__ import annotations

from typing import Any


class Refusal(Exception):
    """An answer other than success. `errors` is there where the forge sends that key (its 404s)."""

    def __init__(self, status: int, message: str, errors: list[str] | None = None, **headers: str) -> None:
        super().__init__(message)
        self.status, self.message, self.errors = status, message, errors
        self.headers = {name.replace("_", "-"): value for name, value in headers.items()}

    def body(self, url: str) -> dict[str, Any]:
        body: dict[str, Any] = {"message": self.message, "url": f"{url}/api/swagger"}
        return body if self.errors is None else {**body, "errors": self.errors}


def not_found(message: str = "The target couldn't be found.", *errors: str) -> Refusal:
    return Refusal(404, message, list(errors))


def archived(number: int, full_name: str) -> Refusal:
    return Refusal(423, f"<Repository {number}:{full_name}> is archived")


def try_again_later() -> Refusal:
    return Refusal(405, "Please try again later")
