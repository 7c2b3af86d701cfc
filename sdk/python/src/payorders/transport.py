"""Sends the calls of a client, and repeats what may succeed later."""

import uuid
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, NamedTuple, TypeVar

import httpx

from . import _json
from .calls import Call
from .credentials import Credentials, assert_environment
from .errors import PayordersError, error_of
from .retries import retry_delay_seconds
from .types import Environment

Result = TypeVar("Result")

_BASE_PATHS: dict[Environment, str] = {
    "sandbox": "/sandbox/api/merchant/v1",
    "production": "/api/merchant/v1",
}


class _Failed(NamedTuple):
    """An attempt without a result."""

    error: PayordersError
    retry_after: str | None = None


def _json_of(response: httpx.Response) -> Any:
    """The JSON of a response; None if it has none, such as a proxy's."""
    try:
        return _json.loads(response.content)
    except (ValueError, RecursionError):
        return None


def _outcome(call: Call[Result], response: httpx.Response) -> Result | _Failed:
    """Raises PayordersError ``IDEMPOTENCY_KEY_MISMATCH``."""
    body = _json_of(response)
    if not response.is_success or not isinstance(body, dict):
        error = error_of(response.status_code, response.headers, body)
        return _Failed(error, response.headers.get("Retry-After"))
    if response.headers.get("Idempotency-Key-Mismatch") == "true":
        raise PayordersError(
            "The idempotency key was used before with another body, whose result stands",
            status=response.status_code,
            code="IDEMPOTENCY_KEY_MISMATCH",
            request_id=response.headers.get("X-Request-Id"),
        )
    return call.result_of(body.get("data"))


def _no_response(cause: httpx.RequestError) -> _Failed:
    message = f"The service did not answer: {cause or type(cause).__name__}"
    error = PayordersError(message, status=0, code="NO_RESPONSE", is_retryable=True)
    error.__cause__ = cause
    return _Failed(error)


class _Requests:
    """Builds the requests, and decides which attempt is the last."""

    def __init__(self, credentials: Credentials, base_url: str, max_retries: int) -> None:
        assert_environment(credentials)
        self._base = base_url.rstrip("/") + _BASE_PATHS[credentials.environment]
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
            key = call.idempotency_key
            headers["Idempotency-Key"] = str(uuid.uuid4()) if key is None else key
        return headers

    def arguments_of(self, call: Call[Any]) -> dict[str, Any]:
        content = None if call.body is None else _json.dumps(call.body).encode()
        return {
            "method": call.method,
            "url": self._base + call.path,
            "headers": self.headers_of(call),
            "content": content,
            "follow_redirects": False,
        }

    def delay_after(self, failed: _Failed, retry: int) -> float:
        """The wait before the next attempt, in seconds. Raises the PayordersError after the last one."""
        if not failed.error.is_retryable or retry >= self._max_retries:
            raise failed.error
        return retry_delay_seconds(retry, failed.retry_after)


class Transport(_Requests):
    """Sends calls one after the other."""

    def __init__(
        self,
        credentials: Credentials,
        base_url: str,
        max_retries: int,
        http: httpx.Client,
        sleep: Callable[[float], None],
    ) -> None:
        super().__init__(credentials, base_url, max_retries)
        self._http = http
        self._sleep = sleep

    def _attempt(self, call: Call[Result], arguments: dict[str, Any]) -> Result | _Failed:
        try:
            response = self._http.request(**arguments)
        except httpx.RequestError as error:
            return _no_response(error)
        return _outcome(call, response)

    def send(self, call: Call[Result]) -> Result:
        """The result of a call. Raises PayordersError."""
        arguments = self.arguments_of(call)
        retry = 0
        while True:
            outcome = self._attempt(call, arguments)
            if not isinstance(outcome, _Failed):
                return outcome
            self._sleep(self.delay_after(outcome, retry))
            retry += 1


class AsyncTransport(_Requests):
    """Sends calls of asyncio."""

    def __init__(
        self,
        credentials: Credentials,
        base_url: str,
        max_retries: int,
        http: httpx.AsyncClient,
        sleep: Callable[[float], Awaitable[None]],
    ) -> None:
        super().__init__(credentials, base_url, max_retries)
        self._http = http
        self._sleep = sleep

    async def _attempt(self, call: Call[Result], arguments: dict[str, Any]) -> Result | _Failed:
        try:
            response = await self._http.request(**arguments)
        except httpx.RequestError as error:
            return _no_response(error)
        return _outcome(call, response)

    async def send(self, call: Call[Result]) -> Result:
        """The result of a call. Raises PayordersError."""
        arguments = self.arguments_of(call)
        retry = 0
        while True:
            outcome = await self._attempt(call, arguments)
            if not isinstance(outcome, _Failed):
                return outcome
            await self._sleep(self.delay_after(outcome, retry))
            retry += 1
