"""The calls of the API, which both clients send."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar
from urllib.parse import quote

from .types import Order, Page

Result = TypeVar("Result")


@dataclass(frozen=True)
class Call(Generic[Result]):
    """One call; ``path`` is below the base path. Values of ``query`` and ``body`` that are None are not sent."""

    method: Literal["GET", "POST"]
    path: str
    query: Mapping[str, str | int | None] | None = None
    body: Mapping[str, Any] | None = None
    idempotency_key: str | None = None
    shows_replay: bool = False
    """Adds ``replayed`` to its data: whether an earlier call with the key has the result."""

    def result_of(self, data: Any) -> Result:
        """The ``data`` of the response."""
        result: Result = data
        return result


class PageCall(Call[Page[Result]]):
    """A call whose response is a page."""

    def result_of(self, data: Any) -> Page[Result]:
        return Page(content=data["content"], next=data["next"])


def path_of(collection: str, name: str, rest: str = "") -> str:
    """``/orders/ORD1/cancel``: one of a collection by its number, id or date, and what follows."""
    return f"/{collection}/{quote(name, safe='')}{rest}"


def command(
    order_number: str, rest: str, body: Mapping[str, str | None], key: str | None
) -> Call[Order]:
    """A call that changes an order, such as ``/cancel``."""
    return Call("POST", path_of("orders", order_number, rest), body=body, idempotency_key=key)


def sandbox_call(
    order_number: str, helper: str, body: Mapping[str, str | int] | None = None
) -> Call[Order]:
    """A test helper of the sandbox, such as ``pay``."""
    path = path_of("orders", order_number, f"/{helper}")
    return Call("POST", f"/test-helpers{path}", body=body)
