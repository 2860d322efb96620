"""How long things take in this process, as histograms: `/metrics` shows them beside the numbers of the database."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Histogram

REGISTRY = CollectorRegistry()

INTAKE = Histogram(
    "fordjent_intake_latency_seconds",
    "From the first byte of a delivery to its answer: it is on disk by then.",
    buckets=(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5),
    registry=REGISTRY,
)
MODEL = Histogram(
    "fordjent_llm_latency_seconds",
    "Of the attempt of a call that was answered.",
    ["provider", "model"],
    buckets=(0.5, 1, 2, 5, 10, 20, 40, 60, 120, 300),
    registry=REGISTRY,
)
TURN = Histogram(
    "fordjent_turn_seconds",
    "From one answer of the model to the next: the tools that it called, and asking again.",
    buckets=(1, 2, 5, 10, 30, 60, 120, 300, 600, 1800),
    registry=REGISTRY,
)
