"""Names from the user's data, made fit to be shown: they must not steer a terminal, nor be read as markup."""


def printable(text: str) -> str:
    """The text with line breaks and control characters written out."""
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)


def shortened(text: str, most: int, ellipsis: str = "…") -> str:
    """The beginning of a text that is longer than allowed."""
    return text if len(text) <= most else f"{text[: most - len(ellipsis)]}{ellipsis}"


def shortened_inside(text: str, most: int) -> str:
    """Both ends of a text that is longer than allowed: names with the same beginning often differ at the end."""
    if len(text) <= most:
        return text
    end = most // 3
    return f"{text[: most - end - 1]}…{text[-end:]}"


def plotly_text(text: str, most: int = 36) -> str:
    """A short text for a figure. Plotly reads tags in text, so what looks like one is made harmless."""
    text = shortened_inside(printable(text), most)
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
