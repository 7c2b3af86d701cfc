"""The one error of the client."""

from collections.abc import Mapping
from typing import Any

RETRYABLE = frozenset({429, 500, 502, 503, 504})
"""Statuses after which the same request may succeed. Source: the specification; 503 and 504 are those of proxies, and
so is a success without JSON.
"""


class PayordersError(Exception):
    """Every error of the client.

    ``status``: the HTTP status; 0 if there was no response.
    ``code``: the word of ``X-Error-Code``, such as ``INVALID_STATE``; or, of this client, ``NO_RESPONSE``,
    ``IDEMPOTENCY_KEY_MISMATCH`` (the key was used with another body, whose result stands), ``WRONG_ENVIRONMENT``, and
    ``MALFORMED_CREDENTIALS``, ``MALFORMED_BASE_URL`` and ``MALFORMED_IDEMPOTENCY_KEY``, which cost no request.
    ``fields``: the violation of each invalid field.
    ``request_id``: for the operator of the service.
    ``is_retryable``: whether the same request may succeed later. The client has already retried it.
    """

    def __init__(
        self,
        message: str,
        *,
        status: int,
        code: str,
        fields: Mapping[str, str] | None = None,
        request_id: str | None = None,
        is_retryable: bool = False,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.fields: Mapping[str, str] = dict(fields or {})
        self.request_id = request_id
        self.is_retryable = is_retryable


def _header(headers: Mapping[str, str], name: str) -> str | None:
    return next((value for one, value in headers.items() if one.lower() == name), None)


def _first_text(*values: object) -> str | None:
    return next((value for value in values if isinstance(value, str)), None)


def error_of(status: int, headers: Mapping[str, str], body: Any) -> PayordersError:
    """The error of a response, whose parsed body may be any of the three that the service has, or none."""
    json: Mapping[str, Any] = body if isinstance(body, dict) else {}
    text = _first_text(json.get("message"), json.get("error")) or f"The service answered {status}"
    given = json.get("validationErrors")
    fields = given if isinstance(given, dict) else {}
    violations = ", ".join(f"{name} {violation}" for name, violation in fields.items())
    return PayordersError(
        f"{text}: {violations}" if violations else text,
        status=status,
        code=_header(headers, "x-error-code") or f"HTTP_{status}",
        fields=fields,
        request_id=_header(headers, "x-request-id"),
        is_retryable=status in RETRYABLE or 200 <= status < 300,
    )
