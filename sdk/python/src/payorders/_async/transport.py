"""Sends the calls of a client, and repeats what may succeed later."""

from collections.abc import AsyncIterator, Mapping
from typing import Any, Generic, TypeVar

import httpx

from ..attempts import UNANSWERED, AsyncSleep, Attempts, Failed, outcome_of
from ..calls import Call, PageCall
from ..settings import Credentials
from ..types import Page

Item = TypeVar("Item")
Result = TypeVar("Result")


class AsyncTransport(Attempts):
    """Sends each call until it has a result, cannot succeed or was tried often enough."""

    def __init__(
        self,
        credentials: Credentials,
        base_url: str,
        max_retries: int,
        http: httpx.AsyncClient,
        sleep: AsyncSleep,
    ) -> None:
        super().__init__(credentials, base_url, max_retries)
        self._http = http
        self._sleep = sleep

    async def _attempt(self, call: Call[Result], arguments: dict[str, Any]) -> Result | Failed:
        try:
            response = await self._http.request(**arguments)
        except UNANSWERED as error:
            return self.no_response(error)
        return outcome_of(call, response)

    async def send(self, call: Call[Result]) -> Result:
        """The result of a call. Raises PayordersError."""
        arguments = self.arguments_of(call)
        retry = 0
        while True:
            outcome = await self._attempt(call, arguments)
            if not isinstance(outcome, Failed):
                return outcome
            await self._sleep(self.delay_after(outcome, retry))
            retry += 1


class AsyncItemList(Generic[Item]):
    """Every item of a list, one request after the other. ``page`` reads one page."""

    def __init__(
        self,
        transport: AsyncTransport,
        path: str,
        query: Mapping[str, str | int | None],
        after: str | None,
    ) -> None:
        self._transport = transport
        self._path = path
        self._query = query
        self._after = after

    async def _read(self, after: str | None) -> Page[Item]:
        call: PageCall[Item] = PageCall("GET", self._path, {**self._query, "after": after})
        return await self._transport.send(call)

    async def page(self) -> Page[Item]:
        """The page after the cursor that was given. Raises PayordersError."""
        return await self._read(self._after)

    async def __aiter__(self) -> AsyncIterator[Item]:
        after = self._after
        while True:
            page = await self._read(after)
            for item in page.content:
                yield item
            # A page of a filtered list can be empty before the end; the cursor stays at the end.
            if page.next is None or page.next == after:
                return
            after = page.next
