"""The binary vocabulary of the flight recorder: which records exist, and their layout.

Both ends read this file: the recorder inside a worker process packs records, the controller unpacks
them into `chaos.history` events. It therefore imports nothing but the standard library.

A record is a 32-byte header, the job key and a text (UTF-8), padded to 8 bytes:

    length u32 │ kind u8 │ code u8 │ key bytes u16 │ attempt u32 │ call u32 │ number i64 │ ns u64
    job key … │ text … │ padding

`length` counts header, key and text without the padding. It is written last: a record counts once
its length is there, so a process that is killed in the middle of a record leaves it uncounted.
"""

from __future__ import annotations

import struct
from enum import IntEnum

MAGIC = b"SAQCHAO1"
FILE_HEADER = struct.Struct("<8sQ")  # magic, segment size in bytes
LENGTH = struct.Struct("<I")
HEADER_AFTER_LENGTH = struct.Struct("<BBHIIqQ")
HEADER_SIZE = LENGTH.size + HEADER_AFTER_LENGTH.size
END_OF_SEGMENT = 0xFFFF_FFFF
SEGMENT_SIZE = 1 << 20
KEY_SIZE_MAX = 0xFFFF


class Kind(IntEnum):
    """What a record says. Values are stored in files: add, never renumber.

    How each kind uses the free fields (`\\x1f` separates the parts of a text; the others carry
    their own fields as JSON in the text, named as in `chaos.event`):

    CALL_INVOKED      code: op; call; number: enqueue id; text: status, detail[, parent call]
    CALL_RETURNED     code: op | outcome << 4; call; number: enqueue id; text: detail
    ATTEMPT_BEGAN     number: enqueue id; call: tries << 16 | retries; text: function, digest
    PROCESS_ENDED     code: outcome; text: error
    BODY_BEGAN        code: 1 if it runs in a thread
    BODY_CANCELLED    code: 1 if `aborted` is set; text: aborted
    BODY_ENDED        code: outcome; text: error
    SLOT_OVERWRITTEN  attempt: the one pushed out; number: the attempt that did it
    SLOT_REMOVED      attempt: the owner; number: the attempt that removed it (0: none)

    JOB_* are several events of an attempt's ordinary path in one record (`joined.py` says which):
    JOB_STARTED       call: the update's; number: enqueue id; text: function, digest, and
                      tries << 16 | retries in digits
    JOB_RUNNING, JOB_FINISHING, JOB_FINISHED    call: the update's or finish's; number: enqueue id

    An enqueue's id is the `queued` stamp (ms) that saq gives a job when it is enqueued: the record
    keeps it through retries, and the next enqueue of that key has another.
    """

    HOST_BEGAN = 1
    HOST_STOPPING = 2
    HOST_ENDED = 3
    BLIND = 4
    CALL_INVOKED = 10
    CALL_RETURNED = 11
    ATTEMPT_BEGAN = 20
    PROCESS_ENDED = 21
    BODY_BEGAN = 22
    BODY_CANCELLED = 23
    BODY_ENDED = 24
    JOB_STARTED = 25
    JOB_RUNNING = 26
    JOB_FINISHING = 27
    JOB_FINISHED = 28
    SLOT_SET = 30
    SLOT_OVERWRITTEN = 31
    SLOT_REMOVED = 32
    SLOT_MISSED = 33
    ERROR_RAISED = 40
    UPKEEP_ENDED = 41
    JOB_STATE = 50
    QUEUE_DEPTH = 51
    ANSWERED = 52
    RUN_BEGAN = 60
    PHASE_BEGAN = 61
    FAULT_INJECTED = 62
    FAULT_HEALED = 63
    HOST_STARTED = 64
    HOST_SIGNALLED = 65
    HOST_EXITED = 66
    LIMIT_REACHED = 67
    RUN_ENDED = 68
    SERVER_FOUND = 69


class Op(IntEnum):
    """Which call of saq's a CALL record speaks of."""

    DEQUEUE = 1
    ENQUEUE = 2
    UPDATE = 3
    FINISH = 4
    RETRY = 5
    ABORT = 6
    SWEEP = 7
    FINISH_ABORT = 8
    POLL_ABORTS = 9
    POLL_SCHEDULE = 10
    WORKER_INFO = 11


class Outcome(IntEnum):
    """How a call or a body ended. INFO: we do not know whether it happened."""

    OK = 1
    FAIL = 2
    INFO = 3
    RAISED = 4
    CANCELLED = 5
    EMPTY = 6
