"""The attempts of a call: their requests, their outcomes, and which one is the last."""

import uuid
from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import Any, NamedTuple, TypeVar
from urllib.parse import urlencode

import httpx

from . import _json
from .calls import Call
from .errors import PayordersError, error_of
from .retries import retry_delay_seconds
from .settings import Credentials, assert_credentials, assert_idempotency_key, base_of, refusal

Result = TypeVar("Result")
Sleep = Callable[[float], None]
AsyncSleep = Callable[[float], Awaitable[None]]
"""A wait, in seconds."""

UNANSWERED = (httpx.RequestError, httpx.InvalidURL)
_NEVER_SENT = (httpx.LocalProtocolError, httpx.UnsupportedProtocol, httpx.InvalidURL)
"""Requests that cannot be sent: no repetition helps."""


class Failed(NamedTuple):
    """An attempt without a result."""

    error: PayordersError
    retry_after: str | None = None


def _json_of(response: httpx.Response) -> Any:
    """The JSON of a response; None if it has none, such as a proxy's."""
    try:
        return _json.loads(response.content)
    except (ValueError, RecursionError):
        return None


def outcome_of(call: Call[Result], response: httpx.Response) -> Result | Failed:
    """The result or the failure of an answered attempt. Raises PayordersError ``IDEMPOTENCY_KEY_MISMATCH``."""
    body = _json_of(response)
    if not response.is_success or not isinstance(body, dict):
        error = error_of(response.status_code, response.headers, body)
        return Failed(error, response.headers.get("Retry-After"))
    if response.headers.get("Idempotency-Key-Mismatch") == "true":
        raise PayordersError(
            "The idempotency key was used before with another body, whose result stands",
            status=response.status_code,
            code="IDEMPOTENCY_KEY_MISMATCH",
            request_id=response.headers.get("X-Request-Id"),
        )
    data = body.get("data")
    if call.shows_replay and isinstance(data, dict):
        data = {**data, "replayed": response.headers.get("Idempotent-Replayed") == "true"}
    return call.result_of(data)


def _texts_of(error: BaseException | None) -> Iterator[str]:
    """The texts of an error and of all that led to it, which a traceback shows."""
    while error is not None:
        yield repr(error) + str(error)
        error = error.__cause__ or error.__context__


def _given(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


class Attempts:
    """Builds the requests, and decides which attempt is the last."""

    def __init__(self, credentials: Credentials, base_url: str, max_retries: int) -> None:
        assert_credentials(credentials)
        self._base = base_of(base_url, credentials.environment)
        try:
            httpx.URL(self._base)
        except httpx.InvalidURL:
            message = "The base URL must begin with https:// and a host"
            raise refusal("MALFORMED_BASE_URL", message) from None
        self._hidden = credentials.api_key, credentials.api_secret
        self._headers = {
            "X-API-Key": credentials.api_key,
            "X-API-Secret": credentials.api_secret,
        }
        self._max_retries = max_retries

    def headers_of(self, call: Call[Any]) -> Mapping[str, str]:
        """The headers for all attempts of a call. One that changes something has one idempotency key."""
        headers = dict(self._headers)
        if call.body is not None:
            headers["Content-Type"] = "application/json"
        if call.method == "POST":
            key = str(uuid.uuid4()) if call.idempotency_key is None else call.idempotency_key
            assert_idempotency_key(key)
            headers["Idempotency-Key"] = key
        return headers

    def arguments_of(self, call: Call[Any]) -> dict[str, Any]:
        """What httpx is called with, for each attempt of a call."""
        content = None if call.body is None else _json.dumps(_given(call.body)).encode()
        query = urlencode(_given(call.query or {}))
        return {
            "method": call.method,
            "url": self._base + call.path + (f"?{query}" if query else ""),
            "headers": self.headers_of(call),
            "content": content,
            "follow_redirects": False,
        }

    def no_response(self, cause: Exception) -> Failed:
        """The failure of an attempt without a response. No key and no secret is part of its error."""
        text = str(cause) or type(cause).__name__
        for hidden in self._hidden:
            text = text.replace(hidden, "[hidden]")
        error = PayordersError(
            f"The service did not answer: {text}",
            status=0,
            code="NO_RESPONSE",
            is_retryable=not isinstance(cause, _NEVER_SENT),
        )
        # An error that quotes a header is not kept as the cause.
        if not any(hidden in shown for shown in _texts_of(cause) for hidden in self._hidden):
            error.__cause__ = cause
        return Failed(error)

    def delay_after(self, failed: Failed, retry: int) -> float:
        """The wait before the next attempt, in seconds. Raises the PayordersError after the last one."""
        if not failed.error.is_retryable or retry >= self._max_retries:
            raise failed.error
        return retry_delay_seconds(retry, failed.retry_after)
