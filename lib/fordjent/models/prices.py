"""What tokens cost, in whole micro-dollars: as configured, else by the `genai-prices` list."""

from __future__ import annotations

import math

from fordjent.config import Provider
from fordjent.models.messages import Usage


def cost_microdollars(provider: Provider, model: str, usage: Usage) -> int:
    """Rounded up. 0: no price is known, neither of `model`, which answered, nor of the one asked for."""
    if provider.input_usd_per_million or provider.output_usd_per_million:
        cached = provider.cached_usd_per_million or provider.input_usd_per_million
        per_million = (  # dollars per million tokens are micro-dollars per token
            (usage.tokens_in - usage.tokens_cached) * provider.input_usd_per_million
            + usage.tokens_cached * cached
            + usage.tokens_out * provider.output_usd_per_million
        )
        return math.ceil(round(per_million, 6))
    return next(
        (cost for name in (model, provider.model) if (cost := _listed(name, usage)) is not None),
        0,
    )


def is_known(provider: Provider) -> bool:
    """Whether its model's tokens have a price, configured or listed."""
    configured = provider.input_usd_per_million or provider.output_usd_per_million
    return bool(configured) or _listed(provider.model, Usage(tokens_in=1, tokens_out=1)) is not None


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
