"""The model answers as a real server: random programs, the table of commands, the refusals.

The programs are drawn by hypothesis, which cuts down what differs; `saq-chaos bench conformance`
draws far more of them from a seed. Models that are wrong in one place are found out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from redis import Redis
from redis.exceptions import RedisError

from chaos.cli.bench_conformance import saq_source
from chaos.environments import Environment
from chaos.errors import ServerFailed
from chaos.sim.conformance import run_conformance, scripts_in
from chaos.sim.conformance.drawing import Drawer
from chaos.sim.conformance.program import Program, Send
from chaos.sim.conformance.run import Comparison
from chaos.sim.redis_model import RedisModel, lists, waiting, zset
from chaos.sim.redis_model.command import (
    BLOCKING,
    COMMANDS,
    CONTAINERS,
    DENY_OOM,
    LOADING,
    NO_MULTI,
    NO_SCRIPT,
    WRITE,
    Command,
)
from tests.conftest import RunningServer, serving
from tests.sim.model.driver import seen

PROGRAMS = 300
PROGRAMS_FOR_A_MUTANT = 400
SCRIPT_SOURCE = """
self.redis.register_script('''
    if redis.call('EXISTS', KEYS[1]) == 0 then
        redis.call('SETEX', KEYS[1], ARGV[1], 1)
        for _, v in ipairs(redis.call('ZRANGEBYSCORE', KEYS[2], 1, ARGV[2])) do
            redis.call('RPUSH', KEYS[3], v)
        end
    end
''')
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    with serving(tmp_path_factory.mktemp("conformance") / "server") as running:
        yield running


@pytest.fixture(scope="module")
def comparison(server: RunningServer) -> Iterator[Comparison]:
    comparing = Comparison(server.url)
    yield comparing
    comparing.close()


@given(draw=st.randoms(use_true_random=False, note_method_calls=False))
@settings(
    max_examples=100,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
def test_programs_of_hypothesis_agree(comparison: Comparison, draw: Random) -> None:
    program = Drawer((), pauses=2).program(draw)
    difference = comparison.compare(program)
    assert difference is None, _told(program, difference)


def _told(program: Program, difference: Any) -> str:
    steps = "\n".join(str(step) for step in program)
    return f"{steps}\n{difference.where}\nreal  {difference.real}\nmodel {difference.model}"


def test_programs_of_a_seed_agree_with_saqs_own_scripts_among_them(
    server: RunningServer, environment: Callable[[str], Environment]
) -> None:
    scripts = scripts_in(saq_source(environment("stock@0.26.4")))
    assert [len(script.keys) for script in scripts] == [3, 2, 4]
    report = run_conformance(PROGRAMS, 1, server.url, scripts=scripts)
    assert report.differences == ()
    assert (report.programs, report.given_up, report.agrees) == (PROGRAMS, 0, True)
    assert report.blocked > 100
    assert report.pauses > 5
    assert len(report.commands) > 80


def test_the_same_seed_draws_the_same_programs() -> None:
    def drawn(seed: int) -> Program:
        return Drawer(()).program(Random(seed))

    assert drawn(1) == drawn(1)
    assert drawn(1) != drawn(2)


def test_a_known_script_gets_keys_of_the_types_that_it_needs() -> None:
    (script,) = scripts_in(SCRIPT_SOURCE)
    assert [keys[0] for keys in script.keys] == [b"s1", b"z1", b"l1"]
    assert script.arguments == 2


def test_a_server_that_does_not_answer_is_said_so() -> None:
    with pytest.raises(ServerFailed, match="does not answer"):
        run_conformance(1, 1, "redis://127.0.0.1:1/0")


# --- wrong models ---------------------------------------------------------------------------------


def _last_come_first_served(self: Any, keyspace: Any, place: Any) -> None:
    for wait in reversed(list(self._by_key.get(place, {}).values())):
        if wait.client.wait is wait and keyspace.has_list(place[1]):
            self.forget(wait)
            self._rerun(wait)


def _from_the_wrong_end(items: Any, wanted: bytes, count: int, *, from_end: bool) -> None:
    REMOVE(items, wanted, count, from_end=not from_end)


def _without_bounds(self: Any, score: float, beyond: bool) -> int:
    return FIRST_AT(self, score, False)


REMOVE = lists._remove
FIRST_AT = zset.SortedSet.first_at


@pytest.mark.parametrize(
    ("owner", "name", "wrong"),
    [
        (waiting.Waiting, "_serve_key", _last_come_first_served),
        (lists, "_remove", _from_the_wrong_end),
        (zset.SortedSet, "first_at", _without_bounds),
        (RedisModel, "advance", lambda self: None),
        (waiting.Waiting, "signal", lambda self, keyspace, key: None),
    ],
    ids=["blocked-order", "lrem-direction", "score-bounds", "timeouts", "never-served"],
)
def test_a_model_that_is_wrong_in_one_place_is_found_out(
    server: RunningServer, monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, wrong: Any
) -> None:
    monkeypatch.setattr(owner, name, wrong)
    report = run_conformance(PROGRAMS_FOR_A_MUTANT, 2, server.url, differences_max=1)
    (difference,) = report.differences
    assert not report.agrees
    assert 1 <= len(difference.steps) <= 8


def test_a_difference_tells_the_steps_that_lead_to_it(
    server: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(waiting.Waiting, "_serve_key", _last_come_first_served)
    comparing = Comparison(server.url)
    program: Program = (
        Send(0, (b"SET", b"s1", b"v")),
        Send(0, (b"BLPOP", b"l1", b"0")),
        Send(1, (b"BLPOP", b"l1", b"0")),
        Send(2, (b"PING",)),
        Send(2, (b"RPUSH", b"l1", b"a")),
    )
    difference = comparing.compare(program)
    assert difference is not None
    shorter, difference = comparing.cut_down(program, difference)
    comparing.close()
    assert [str(step) for step in shorter] == ["0: BLPOP l1 0", "1: BLPOP l1 0", "2: RPUSH l1 a"]
    assert difference.where == "step 3: 2: RPUSH l1 a, read by 1"
    assert difference.real == "'nothing (TimeoutError)'"
    assert difference.model == "[b'l1', b'a']"


# --- what programs do not reach -------------------------------------------------------------------


def _table() -> dict[str, Command]:
    found = {name.decode(): command for name, command in COMMANDS.items()}
    for container, commands in CONTAINERS.items():
        found |= {f"{container.decode()}|{sub.decode()}": one for sub, one in commands.items()}
    return dict(sorted(found.items()))


def _as_the_server_says(name: str, info: list[Any]) -> tuple[Any, ...]:
    entry = info
    if "|" in name:
        entry = next(one for one in info[9] if one[0].decode() == name.lower())
    words = {bytes(flag).decode() for flag in entry[2]}
    flags = {
        "write": WRITE, "denyoom": DENY_OOM, "noscript": NO_SCRIPT, "loading": LOADING,
        "blocking": BLOCKING, "no_multi": NO_MULTI,
    }  # fmt: skip
    return entry[1], sum(bit for word, bit in flags.items() if word in words), tuple(entry[3:6])


def test_arity_flags_and_keys_of_every_command_are_the_servers_own(server: RunningServer) -> None:
    names = list(_table())
    with Redis(port=server.port, protocol=2) as redis:
        connection = redis.connection_pool.get_connection()
        connection.send_command("COMMAND", "INFO", *(name.split("|")[0] for name in names))
        infos = connection.read_response(disable_decoding=True)
    mask = WRITE | DENY_OOM | NO_SCRIPT | LOADING | BLOCKING | NO_MULTI
    ours = {name: (one.arity, one.flags & mask, one.keys) for name, one in _table().items()}
    theirs = {n: _as_the_server_says(n, info) for n, info in zip(names, infos, strict=True)}
    assert ours == theirs


REFUSED = (
    ("GET", "l"), ("LLEN", "l"), ("RPUSH", "l", "b"), ("LPOP", "l"), ("SET", "k", "v"),
    ("DEL", "nothing"), ("EVAL", "return redis.call('LLEN', 'l')", "0"),
    ("EVAL", "return redis.call('RPUSH', 'l', 'c')", "0"),
    ("EVAL", "return redis.pcall('DEL', 'nothing')", "0"),
    ("BLMOVE", "l", "m", "LEFT", "LEFT", "0"),
    ("PUBLISH", "c", "hi"), ("MULTI",), ("LLEN", "l"), ("EXEC",), ("MULTI",), ("RPUSH", "l", "x"),
    ("EXEC",), ("MULTI",), ("LPOP", "l"), ("EXEC",), ("PING",), ("SELECT", "0"),
    ("CLIENT", "SETNAME", "worker"),
)  # fmt: skip


@pytest.mark.parametrize(
    ("switch", "commands"),
    [
        ("out_of_memory", (("CONFIG", "SET", "maxmemory", "1"),)),
        ("read_only", (("REPLICAOF", "127.0.0.1", "1"),)),
    ],
)
def test_refusals_are_the_servers_own(
    redis_server: RunningServer, switch: str, commands: tuple[tuple[str, ...], ...]
) -> None:
    model = RedisModel(lambda: 0)
    answers: list[Any] = []
    number = model.connect(answers.append)
    with Redis(port=redis_server.port, protocol=2) as redis:
        connection = redis.connection_pool.get_connection()
        assert _ask(connection, ("RPUSH", "l", "a")) == 1
        assert [_ask(connection, one) for one in commands] == [b"OK"]
        model.execute(number, (b"RPUSH", b"l", b"a"))
        setattr(model.refusals, switch, True)
        answers.clear()
        real = [_ask(connection, one) for one in REFUSED]
    for one in REFUSED:
        model.execute(number, tuple(word.encode() for word in one))
    assert [seen(answer) for answer in answers] == real


def _ask(connection: Any, args: tuple[str, ...]) -> Any:
    connection.send_command(*args)
    try:
        return seen(connection.read_response(disable_decoding=True))
    except RedisError as error:
        return f"!{error}"
