"""The environment of an agent: a short list of the caller's variables, what config names, and ours.

Never among them: ways to push (SSH_AUTH_SOCK, forge tokens, GIT_*), and what another
agent or session left in ours.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from harness.errors import BadConfig
from harness.git import Person, config_environment

KEPT = frozenset(
    (
        "PATH",
        "HOME",
        "USER",
        "LOGNAME",
        "SHELL",
        "LANG",
        "LANGUAGE",
        "TERM",
        "TZ",
        "http_proxy",
        "https_proxy",
        "no_proxy",
        "all_proxy",
        "HTTP_PROXY",
        "HTTPS_PROXY",
        "NO_PROXY",
        "ALL_PROXY",
        "SSL_CERT_FILE",
        "SSL_CERT_DIR",
        "CURL_CA_BUNDLE",
        "REQUESTS_CA_BUNDLE",
        "NODE_EXTRA_CA_CERTS",
    )
)
"""What passes from the caller, besides LC_*."""

REFUSED = re.compile(
    r"GIT_.*|SSH_.*|ENT_.*|(?:GH|GITHUB|GITLAB|GITEA|FORGEJO|CODEBERG|BITBUCKET)_(?:.*_)?(?:TOKEN|PAT|PASSWORD)|CI_JOB_TOKEN"
)
"""Never from the caller, also when config or an adapter names it."""

FALLBACK_PATH = "/usr/local/bin:/usr/bin:/bin"


def inherited(caller: Mapping[str, str], names: Iterable[str], key: str) -> dict[str, str]:
    """The caller's variables that an agent may see: the kept ones and `names`, where they are set.

    Raises:
        BadConfig: a name that is never passed; `key` says where it was given.
    """
    wanted = list(names)
    for name in wanted:
        if REFUSED.fullmatch(name):
            raise BadConfig(
                f"{key}: {name} is never passed to an agent",
                hint="it could push, or act in your name; give a value on purpose with [agent_environment] set",
            )
    chosen = {
        name: value
        for name, value in caller.items()
        if name in KEPT or name.startswith("LC_") or name in wanted
    }
    chosen.setdefault("PATH", FALLBACK_PATH)
    return chosen | _locale(chosen)


def own(
    *, person: Person, folders: Iterable[Path], temporary: Path, hooks: Path | None = None
) -> dict[str, str]:
    """What we set: who commits, no prompts and no editors, no way up out of `folders`, a TMPDIR.

    `hooks`: a folder of hooks that run instead of the repository's.
    """
    settings = {
        "user.name": person.name,
        "user.email": person.email,
        "commit.gpgSign": "false",  # the key that signs is the outer loop's
        "tag.gpgSign": "false",
        "credential.helper": "",
        "gc.auto": "0",
        "maintenance.auto": "false",
        "advice.detachedHead": "false",
    }
    if hooks:
        settings["core.hooksPath"] = str(hooks)
    return {
        "TMPDIR": str(temporary),
        "EDITOR": "true",
        "VISUAL": "true",
        "PAGER": "cat",
        "GIT_EDITOR": "true",
        "GIT_PAGER": "cat",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_ASKPASS": "/bin/false",
        "SSH_ASKPASS": "/bin/false",
        "GIT_SSH_COMMAND": "ssh -F /dev/null -oBatchMode=yes -oIdentityAgent=none -oIdentityFile=/dev/null",
        "GIT_LFS_SKIP_SMUDGE": "1",
        "GIT_CEILING_DIRECTORIES": ":".join(str(folder) for folder in folders),
        **config_environment(settings),
    }


def _locale(chosen: Mapping[str, str]) -> dict[str, str]:
    """UTF-8, where the caller (cron) has no locale or the C one."""
    given = chosen.get("LC_ALL") or chosen.get("LC_CTYPE") or chosen.get("LANG") or "C"
    if given in ("C", "POSIX"):
        return {"LC_ALL": "C.UTF-8"} if chosen.get("LC_ALL") else {"LANG": "C.UTF-8", "LC_CTYPE": "C.UTF-8"}
    return {}
