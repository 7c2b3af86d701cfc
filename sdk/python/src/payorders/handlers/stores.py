"""What remembers which events were handled."""

import threading
from typing import Protocol


class DedupeStore(Protocol):
    """Remembers which events were handled. Keep it where the effects of the events are kept."""

    def has(self, event_id: str) -> bool:
        """Whether the event was handled."""

    def add(self, event_id: str) -> object:
        """Called after ``on_event`` has succeeded."""


class AsyncDedupeStore(Protocol):
    """The same for FastAPI."""

    async def has(self, event_id: str) -> bool:
        """Whether the event was handled."""

    async def add(self, event_id: str) -> object:
        """Called after ``on_event`` has succeeded."""


class MemoryStore:
    """A store in memory, for tests and a single process: it forgets everything when the process ends."""

    def __init__(self, most_events: int = 10_000) -> None:
        self._most_events = most_events
        self._known: dict[str, None] = {}
        self._lock = threading.Lock()

    def has(self, event_id: str) -> bool:
        return event_id in self._known

    def add(self, event_id: str) -> None:
        with self._lock:
            self._known[event_id] = None
            if len(self._known) > self._most_events:
                del self._known[next(iter(self._known))]
