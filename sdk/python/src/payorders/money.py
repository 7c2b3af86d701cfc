"""Amounts in rupees and paise, without floating point."""

import re
from decimal import Decimal

Rupees = Decimal | int | float | str
"""An amount in rupees that a caller gives: ``Decimal('499.50')``, ``'499.50'``, ``499.5`` or ``499``."""

_RUPEES = re.compile(r"([0-9]{1,13})(?:\.([0-9]{1,2})0*)?")
_MOST_PAISE = 2**53 - 1
"""Above it, JSON of other languages is not exact."""


def to_paise(rupees: Rupees) -> int:
    """The paise of an amount in rupees, exactly: ``to_paise(499.5)`` and ``to_paise('499.50')`` are 49950.

    Raises ValueError for a negative amount, more than two decimals or no number.
    """
    text = format(rupees, "f") if isinstance(rupees, Decimal) else str(rupees)
    match = _RUPEES.fullmatch(text)
    if match is None:
        raise ValueError(f"{rupees} is no amount in rupees with at most two decimals")
    paise = int(match[1] + (match[2] or "").ljust(2, "0"))
    if paise > _MOST_PAISE:
        raise ValueError(f"{rupees} is too large")
    return paise


def format_paise(paise: int) -> str:
    """The rupees of an amount in paise, with two decimals: ``format_paise(49950)`` is ``'499.50'``.

    Raises ValueError for a negative amount.
    """
    if not 0 <= paise <= _MOST_PAISE:
        raise ValueError(f"{paise} is no amount in paise")
    return f"{paise // 100}.{paise % 100:02}"
