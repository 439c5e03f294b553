"""Numbers and data as text a person reads."""

import math
from collections.abc import Sequence
from numbers import Integral, Real
from typing import NamedTuple

MINUS = "−"
_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
# a control character is invisible or illegal in HTML: show its Unicode picture
_CONTROLS = {code: 0x2400 + code for code in range(32)} | {0x7F: 0x2421}


def nonfinite(value: float) -> str | None:
    """Word for a non-finite number, None for a finite one."""
    if math.isnan(value):
        return "not a number"
    if math.isinf(value):
        return "infinite" if value > 0 else "minus infinity"
    return None


def power(exponent: int) -> str:
    """10 to an integer power, with superscripts."""
    return "10" + str(exponent).translate(_SUPERSCRIPTS)


def _scientific(value: float, digits: int) -> str:
    mantissa, exponent = f"{value:.{digits - 1}e}".split("e")
    if "." in mantissa:
        mantissa = mantissa.rstrip("0").rstrip(".")
    return f"{mantissa} × {power(int(exponent))}"


def number(value: object, digits: int = 4) -> str:
    """Write a number with `digits` significant digits.

    Integers keep all their digits, text passes unchanged, None is "none" and
    non-finite numbers are words.
    """
    if value is None:
        return "none"
    if isinstance(value, bool) or not isinstance(value, Real):
        return str(value)
    if isinstance(value, Integral):
        return f"{int(value):,}".replace("-", MINUS)
    x = float(value)
    if word := nonfinite(x):
        return word
    if x == 0:
        return "0"
    if not 1e-3 <= abs(x) < 1e7:
        return _scientific(x, digits).replace("-", MINUS)
    decimals = max(0, digits - 1 - math.floor(math.log10(abs(x))))
    text = f"{x:,.{decimals}f}"
    if decimals:
        text = text.rstrip("0").rstrip(".")
    return text.replace("-", MINUS)


def figure(value: object) -> str:
    """Write a metric: shares with four decimals, as at the shell.

    Examples
    --------
    >>> figure(0.99109), figure(0.95), figure(1.0), figure(12.3456)
    ('0.9911', '0.9500', '1.0000', '12.35')
    """
    is_float = isinstance(value, Real) and not isinstance(value, Integral | bool)
    if not is_float or not abs(float(value)) <= 1:  # type: ignore[arg-type]
        return number(value)
    return f"{float(value):.4f}".replace("-", MINUS)  # type: ignore[arg-type]


def column(values: Sequence[object], digits: int = 4) -> list[str]:
    """Write the numbers of one table column with equal decimals, so that they align."""
    floats = [
        abs(float(v))
        for v in values
        if isinstance(v, Real)
        and not isinstance(v, Integral | bool)
        and math.isfinite(float(v))
    ]
    top = max(floats, default=0.0)
    if not 1e-3 <= top < 1e7:
        return [number(v, digits) for v in values]
    decimals = min(4, max(0, digits - 1 - math.floor(math.log10(top))))
    if top <= 1:  # shares, also where one of them is 1
        decimals = 4
    smallest = 0.5 * 10.0**-decimals

    def cell(v: object) -> str:
        is_float = isinstance(v, Real) and not isinstance(v, Integral | bool)
        if not is_float or nonfinite(float(v)):  # type: ignore[arg-type]
            return number(v, digits)
        x = float(v)  # type: ignore[arg-type]
        if x != 0 and abs(x) < smallest:
            return number(x, 2)
        return f"{x:,.{decimals}f}".replace("-", MINUS)

    return [cell(v) for v in values]


def signed(weight: float) -> str:
    """Write a weight with its sign and three decimals, so that weights align."""
    if word := nonfinite(weight):
        return word
    if not 1e-3 <= abs(weight) < 1e4:
        return number(float(weight), 2)
    return f"{weight:+.3f}".replace("-", MINUS)


def at_most_percent(ratio: float) -> str:
    """Write a ratio as a percentage, rounded up: a bound must stay a bound."""
    if ratio <= 0:
        return "0\u00a0%"
    percent = 100.0 * ratio
    if word := nonfinite(percent):
        return word
    step = 10.0 ** (math.floor(math.log10(percent)) - 1)
    # 1e-9: a ratio that is a round percentage must not gain a digit by rounding
    return f"{number(math.ceil(percent / step - 1e-9) * step, 2)}\u00a0%"


class Digits(NamedTuple):
    """A number cut into the digits that are certain and the rest."""

    certain: str
    rest: str


def bracket(lower: float, upper: float) -> tuple[Digits, Digits]:
    """Write two bounds with enough digits to tell them apart.

    Returns
    -------
    lower, upper : Digits
        The leading digits both bounds share are `certain`.
    """
    if nonfinite(lower) or nonfinite(upper):
        return Digits("", number(lower)), Digits("", number(upper))
    width = abs(upper - lower)
    scale = max(abs(lower), abs(upper))
    if width == 0 or scale == 0 or width / scale < 1e-13:
        return Digits(number(lower, 8), ""), Digits(number(upper, 8), "")
    if not 1e-4 <= scale < 1e12:
        return Digits("", number(lower, 6)), Digits("", number(upper, 6))
    decimals = max(0, 2 - math.floor(math.log10(width)))
    a, b = (f"{v:,.{decimals}f}".replace("-", MINUS) for v in (lower, upper))
    shared = 0
    # 9.9 and 10.1 share no digit although both start at the left
    if len(a) == len(b):
        while shared < len(a) and a[shared] == b[shared]:
            shared += 1
    return Digits(a[:shared], a[shared:]), Digits(b[:shared], b[shared:])


def visible(text: object, limit: int = 120) -> str:
    """Text of the data: controls made visible, at most `limit` characters."""
    shown = str(text)
    if len(shown) > limit:
        shown = shown[: limit - 1] + "…"
    return shown.translate(_CONTROLS)


def count(n: int, noun: str, plural: str = "") -> str:
    """Write "1 token", "2 tokens"."""
    return f"{number(n)} {noun if n == 1 else plural or noun + 's'}"
