"""The keys of a merchant in one environment."""

from typing import NamedTuple

from .errors import PayordersError
from .types import Environment

_PREFIXES: dict[Environment, tuple[str, str]] = {
    "sandbox": ("mk_test_", "sk_test_"),
    "production": ("mk_live_", "sk_live_"),
}


class Credentials(NamedTuple):
    """``api_key``: ``mk_test_…`` or ``mk_live_…``. ``api_secret``: ``sk_test_…`` or ``sk_live_…``."""

    environment: Environment
    api_key: str
    api_secret: str


def assert_environment(credentials: Credentials) -> None:
    """Raises PayordersError ``WRONG_ENVIRONMENT`` for keys of the other environment, before any request."""
    key, secret = _PREFIXES[credentials.environment]
    wrong = []
    if not credentials.api_key.startswith(key):
        wrong.append(f"the API key does not begin with {key}")
    if not credentials.api_secret.startswith(secret):
        wrong.append(f"the API secret does not begin with {secret}")
    if wrong:
        message = f"These are no credentials of the {credentials.environment}: {', '.join(wrong)}"
        raise PayordersError(message, status=0, code="WRONG_ENVIRONMENT")
