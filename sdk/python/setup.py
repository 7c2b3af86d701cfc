"""Builds the package: ``payorders._sync``, the client without asyncio, is written from ``payorders._async``."""

from setuptools import setup
from unasync import Rule, cmdclass_build_py

NAMES = (
    "Client",
    "Disputes",
    "Events",
    "ItemList",
    "Orders",
    "Sandbox",
    "Sleep",
    "Statements",
    "Transport",
)
REPLACEMENTS = {f"Async{name}": name for name in NAMES}
REPLACEMENTS |= {"_AsyncCalls": "_Calls", "aclose": "close", "asyncio": "time"}

setup(cmdclass={"build_py": cmdclass_build_py([Rule("/_async/", "/_sync/", REPLACEMENTS)])})
