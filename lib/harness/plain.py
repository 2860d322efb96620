"""Texts of others on a terminal."""


def plain(text: str) -> str:
    """Text from issues and agents without control characters, so that it cannot steer a terminal."""
    return "".join(c if c.isprintable() or c in "\n\t" else "\N{REPLACEMENT CHARACTER}" for c in text)
