"""The templates of prompts/, rendered. The user's prompts_dir overrides them by name.

What comes from issues, people and repositories is put into a template by `data` (a fence
that the text cannot close) or `line` (one line without control characters), never bare.
"""

from __future__ import annotations

import contextlib
import re
import shlex
import traceback
import unicodedata
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from harness import cutting, shipped
from harness.errors import BadConfig

if TYPE_CHECKING:
    from jinja2 import Environment

DATA_CHARACTERS = 30_000
LINE_CHARACTERS = 300

_BIDIRECTIONAL = dict.fromkeys([*range(0x202A, 0x202F), *range(0x2066, 0x206A), 0x200E, 0x200F])


class Settings(Protocol):
    """What of a configuration matters here."""

    @property
    def path(self) -> Path: ...

    @property
    def prompts_dir(self) -> str: ...

    def folder(self, value: str) -> Path: ...


def render(config: Settings, template: str, **values: Any) -> str:
    """A template of that name (`task.md.j2`) with these values.

    Raises:
        BadConfig: it is missing or wrong; names file and line.
    """
    import jinja2

    try:
        return _environment(config).get_template(template).render(values)
    except jinja2.TemplateSyntaxError as error:
        raise BadConfig(f"{error.filename or template}:{error.lineno}: {error.message}") from error
    except jinja2.TemplateNotFound as error:
        raise BadConfig(f"there is no prompt template {error.name!r}") from error
    except jinja2.TemplateError as error:
        frame = traceback.extract_tb(error.__traceback__)[-1]
        raise BadConfig(f"{frame.filename}:{frame.lineno}: {error.message}") from error


def data(text: str, characters: int = DATA_CHARACTERS) -> str:
    """Foreign text between two lines of tildes, more of them than it has in a row anywhere."""
    plain = clean(text)
    kept = cutting.beginning(plain, characters)
    cut = "" if kept == plain else f"\n[{len(plain) - len(kept)} more characters are left out here]"
    plain = kept.rstrip("\n") + cut
    longest = max((len(run) for run in re.findall("~+", plain)), default=0)
    fence = "~" * max(4, longest + 1)
    return f"{fence}\n{plain}\n{fence}"


def line(text: str, characters: int = LINE_CHARACTERS) -> str:
    """Foreign text as part of one line."""
    words = " ".join(clean(text).split())
    return words if len(words) <= characters else f"{cutting.beginning(words, characters).rstrip()}…"


def clean(text: str) -> str:
    """Without control characters but line feed and tab, and without what turns the writing direction."""
    plain = re.sub(r"\r\n?|[\x0b\x0c\x85\u2028\u2029]", "\n", text).translate(_BIDIRECTIONAL)
    kept = (c for c in plain if c in "\n\t" or unicodedata.category(c) not in ("Cc", "Cs"))
    return "".join(kept)


def compile_shipped() -> None:
    """Have the templates of prompts/ itself compiled in this process, for one that others are forked from.

    What is wrong with one is said where it is used.
    """
    import jinja2

    environment = _environment_of(str(shipped.folder("prompts")))
    for name in environment.list_templates(filter_func=lambda name: "/" not in name):
        with contextlib.suppress(jinja2.TemplateError, OSError):
            environment.get_template(name)


def _environment(config: Settings) -> Environment:
    own = (str(_own_folder(config)),) if config.prompts_dir else ()
    return _environment_of(*own, str(shipped.folder("prompts")))


@cache
def _environment_of(*folders: str) -> Environment:
    """It keeps what it has compiled, and looks whether a file has changed since."""
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(folders),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
    )
    environment.filters |= {"data": data, "line": line, "shell": lambda text: shlex.quote(line(text))}
    return environment


def _own_folder(config: Settings) -> Path:
    folder = config.folder(config.prompts_dir)
    if not folder.is_dir():
        raise BadConfig(f"{config.path}: prompts_dir: {folder} is no folder")
    return folder
