"""How long the client waits between the attempts of one call."""

import random
import re
from collections.abc import Callable

_WHOLE_SECONDS = re.compile("[0-9]{1,9}")


def retry_delay_seconds(
    retry: int, retry_after: str | None, draw: Callable[[], float] = random.random
) -> float:
    """The wait before a retry, in seconds: 1, 2, 4, 8 s, less up to a quarter, or what the service asks for.

    ``retry``: 0 for the first one.
    ``retry_after``: the header ``Retry-After``.
    ``draw``: a number from 0 to 1.
    """
    asked = int(retry_after) if retry_after and _WHOLE_SECONDS.fullmatch(retry_after) else 0
    own = 2.0 ** min(retry, 3)
    return max(float(asked), own * (1 - draw() / 4))
