"""JSON whose amounts are exact."""

import json
from decimal import Decimal
from typing import Any

_AMOUNTS = ("amount", "reversed_amount")


def _with_exact_amounts(parsed: dict[str, Any]) -> dict[str, Any]:
    for name in _AMOUNTS:
        value = parsed.get(name)
        if type(value) is int:
            parsed[name] = Decimal(value)
    return parsed


def loads(text: str | bytes) -> Any:
    """Parses JSON. Numbers with decimals, and all amounts, are Decimal.

    Raises ValueError for what is no JSON.
    """
    return json.loads(text, parse_float=Decimal, object_hook=_with_exact_amounts)


def _number(value: object) -> float:
    if isinstance(value, Decimal):
        # The shortest text of this float is the amount: at most 15 digits are exact.
        return float(value)
    raise TypeError(f"{type(value).__name__} is no JSON")


def dumps(value: object) -> str:
    """Writes compact JSON. Decimals become numbers.

    Raises TypeError for what has no JSON.
    """
    return json.dumps(value, default=_number, ensure_ascii=False, separators=(",", ":"))
