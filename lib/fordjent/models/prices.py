"""What tokens cost, in whole micro-dollars: as configured, else by the `genai-prices` list."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping

from fordjent.config import Provider
from fordjent.models.messages import Usage
from fordjent.models.scripted import SCHEME


def cost_microdollars(provider: Provider, model: str, usage: Usage) -> int:
    """Rounded up. 0: it is free, or no price is known, neither of `model`, which answered, nor of the one asked for."""
    if _configured(provider):
        price_in, price_out = provider.input_usd_per_million or 0.0, provider.output_usd_per_million or 0.0
        cached = provider.cached_usd_per_million
        per_million = (  # dollars per million tokens are micro-dollars per token
            (usage.tokens_in - usage.tokens_cached) * price_in
            + usage.tokens_cached * (price_in if cached is None else cached)
            + usage.tokens_out * price_out
        )
        return math.ceil(round(per_million, 6))
    return next(
        (cost for name in (model, provider.model) if (cost := _listed(name, usage)) is not None),
        0,
    )


def is_known(provider: Provider) -> bool:
    """Whether its model's tokens have a price, those read and those written, configured or listed."""
    configured = _configured(provider)
    if configured:
        return all(price is not None for price in configured.values())
    return is_listed(provider.model)


@functools.cache
def is_listed(model: str) -> bool:
    return _listed(model, Usage(tokens_in=1, tokens_out=1)) is not None


def unknown(providers: Mapping[str, Provider]) -> list[str]:
    """The names of those whose calls no budget could count. A script costs nothing."""
    return [
        name
        for name, provider in providers.items()
        if not provider.base_url.startswith(SCHEME) and not is_known(provider)
    ]


def given_away(providers: Mapping[str, Provider]) -> list[str]:
    """The names of those whose models have a price in the list, but are configured to be free."""
    return [
        name
        for name, provider in providers.items()
        if (configured := _configured(provider))
        and not any(configured.values())
        and is_listed(provider.model)
    ]


def keys(name: str) -> str:
    """Where the price of a provider of that name is configured."""
    return f"providers.{name}.input_usd_per_million and providers.{name}.output_usd_per_million"


def _configured(provider: Provider) -> dict[str, float | None]:
    """Empty: neither of the two is."""
    found = {"input": provider.input_usd_per_million, "output": provider.output_usd_per_million}
    return found if any(price is not None for price in found.values()) else {}


def _listed(model: str, usage: Usage) -> int | None:
    import genai_prices

    counted = genai_prices.Usage(
        input_tokens=usage.tokens_in,
        output_tokens=usage.tokens_out,
        cache_read_tokens=usage.tokens_cached,
    )
    try:
        return math.ceil(genai_prices.calc_price(counted, model).total_price * 1_000_000)
    except LookupError:
        return None
