"""Templates to HTML: escaped, and under a policy that lets a browser load and run nothing but ours."""

from __future__ import annotations

import secrets
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from starlette.responses import HTMLResponse

from harness.pages import plots, shown

if TYPE_CHECKING:
    from jinja2 import Environment

POLICY = (
    "default-src 'none'; style-src 'nonce-{nonce}'; script-src 'nonce-{nonce}'; connect-src 'self'; img-src data:; "
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class Pages:
    """The templates of `folder` over those beside this file; `values` are there in each of them.

    `name`: of the system, in each page's head. `links`: of the navigation, path and words.
    """

    def __init__(self, folder: Path, name: str, links: tuple[tuple[str, str], ...], **values: Any) -> None:
        self._environment = _environment(folder)
        self._environment.globals |= {"system": name, "links": links, **values}

    def page(self, template: str, *, status: int = 200, **values: Any) -> HTMLResponse:
        nonce = secrets.token_urlsafe(18)
        html = self._environment.get_template(template).render(values, nonce=nonce)
        headers = HEADERS | {"Content-Security-Policy": POLICY.format(nonce=nonce)}
        return HTMLResponse(html, status_code=status, headers=headers)


def _environment(folder: Path) -> Environment:
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader([folder, Path(__file__).parent]),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        finalize=shown.as_text,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "ago": shown.ago,
        "bytes": shown.byte_size,
        "count": shown.count,
        "dollars": shown.dollars,
        "length_of": shown.length,
        "moment": shown.moment,
        "moment_of": shown.moment_of,
    }
    environment.globals |= {
        "bars": plots.bars,
        "meter": plots.meter,
        "shares": plots.shares,
        "number": partial(plots.number, "count"),
        "money": partial(plots.number, "dollars"),
    }
    return environment
