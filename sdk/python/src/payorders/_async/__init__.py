"""One of the two clients. The build writes ``_sync``, the client without asyncio, from ``_async``: see setup.py."""

from .client import AsyncClient

__all__ = ["AsyncClient"]
