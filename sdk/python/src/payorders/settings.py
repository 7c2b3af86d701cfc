"""What a client is given: keys, an address, idempotency keys. Mistakes are named before any request."""

import re
from typing import NamedTuple
from urllib.parse import urlsplit

from .errors import PayordersError
from .types import Environment

# What texts are often pasted with: white space, invisible characters and quotes.
_AROUND = re.compile("[\\s\u200b-\u200d\u2060\ufeff\"'`“”‘’]")
_CHARACTERS = re.compile("[A-Za-z0-9_]+")
_URL = re.compile(r"https?://[^\s\x00-\x1f\x7f]+")
_LOOPBACK = re.compile(r"localhost|127\.[0-9.]+|::1")
_IDEMPOTENCY_KEY = re.compile("[!-~]{1,255}")

_PREFIXES: dict[Environment, tuple[str, str]] = {
    "sandbox": ("mk_test_", "sk_test_"),
    "production": ("mk_live_", "sk_live_"),
}
_BASE_PATHS: dict[Environment, str] = {
    "sandbox": "/sandbox/api/merchant/v1",
    "production": "/api/merchant/v1",
}


class Credentials(NamedTuple):
    """``api_key``: ``mk_test_…`` or ``mk_live_…``. ``api_secret``: ``sk_test_…`` or ``sk_live_…``."""

    environment: Environment
    api_key: str
    api_secret: str


def refusal(code: str, message: str) -> PayordersError:
    """An error that cost no request."""
    return PayordersError(message, status=0, code=code)


def fault_of_key(text: str) -> str | None:
    """What is wrong with the form of a key or a secret. The text itself is never part of it."""
    # None, such as that of an unset variable, is no text, but comes.
    if not text:
        return "is empty"
    if text[-1] in "\r\n":
        return "ends with a line break"
    if _AROUND.match(text[0]) or _AROUND.match(text[-1]):
        return "has white space or quotes around it"
    if not _CHARACTERS.fullmatch(text):
        return "has a character that none of its kind has"
    return None


def assert_credentials(credentials: Credentials) -> None:
    """Raises PayordersError ``MALFORMED_CREDENTIALS`` or ``WRONG_ENVIRONMENT``, without the keys."""
    environment, api_key, api_secret = credentials
    key_prefix, secret_prefix = _PREFIXES[environment]
    named = (("API key", api_key, key_prefix), ("API secret", api_secret, secret_prefix))
    faults = ((name, fault_of_key(text)) for name, text, _ in named)
    malformed = [f"the {name} {fault}" for name, fault in faults if fault is not None]
    if malformed:
        raise refusal("MALFORMED_CREDENTIALS", ", ".join(malformed))
    wrong = [
        f"the {name} does not begin with {prefix}"
        for name, text, prefix in named
        if not text.startswith(prefix)
    ]
    if wrong:
        message = f"These are no credentials of the {environment}: {', '.join(wrong)}"
        raise refusal("WRONG_ENVIRONMENT", message)


def _fault_of_url(text: str, environment: Environment) -> str | None:
    try:
        url = urlsplit(text)
        # It raises ValueError for what is no port.
        _ = url.port
    except ValueError:
        return "must begin with https:// and a host"
    if not _URL.fullmatch(text) or not url.hostname:
        return "must begin with https:// and a host"
    if "@" in url.netloc:
        return "must not contain a user or password"
    if "?" in text or "#" in text:
        return "must not contain a query or fragment"
    if "/api/merchant/" in f"{url.path}/":
        return "must not contain the base path of the API"
    is_safe = url.scheme == "https" or _LOOPBACK.fullmatch(url.hostname) is not None
    return "must be https in production" if environment == "production" and not is_safe else None


def base_of(base_url: str, environment: Environment) -> str:
    """The URL before every path. Raises PayordersError ``MALFORMED_BASE_URL``."""
    # None, such as that of an unset variable, is no text, but comes.
    fault = _fault_of_url(base_url or "", environment)
    if fault is not None:
        raise refusal("MALFORMED_BASE_URL", f"The base URL {fault}")
    return base_url.rstrip("/") + _BASE_PATHS[environment]


def assert_idempotency_key(key: str) -> None:
    """Raises PayordersError ``MALFORMED_IDEMPOTENCY_KEY``."""
    if not _IDEMPOTENCY_KEY.fullmatch(key):
        message = "An idempotency key has 1 to 255 visible ASCII characters"
        raise refusal("MALFORMED_IDEMPOTENCY_KEY", message)
