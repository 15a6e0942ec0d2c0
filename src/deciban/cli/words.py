"""Words as users type them in options, and as messages quote them."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterable

from deciban.exceptions import InputError

_STEERING = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)


def neutralize(text: str) -> str:
    """Text that cannot steer a terminal: control characters are spelled out as in JSON."""
    return _STEERING.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def shorten(text: str, most: int = 100) -> str:
    """The text, without its middle where it is longer than ``most`` characters."""
    if len(text) <= most:
        return text
    tail = most // 4
    return f"{text[: most - tail - 1]}…{text[len(text) - tail :]}"


def quote(value: object) -> str:
    """The value in quotation marks, short enough for a sentence."""
    return shorten(repr(value))


def name_source(source: str) -> str:
    """File name for messages; ``-`` is standard input."""
    return "standard input" if source == "-" else source


def count(n: int, noun: str) -> str:
    """A number and its noun, in the plural unless there is one."""
    return f"{n:,} {noun}{'s' * (n != 1)}"


def one_of_such(n: int) -> str:
    """Text to add after naming the first among ``n`` cases."""
    return f", one of {n:,} such" if n > 1 else ""


def suggest(word: str, words: Iterable[str]) -> str:
    """A question that names the word that was probably meant, or nothing."""
    by_folded = {other.casefold(): other for other in words}
    close = difflib.get_close_matches(word[:200].casefold(), by_folded, n=1)
    return f" Did you mean {quote(by_folded[close[0]])}?" if close else ""


def require_choice(word: str, option: str, choices: Collection[str]) -> None:
    if word not in choices:
        hint = suggest(word, choices) or " Choose one of them."
        raise InputError(f"{option} must be one of {', '.join(choices)}; got {quote(word)}.{hint}")


def join_words(words: Iterable[object], most: int = 12) -> str:
    """Words separated by commas; only the first ones where there are many."""
    every = [shorten(str(word), 60) for word in words]
    return ", ".join(every[:most]) + (f", … ({len(every)} in all)" if len(every) > most else "")


def split(text: str, at: str = ",") -> list[str]:
    """Parts separated by commas or another character; double quotes protect their content."""
    parts, within = [""], False
    for character in text:
        within ^= character == '"'
        if character == at and not within:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts]


def unquote(text: str) -> str:
    """A name without the double quotes around it."""
    text = text.strip()
    if len(text) > 1 and text[0] == text[-1] == '"':
        return text[1:-1].replace('""', '"')
    return text


def quote_name(name: object) -> str:
    """A name as typed in a list, quoted if needed."""
    text = shorten(str(name))
    plain = not any(character in text for character in ',"=>') and text == text.strip()
    return text if plain and text else '"' + text.replace('"', '""') + '"'


def split_names(text: str) -> list[str]:
    """Names separated by commas; names with commas are in double quotes."""
    return [unquote(part) for part in split(text)]
