"""The errors that a server in trouble answers with: for which commands, and in which words.

The words and the three lists are the server's own (`COMMAND`, flags loading, write and denyoom),
and a test compares them with a real one. A script is taken for one that writes: the server would
answer at the script's first write, and all of saq's may write.
"""

from __future__ import annotations

ERRORS = {
    "LOADING": "LOADING Redis is loading the dataset in memory",
    "READONLY": "READONLY You can't write against a read only replica.",
    "OOM": "OOM command not allowed when used memory > 'maxmemory'.",
}
SCRIPTS = frozenset(("EVAL", "EVALSHA", "FCALL"))


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Answered while the dataset is being loaded; CLIENT with every subcommand of it.
WHILE_LOADING = _names(
    """
    AUTH CLIENT COMMAND DEBUG DISCARD ECHO EXEC HELLO INFO LASTSAVE MONITOR MULTI PSUBSCRIBE PUBLISH
    PUNSUBSCRIBE QUIT READONLY READWRITE REPLCONF RESET ROLE SELECT SHUTDOWN SPUBLISH SSUBSCRIBE
    SUBSCRIBE SUNSUBSCRIBE TIME UNSUBSCRIBE UNWATCH WATCH
    """
)
# Refused by a read-only replica.
WRITES = _names(
    """
    APPEND BITFIELD BITOP BLMOVE BLMPOP BLPOP BRPOP BRPOPLPUSH BZMPOP BZPOPMAX BZPOPMIN COPY DECR
    DECRBY DEL EXPIRE EXPIREAT FLUSHALL FLUSHDB GEOADD GEORADIUS GEORADIUSBYMEMBER GEOSEARCHSTORE
    GETDEL GETEX GETSET HDEL HINCRBY HINCRBYFLOAT HMSET HSET HSETNX INCR INCRBY INCRBYFLOAT LINSERT
    LMOVE LMPOP LPOP LPUSH LPUSHX LREM LSET LTRIM MIGRATE MOVE MSET MSETNX PERSIST PEXPIRE PEXPIREAT
    PFADD PFMERGE PSETEX RENAME RENAMENX RESTORE RPOP RPOPLPUSH RPUSH RPUSHX SADD SDIFFSTORE SET
    SETBIT SETEX SETNX SETRANGE SINTERSTORE SMOVE SORT SPOP SREM SUNIONSTORE SWAPDB UNLINK XACK XADD
    XAUTOCLAIM XCLAIM XDEL XREADGROUP XSETID XTRIM ZADD ZDIFFSTORE ZINCRBY ZINTERSTORE ZMPOP ZPOPMAX
    ZPOPMIN ZRANGESTORE ZREM ZREMRANGEBYLEX ZREMRANGEBYRANK ZREMRANGEBYSCORE ZUNIONSTORE
    """
)
# Refused when there is no memory left: those that may need some.
NEEDS_MEMORY = _names(
    """
    APPEND BITFIELD BITOP BLMOVE BRPOPLPUSH COPY DECR DECRBY GEOADD GEORADIUS GEORADIUSBYMEMBER
    GEOSEARCHSTORE GETSET HINCRBY HINCRBYFLOAT HMSET HSET HSETNX INCR INCRBY INCRBYFLOAT LINSERT
    LMOVE LPUSH LPUSHX LSET MSET MSETNX PFADD PFMERGE PSETEX RESTORE RPOPLPUSH RPUSH RPUSHX SADD
    SDIFFSTORE SET SETBIT SETEX SETNX SETRANGE SINTERSTORE SORT SUNIONSTORE XADD XSETID ZADD
    ZDIFFSTORE ZINCRBY ZINTERSTORE ZRANGESTORE ZUNIONSTORE
    """
)


def error_text(error: str) -> str:
    """The server's words for one of `ERRORS`."""
    return ERRORS[error]


def is_refused(command: str, error: str) -> bool:
    """Whether a server in that trouble answers this command (in upper case) with the error."""
    if command.startswith("("):  # connecting is no command
        return False
    if error == "LOADING":
        return command not in WHILE_LOADING
    return command in SCRIPTS or command in (WRITES if error == "READONLY" else NEEDS_MEMORY)
