"""The log: text on a terminal, JSON lines otherwise, and no secret in any of them."""

from __future__ import annotations

import logging
import sys
from collections.abc import Mapping, MutableMapping
from contextlib import suppress
from typing import Any, TextIO, cast

import stamina
import structlog
from structlog.typing import Processor

from fordjent.config import Log
from harness.redaction import Redactor

QUIET = (
    "uvicorn",
    "httpx2",
    "httpcore2",
    "httpx",
    "httpcore",
    "openai",
    "sqlalchemy",
    "alembic",
    "sse_starlette",
)
"""Libraries that speak of each request: only their warnings are of interest."""


def begin(config: Log, redactor: Redactor, stream: TextIO = sys.stderr, *, verbose: bool = False) -> None:
    """Send everything that is logged in this process, by us and by libraries, to `stream`."""
    level = logging.DEBUG if verbose else logging.getLevelNamesMapping()[config.level.upper()]
    as_text = config.format == "text" or (config.format == "auto" and stream.isatty())
    shared: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True, key="at"),
        structlog.processors.StackInfoRenderer(),
        structlog.processors.format_exc_info,
        _Redaction(redactor),
    ]
    renderer: Processor = (
        structlog.dev.ConsoleRenderer(colors=stream.isatty(), timestamp_key="at")
        if as_text
        else structlog.processors.JSONRenderer(ensure_ascii=False)
    )
    structlog.configure(
        processors=[*shared, renderer],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.PrintLoggerFactory(cast(TextIO, _Lossy(stream))),
        cache_logger_on_first_use=False,
    )
    handler = logging.StreamHandler(cast(TextIO, _Lossy(stream)))
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, renderer],
        )
    )
    logging.basicConfig(handlers=[handler], level=level, force=True)
    stamina.instrumentation.set_on_retry_hooks([_tell_retry])
    for name in QUIET:
        logging.getLogger(name).setLevel(logging.WARNING)


def _tell_retry(details: stamina.instrumentation.RetryDetails) -> None:
    why = str(details.caused_by)
    structlog.get_logger().info("tried again", why=why, attempt=details.retry_num, seconds=details.wait_for)


class _Lossy:
    """A stream on a disk that may be full: a line that cannot be written must end nothing."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> None:
        with suppress(OSError):
            self._stream.write(text)

    def flush(self) -> None:
        with suppress(OSError):
            self._stream.flush()


class _Redaction:
    """Every value, before it is written in any way that would hide a secret's spelling."""

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor

    def __call__(
        self, _logger: Any, _method: str, event: MutableMapping[str, Any]
    ) -> MutableMapping[str, Any]:
        return {
            str(key): self._clean(value)
            for key, value in event.items()
            if key not in ("_record", "_from_structlog")
        } | {key: event[key] for key in ("_record", "_from_structlog") if key in event}

    def _clean(self, value: Any) -> Any:
        if value is None or isinstance(value, (bool, int, float)):
            return value
        if isinstance(value, Mapping):
            return {self._redactor.redact(str(key)): self._clean(one) for key, one in value.items()}
        if isinstance(value, (list, tuple, set, frozenset)):
            return [self._clean(one) for one in value]
        return self._redactor.redact(str(value))
