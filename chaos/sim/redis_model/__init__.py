"""A model of Redis for the simulator: data, blocking, scripts, transactions, pub/sub.

It imports redis-py, for the exceptions that its parser makes, and lupa once a script runs; not saq.
"""

from .model import Data, RedisModel
from .replies import Reply, Status

__all__ = ["Data", "RedisModel", "Reply", "Status"]
