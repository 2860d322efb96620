"""Providers for tests: as impatient as can be, and a configuration around them."""

from __future__ import annotations

from typing import Any

import msgspec

from fordjent.config import Config, Provider

IMPATIENT: dict[str, Any] = {
    "model": "stand-in",
    "api_key": "sk-stand-in-key-1",
    "timeout": "5s",
    "retry_base_delay": "2ms",
    "retry_max_delay": "10ms",
    "max_retries": 3,
    "max_tokens": 1000,
    "input_usd_per_million": 1.0,
    "output_usd_per_million": 2.0,
}


def provider(url: str, **more: Any) -> Provider:
    return msgspec.convert({**IMPATIENT, "base_url": url, **more}, Provider)


def configured(providers: dict[str, Provider], **more: Any) -> Config:
    """A configuration with these providers."""
    document = {
        "webhook": {"secret": "a-secret-for-tests"},
        "forgejo": {"url": "http://127.0.0.1:1", "token": "token-for-tests"},
        "providers": {name: msgspec.to_builtins(one) for name, one in providers.items()},
        **more,
    }
    return msgspec.convert(document, Config)
