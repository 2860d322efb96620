"""Words and texts as unit files want them (systemd.syntax(7), systemd.service(5))."""


def word(text: str) -> str:
    """A word of a command line: % and $ doubled, the rest in quotes."""
    return quoted(plain(text).replace("$", "$$"))


def quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def plain(text: str) -> str:
    """A text in which % stands for itself."""
    return text.replace("%", "%%")
