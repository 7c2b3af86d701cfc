"""Webhooks: ``verify`` on the side of the receiver, ``sign_test_event`` for its tests."""

import hashlib
import hmac
import json
import re
import time
import uuid
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timezone
from typing import Any, Literal, NamedTuple, Protocol, cast

from . import _json
from .settings import fault_of_key
from .types import WebhookEvent

Mistake = Literal[
    "missing_header",
    "parsed_body",
    "reserialised",
    "malformed_secret",
    "prefix_stripped",
    "wrong_secret",
    "clock",
]
"""What is wrong with a webhook, or with the code that verifies it.

``missing_header``: a header of the signature is missing or malformed: the request does not come from the service.
``parsed_body``: the body was parsed before it was verified: the signature is that of the raw bytes.
``reserialised``: the body was parsed and serialised again.
``malformed_secret``: the secret has white space or quotes around it, or is not one secret.
``prefix_stripped``: the secret is used without its ``whsec_``.
``wrong_secret``: no secret fits: it is another endpoint's or environment's, or the request is forged.
``clock``: the signature is right and the time is more than 300 s away: a replay, or a clock that is wrong.
"""

TOLERANCE_SECONDS = 300
"""Source: the specification."""

_PREFIX = "whsec_"
_MOST_PARSED_CHARACTERS = 64 * 1024
"""No event is longer: a longer body without a valid signature is not parsed."""
_TIMESTAMP = re.compile("[0-9]{1,12}")
_SIGNATURE = re.compile("[0-9a-f]{64}")
# The service writes TEST events with odd spaces, which no serialiser keeps.
_RESERIALISED_TEST = re.compile(r'\{\s?"event":\s?"TEST"')


class WebhookVerificationError(Exception):
    """A webhook that must not be believed. Answer it with 401. ``mistake`` names what is wrong."""

    def __init__(self, mistake: Mistake, message: str) -> None:
        super().__init__(message)
        self.mistake: Mistake = mistake


class Headers(Protocol):
    """The headers of any framework, or a dictionary. Names are in any case; a value may be a list of one text."""

    def items(self) -> Iterable[tuple[str, str | Sequence[str]]]:
        """Names and values."""


class SignedEvent(NamedTuple):
    """A signed request, as the service sends it."""

    body: str
    headers: Mapping[str, str]


def _header(headers: Headers, name: str) -> str:
    found = next((value for one, value in headers.items() if one.lower() == name), "")
    # Function platforms give a list of the values of each header.
    if isinstance(found, (list, tuple)) and len(found) == 1:
        found = found[0]
    return found if isinstance(found, str) else ""


def _sign(secret: str, timestamp: str, body: bytes) -> str:
    signed = timestamp.encode() + b"." + body
    return hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest()


def _fits_any(signature: str, timestamp: str, body: bytes, secrets: Sequence[str]) -> bool:
    # Every secret is tried, so that the time does not tell which one fits.
    results = [
        hmac.compare_digest(_sign(secret, timestamp, body), signature) for secret in secrets
    ]
    return any(results)


def _shortest(number: str) -> int | float:
    """A number whose text is the one that JavaScript writes."""
    value = float(number)
    return int(value) if value.is_integer() and abs(value) < 1e21 else value


def _compact(text: str) -> bytes | None:
    """The body as the service serialises it; None if it is no JSON."""
    try:
        parsed = json.loads(text, parse_float=_shortest)
        return json.dumps(parsed, ensure_ascii=False, separators=(",", ":")).encode()
    except (ValueError, OverflowError, RecursionError):
        return None


def _fault_of_secret(secret: str) -> str | None:
    """What is wrong with the form of a secret: a real one has base64 behind its prefix."""
    if secret.startswith(_PREFIX + _PREFIX):
        return f"begins with {_PREFIX} twice"
    return fault_of_key(re.sub("[+/=-]", "_", secret))


def _mistake_of(
    signature: str, timestamp: str, body: bytes, secrets: Sequence[str]
) -> WebhookVerificationError:
    """Finds the mistake behind a signature that no secret fits."""
    stripped = [_PREFIX + secret for secret in secrets if not secret.startswith(_PREFIX)]
    if _fits_any(signature, timestamp, body, stripped):
        message = f"The secret must begin with {_PREFIX}: use it as the dashboard shows it"
        return WebhookVerificationError("prefix_stripped", message)
    fault = next(filter(None, map(_fault_of_secret, secrets)), None)
    if fault is not None:
        message = f"The secret {fault}: use it as the dashboard shows it"
        return WebhookVerificationError("malformed_secret", message)
    text = body.decode(errors="replace")
    other = None if len(text) > _MOST_PARSED_CHARACTERS else _compact(text)
    if _RESERIALISED_TEST.match(text) or (
        other is not None and _fits_any(signature, timestamp, other, secrets)
    ):
        message = "The body was parsed and serialised again: verify the bytes as they arrived"
        return WebhookVerificationError("reserialised", message)
    message = "No secret fits the signature: is it that of this endpoint and environment?"
    return WebhookVerificationError("wrong_secret", message)


def _raw_bytes(raw_body: object) -> bytes:
    if isinstance(raw_body, str):
        return raw_body.encode(errors="replace")
    if isinstance(raw_body, (bytes, bytearray, memoryview)):
        return bytes(raw_body)
    message = "The body must be the raw text or bytes: verify it before any middleware parses it"
    raise WebhookVerificationError("parsed_body", message)


def verify(
    raw_body: str | bytes | bytearray | memoryview,
    headers: Headers,
    secrets: str | Sequence[str],
    *,
    now: float | None = None,
) -> WebhookEvent:
    """Verifies a webhook and returns its event, whose amounts are Decimal.

    ``raw_body``: the body as it arrived: text or bytes.
    ``headers``: those of any framework, or a dictionary.
    ``secrets``: the secret of the endpoint; during a rotation the new and the old one.
    ``now``: the time to compare with, in seconds since 1970; the present one if absent.

    Raises WebhookVerificationError, which names the mistake; answer it with 401.
    """
    body = _raw_bytes(raw_body)
    timestamp = _header(headers, "x-service-timestamp")
    signature = _header(headers, "x-service-signature")
    if not _TIMESTAMP.fullmatch(timestamp) or not _SIGNATURE.fullmatch(signature):
        message = "X-Service-Timestamp or X-Service-Signature is missing or malformed"
        raise WebhookVerificationError("missing_header", message)
    given = [secrets] if isinstance(secrets, str) else secrets
    # An empty secret, such as that of an unset variable, would let everybody sign.
    usable = [secret for secret in given if secret != ""]
    if not _fits_any(signature, timestamp, body, usable):
        raise _mistake_of(signature, timestamp, body, usable)
    difference = abs(int(time.time() if now is None else now) - int(timestamp))
    if difference > TOLERANCE_SECONDS:
        message = f"The webhook was signed {difference} s away from this clock, at most {TOLERANCE_SECONDS} are allowed"
        raise WebhookVerificationError("clock", message)
    return cast(WebhookEvent, _json.loads(body))


def sign_test_event(
    event: Mapping[str, Any], secret: str, *, now: float | None = None
) -> SignedEvent:
    """Signs an event as the service does, for tests of your own handler.

    ``event``: at least its type: ``{'event': 'ORDER_COMPLETED'}``. What else it has replaces the default.
    ``now``: the time of the signature, in seconds since 1970; the present one if absent.
    """
    seconds = time.time() if now is None else now
    moment = datetime.fromtimestamp(seconds, timezone.utc)
    whole: dict[str, Any] = {
        "event_id": f"evt_test_{uuid.uuid4()}",
        "sequence": 0,
        "timestamp": moment.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "environment": "sandbox",
        **event,
    }
    body = _json.dumps(whole)
    timestamp = str(int(seconds))
    headers = {
        "content-type": "application/json",
        "x-service-event": str(whole["event"]),
        "x-service-event-id": str(whole["event_id"]),
        "x-service-timestamp": timestamp,
        "x-service-signature": _sign(secret, timestamp, body.encode()),
    }
    return SignedEvent(body, headers)
