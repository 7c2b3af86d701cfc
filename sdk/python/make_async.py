"""Writes async_client.py from client.py, so that both clients have the same calls.

``python3 make_async.py --check`` only says whether it is up to date.
"""

import re
import sys
from pathlib import Path

FOLDER = Path(__file__).parent / "src/payorders"
TARGET = FOLDER / "async_client.py"

REPLACEMENTS = (
    (r"The client whose calls wait for their answer\.", "The client for asyncio. Written by make_async.py."),
    (r"Threads may share it\.", "It belongs to one event loop."),
    (r"^import time$", "import asyncio"),
    (r"import Callable$", "import Awaitable, Callable"),
    (r"Callable\[\[float\], None\] = time", "Callable[[float], Awaitable[None]] = asyncio"),
    (r"^class (\w+):", r"class Async\1:"),
    (r"\b(Orders|Disputes|Events|Statements|Sandbox)\(self", r"Async\1(self"),
    (r"-> Sandbox:", "-> AsyncSandbox:"),
    (r'"Client"', '"AsyncClient"'),
    (r"\b(ItemList|Transport)\b", r"Async\1"),
    (r"httpx\.Client", "httpx.AsyncClient"),
    # Every method that sends is awaited; those that make lists, and the property, are not.
    (r"^    def (?!__init__|list\(|lines\(|sandbox\()", "    async def "),
    (r"^        def read\(", "        async def read("),
    (r"return self\._send\(", "return await self._send("),
    (r"__(enter|exit)__", r"__a\1__"),
    (r"self\._http\.close\(\)", "await self._http.aclose()"),
    (r"^        self\.close\(\)", "        await self.close()"),
)


def written() -> str:
    """The text of async_client.py."""
    text = (FOLDER / "client.py").read_text("utf-8")
    for pattern, replacement in REPLACEMENTS:
        text = re.sub(pattern, replacement, text, flags=re.MULTILINE)
    return text


if __name__ == "__main__":
    if "--check" in sys.argv:
        sys.exit(None if TARGET.read_text("utf-8") == written() else "Run make_async.py")
    TARGET.write_text(written(), "utf-8")
