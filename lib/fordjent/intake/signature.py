"""Whether a delivery comes from who knows the secret."""

from __future__ import annotations

import hmac
from collections.abc import Mapping

HEADERS = ("x-forgejo-signature", "x-gitea-signature", "x-hub-signature-256")


def is_signed(headers: Mapping[str, str], signed: bytes, secret: bytes) -> bool:
    """Whether one of the signatures is the HMAC-SHA256 of these bytes, in hex. Names are in lower case.

    Forgejo sends the bare digits, and in X-Hub-Signature-256 `sha256=` before them; of a hook
    without a secret it sends an empty one.
    """
    expected = hmac.digest(secret, signed, "sha256").hex().encode()
    given = [headers.get(name, "").strip().removeprefix("sha256=") for name in HEADERS]
    valid = [hmac.compare_digest(one.encode("utf-8", "replace"), expected) for one in given]  # each: no hint
    return any(valid)
