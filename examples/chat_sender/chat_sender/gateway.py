"""The chat service's API as this app sees it: slow, sometimes silent, and it wants a goodbye.

It stands in for the real service, so that the example runs anywhere. Chats whose number ends in 9
belong to a phone that is off: the gateway then waits for a receipt that does not come in time.
"""

from __future__ import annotations

import asyncio

PART_SECONDS = 0.05
TYPING_OFF_SECONDS = 0.3
SILENT_SECONDS = 4.0


class Gateway:
    """One session with the chat service."""

    def __init__(self) -> None:
        self.sent = 0

    async def open(self) -> None:
        """Log in."""
        await asyncio.sleep(PART_SECONDS)

    async def close(self) -> None:
        """Log out."""
        await asyncio.sleep(PART_SECONDS)

    async def send(self, chat: str, part: str) -> None:
        """Send one part of a message and wait for its receipt."""
        del part
        await asyncio.sleep(SILENT_SECONDS if chat.endswith("9") else PART_SECONDS)
        self.sent += 1

    async def typing_off(self, chat: str) -> None:
        """Take the "is typing" sign away. Without it the chat shows it for ever."""
        del chat
        await asyncio.sleep(TYPING_OFF_SECONDS)
