"""How git gets the token: from a file that only we can read, by a helper that git starts for our forge alone.

So it stands in no URL, argument, environment or configuration, and no other host is ever told it.
"""

from __future__ import annotations

import hashlib
import shlex
from pathlib import Path
from urllib.parse import urlsplit

from harness import atomic
from harness.errors import BadConfig

USERNAME = "fordjent"
"""The forge takes a token as the password of any name."""


def keep(folder: Path, token: str) -> Path:
    """The file with the token, in git's own format (git-credential(1)); made where it is not there.

    Raises:
        BadConfig: a token with a line end in it.
    """
    if not token.isprintable():
        raise BadConfig("forgejo.token: has characters that no token has", hint="look for a line end in it")
    path = folder / hashlib.sha256(token.encode()).hexdigest()[:16]
    data = f"username={USERNAME}\npassword={token}\n".encode()
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not path.is_file() or path.read_bytes() != data:
        atomic.write_bytes(path, data, 0o600)
    return path


def settings(forge_url: str, path: Path) -> dict[str, str]:
    """git's settings for one call: no other helper, and ours for this forge.

    A leading `!` has git run it in a shell with the action as its argument (gitcredentials(7)).
    """
    parts = urlsplit(forge_url)
    host = f"{parts.scheme}://{parts.netloc}"
    read = f'!f() {{ test "$1" = get && cat {shlex.quote(str(path))}; }}; f'
    return {
        "credential.helper": "",
        f"credential.{host}.helper": read,
        f"http.{host}.proactiveAuth": "basic",  # git 2.46: else ~/.netrc comes first
    }
