"""The saq side of the chat sender: its functions, hooks and settings.

`saq chat_sender.tasks.settings` runs it in production. One job sends one message to one chat, under
the chat's own key, so that a chat never gets two messages at once. A message may be scheduled. A
job reports a sign of life after each part; after 120 s without one, saq's sweep takes it for stuck,
and after 600 s it is over in any case.
"""

from __future__ import annotations

import logging
import os
from typing import Any

from saq import Job, Queue

from chat_sender.gateway import Gateway

logger = logging.getLogger(__name__)

JOB_OPTIONS = {"timeout": 600, "heartbeat": 120, "ttl": 60, "retries": 2}

queue = Queue.from_url(os.environ.get("REDIS_URL", "redis://localhost:6379"), name="chat")


async def startup(ctx: dict[str, Any]) -> None:
    """Log in once per worker."""
    ctx["gateway"] = Gateway()
    await ctx["gateway"].open()


async def shutdown(ctx: dict[str, Any]) -> None:
    """Log out."""
    await ctx["gateway"].close()


async def after_process(ctx: dict[str, Any]) -> None:
    """One line for each message that was not sent, as operations wants it."""
    job: Job | None = ctx.get("job")
    if job is not None and job.error:
        logger.warning("message %s not sent: %s", job.key, job.error.splitlines()[-1])


async def send_message(ctx: dict[str, Any], *, chat: str, parts: list[str]) -> int:
    """Send a message part by part; returns how many parts went out."""
    gateway: Gateway = ctx["gateway"]
    job: Job = ctx["job"]
    try:
        for part in parts:
            await gateway.send(chat, part)
            await job.update()
    finally:
        await gateway.typing_off(chat)
    return len(parts)


async def enqueue_message(chat: str, parts: list[str], scheduled: int = 0) -> Job | None:
    """What the website calls. None: this chat still has a message on its way."""
    return await queue.enqueue(
        "send_message",
        key=f"chat-{chat}",
        scheduled=scheduled,
        kwargs={"chat": chat, "parts": parts},
        **JOB_OPTIONS,
    )


settings = {
    "queue": queue,
    "functions": [send_message],
    "concurrency": 10,
    "startup": startup,
    "shutdown": shutdown,
    "after_process": after_process,
    "shutdown_grace_period_s": 1,
}
