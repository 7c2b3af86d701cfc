"""How long the client waits between the attempts of one call."""

import random
import re
import time
from collections.abc import Callable
from datetime import timezone
from email.utils import parsedate_to_datetime

_WHOLE_SECONDS = re.compile("[0-9]+")
_MOST_SECONDS = 60.0
"""A wait is never longer, whatever a proxy asks for: the caller waits, too."""


def _asked_seconds(retry_after: str | None) -> float:
    """What ``Retry-After`` asks for: seconds or a date; 0 without it."""
    if retry_after is None:
        return 0
    if _WHOLE_SECONDS.fullmatch(retry_after):
        return float(retry_after)
    try:
        moment = parsedate_to_datetime(retry_after)
        in_zone = moment if moment.tzinfo else moment.replace(tzinfo=timezone.utc)
        return in_zone.timestamp() - time.time()
    except (ValueError, TypeError, IndexError, OverflowError):
        return 0


def retry_delay_seconds(
    retry: int, retry_after: str | None, draw: Callable[[], float] = random.random
) -> float:
    """The wait before a retry, in seconds: 1, 2, 4, 8 s, less up to a quarter, or what the service asks for.

    It is at most a minute.
    ``retry``: 0 for the first one.
    ``retry_after``: the header ``Retry-After``.
    ``draw``: a number from 0 to 1.
    """
    own = 2.0 ** min(retry, 3) * (1 - draw() / 4)
    return min(_MOST_SECONDS, max(_asked_seconds(retry_after), own))
