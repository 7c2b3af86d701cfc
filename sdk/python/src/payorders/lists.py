"""Lists that are read page by page."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Generic, TypeVar

from .types import Page

Item = TypeVar("Item")


def _next_of(page: Page[Item], after: str | None) -> str | None:
    # A page of a filtered list can be empty before the end; the cursor stays at the end.
    return None if page.next == after else page.next


class ItemList(Generic[Item]):
    """Every item of a list, one request after the other. ``page`` reads one page."""

    def __init__(self, read: Callable[[str | None], Page[Item]], after: str | None) -> None:
        self._read = read
        self._after = after

    def page(self) -> Page[Item]:
        """The page after the cursor that was given. Raises PayordersError."""
        return self._read(self._after)

    def __iter__(self) -> Iterator[Item]:
        after = self._after
        while True:
            page = self._read(after)
            yield from page.content
            after = _next_of(page, after)
            if after is None:
                return


class AsyncItemList(Generic[Item]):
    """Every item of a list, one request after the other. ``page`` reads one page."""

    def __init__(
        self, read: Callable[[str | None], Awaitable[Page[Item]]], after: str | None
    ) -> None:
        self._read = read
        self._after = after

    async def page(self) -> Page[Item]:
        """The page after the cursor that was given. Raises PayordersError."""
        return await self._read(self._after)

    async def __aiter__(self) -> AsyncIterator[Item]:
        after = self._after
        while True:
            page = await self._read(after)
            for item in page.content:
                yield item
            after = _next_of(page, after)
            if after is None:
                return
