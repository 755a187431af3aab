"""A user's own application under test: it runs as it is, on the run's Redis and on no other."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Any

import pytest
import redis

from chaos import event as e
from tests.conftest import RunningServer
from tests.hosts.processes import SECONDS_MAX, Host, Hosts, write_app
from tests.hosts.test_guard import connections_received

REPORT = """
def report(path, **facts):
    import json, pathlib
    pathlib.Path(path).write_text(json.dumps(facts))
"""


def told(worker: Host, path: Path) -> dict[str, Any]:
    """What a job reported, once it has run; it must have gone well."""
    (ended,) = worker.wait_for(e.ProcessEnded)
    assert (ended.outcome, worker.of(e.BodyEnded)[0].outcome) == ("ok", "ok"), worker.log
    facts: dict[str, Any] = json.loads(path.read_text())
    return facts


def run_one(hosts: Hosts, app: str, folder: str, **fields: Any) -> tuple[Host, Host, Any]:
    """A worker and a producer of an app, and what its function `f` reported of itself."""
    worker = hosts.worker(app=app, app_path=folder, **fields)
    producer = hosts.producer(app=app, app_path=folder, **fields)
    path = hosts.folder / "facts.json"
    error = producer.ask("enqueue", function="f", key="one", kwargs={"path": str(path)})
    assert error == ""
    return worker, producer, told(worker, path)


# --- it loads beside anything ---------------------------------------------------------------------

CLASHING = ("chaos", "service", "pydantic", "msgspec", "app", "config", "events", "main", "guard")


@pytest.mark.parametrize("hosts", ["stock@0.22.4", "guarded@0.26.3"], indirect=True)
def test_an_app_may_have_modules_named_like_ours_or_like_the_controllers(hosts: Hosts) -> None:
    files = {name: f"WHOSE = 'the app, {name}'\n" for name in CLASHING}
    files["tasks"] = REPORT + (
        f"import {', '.join(CLASHING)}\n"
        f"MODULES = [{', '.join(CLASHING)}]\n"
        "async def f(ctx, *, path):\n"
        "    import saq_chaos_worker\n"
        "    report(path, whose=[m.WHOSE for m in MODULES], worker=saq_chaos_worker.__name__)\n"
        "settings = {'functions': [f]}\n"
    )
    folder = write_app(hosts.folder / "apps", **files)
    worker, producer, facts = run_one(hosts, "tasks:settings", folder)
    assert facts == {
        "whose": [f"the app, {name}" for name in CLASHING],
        "worker": "saq_chaos_worker",
    }
    assert (worker.end(signal.SIGTERM), producer.end()) == (0, 0)


def test_our_folder_is_not_on_the_path_of_an_app(hosts: Hosts) -> None:
    tasks = REPORT + (
        "import sys\n"
        "async def f(ctx, *, path):\n"
        "    found = [p for p in sys.path if p.endswith(('chaos', 'worker'))]\n"
        "    try:\n"
        "        import recorder\n"
        "    except ImportError as error:\n"
        "        found.append(str(error))\n"
        "    report(path, found=found)\n"
        "settings = {'functions': [f]}\n"
    )
    folder = write_app(hosts.folder / "apps", tasks=tasks)
    _, _, facts = run_one(hosts, "tasks:settings", folder)
    assert facts == {"found": ["No module named 'recorder'"]}


LAYOUTS = {
    "a package": ("shop/jobs/tasks.py", "shop.jobs.tasks:settings", ""),
    "a folder without __init__": ("plain/tasks.py", "plain.tasks:settings", ""),
    "one file": ("tasks.py", "tasks:settings", ""),
    "a src folder": ("src/shop/tasks.py", "shop.tasks:settings", "src"),
    "a factory": ("tasks.py", "tasks:make", ""),
    "an attribute of a class": ("tasks.py", "tasks:Config.settings", ""),
    "a name that is no python file": ("saq.d/tasks.py", "tasks:settings", "saq.d"),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_apps_are_found_however_they_are_laid_out(hosts: Hosts, layout: str) -> None:
    name, app, path = LAYOUTS[layout]
    file = hosts.folder / "apps" / name
    file.parent.mkdir(parents=True)
    if layout == "a package":
        for folder in (file.parent, file.parent.parent):
            (folder / "__init__.py").touch()
    file.write_text(
        REPORT + "async def f(ctx, *, path):\n    report(path, ran=True)\n"
        "settings = {'functions': [f]}\n"
        "def make():\n    return settings\n"
        "class Config:\n    settings = settings\n"
    )
    _, _, facts = run_one(hosts, app, str(hosts.folder / "apps" / path))
    assert facts == {"ran": True}


def test_a_saq_in_the_apps_folder_does_not_replace_the_variants(hosts: Hosts) -> None:
    tasks = REPORT + (
        "import redis, saq\n"
        "async def f(ctx, *, path):\n    report(path, saq=saq.__version__)\n"
        "settings = {'functions': [f]}\n"
    )
    folder = write_app(hosts.folder / "apps", tasks=tasks, saq="raise RuntimeError('not this one')")
    _, _, facts = run_one(hosts, "tasks:settings", folder)
    assert facts == {"saq": "0.26.3"}


# --- it keeps what is its own ---------------------------------------------------------------------

OWN_QUEUE = (
    REPORT
    + """
import pickle
from redis import asyncio as aioredis
from saq.queue.redis import RedisQueue

SEEN = []

class Mine(RedisQueue):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self._letters = self.namespace("letters")
        self.note = "saq:other:letters"

class Client(aioredis.Redis):
    pass

def dump(job):
    return b"mine" + pickle.dumps(job)

def load(text):
    return pickle.loads(text[4:])

async def note(job):
    SEEN.append(job.key)
    job.meta["noted"] = True

client = Client.from_url(
    "redis://user:secret@elsewhere.invalid:7000/5", socket_timeout=33, max_connections=77,
    health_check_interval=9,
)
queue = Mine(client, name="letters", dump=dump, load=load, swept_error_message="moved on")
queue.register_before_enqueue(note)

async def f(ctx, *, path):
    queue_now = ctx["job"].queue
    kwargs = client.connection_pool.connection_kwargs
    await client.set("from-the-client", 1)
    worker = ctx["worker"]
    report(
        path, same=queue_now is queue, kind=type(queue_now).__name__, client=type(client).__name__,
        meta=ctx["job"].meta, timeout=kwargs["socket_timeout"],
        check=kwargs["health_check_interval"],
        connections=client.connection_pool.max_connections, secrets=sorted(
            name for name in kwargs if name in ("username", "password")
        ),
        swept=queue_now.swept_error_message, name=queue_now.name, letters=queue_now._letters,
        note=queue_now.note, prefix=queue_now._pubsub.prefix, key=ctx["job"].key,
        concurrency=worker.concurrency, timers=worker.timers, hooks=ctx["hooks"],
        grace=worker._shutdown_grace_period_s, burst=worker.burst,
        found=(await queue_now.job("one")).key,
    )

async def inner(ctx, *, path):
    job = await queue.enqueue("f", key="inner", path=path)
    assert (await queue.job("inner")).key == job.key
    assert [j.key for j in await queue.jobs(["inner", job.key])] == [job.key, job.key]
    assert await job.queue.enqueue("f", key="inner") is None

async def startup(ctx):
    ctx["hooks"] = ["startup"]

async def before(ctx):
    ctx["hooks"] = ctx["hooks"] + ["before"]

settings = {
    "functions": [f, ("renamed", inner)], "queue": queue, "concurrency": 3, "startup": startup,
    "before_process": [before], "timers": {"sweep": 33, "abort": 0.7},
    "shutdown_grace_period_s": 2,
}
"""
)


def own_facts(**changed: Any) -> dict[str, Any]:
    return {
        "same": True,
        "kind": "Mine",
        "client": "Client",
        "meta": {"noted": True},
        "timeout": 33,
        "check": 9,
        "connections": 77,
        "secrets": [],
        "swept": "moved on",
        "name": "letters",
        "letters": "saq:letters:letters",
        "note": "saq:other:letters",
        "prefix": "saq:job:letters",
        "key": "one",
        "concurrency": 3,
        "timers": {"schedule": 1, "worker_info": 10, "sweep": 33, "abort": 0.7},
        "hooks": ["startup", "before"],
        "grace": 2,
        "burst": False,
        "found": "one",
        **changed,
    }


NOTHING = {"concurrency": None, "timers": None, "grace_s": None, "deadline_s": None}


def test_an_apps_queue_hooks_and_numbers_stay_its_own(
    hosts: Hosts, redis_server: RunningServer
) -> None:
    folder = write_app(hosts.folder / "apps", mine=OWN_QUEUE)
    worker, _, facts = run_one(hosts, "mine:settings", folder, **NOTHING)
    assert facts == own_facts()
    assert worker.of(e.HostBegan)[0].concurrency == 3
    assert worker.of(e.HostBegan)[0].grace_us == 2_000_000
    with redis.Redis.from_url(redis_server.url) as client:
        assert client.get("from-the-client") == b"1"
        stored: Any = client.get("saq:job:letters:one")
        assert stored.startswith(b"mine")


def test_what_the_plan_says_overrides_only_that(hosts: Hosts) -> None:
    folder = write_app(hosts.folder / "apps", mine=OWN_QUEUE)
    changes = {**NOTHING, "concurrency": 5, "timers": {"abort": 0.05}}
    _, _, facts = run_one(hosts, "mine:settings", folder, **changes)
    timers = {"schedule": 1, "worker_info": 10, "sweep": 33, "abort": 0.05}
    assert facts == own_facts(concurrency=5, timers=timers)


@pytest.mark.parametrize("hosts", ["stock@0.26.3", "stock@0.26.4"], indirect=True)
def test_with_a_mark_the_queue_and_every_key_begin_with_it(
    hosts: Hosts, redis_server: RunningServer
) -> None:
    folder = write_app(hosts.folder / "apps", mine=OWN_QUEUE)
    worker, producer, facts = run_one(hosts, "mine:settings", folder, mark="run7", **NOTHING)
    assert facts == own_facts(
        name="run7:letters",
        letters="saq:run7:letters:letters",
        prefix="saq:job:run7:letters",
        key="run7:one",
        found="run7:one",
    )
    path = str(hosts.folder / "inner.json")
    assert producer.ask("enqueue", function="renamed", kwargs={"path": path}) == ""
    worker.wait_for(e.ProcessEnded, 3)
    assert producer.ask("enqueue", function="f", key="later", scheduled_in_us=60_000_000) == ""
    assert producer.ask("abort", key="later") == ""
    assert producer.ask("inspect", keys=["one", "run7:later"]) == ""

    jobs = [event.job for event in worker.of(e.AttemptBegan)]
    assert jobs[0] == "run7:one"
    assert jobs[1].startswith("run7:")
    assert jobs[2] == "run7:inner"
    invoked = [event.job for event in producer.of(e.CallInvoked) if event.op == "enqueue"]
    assert [job.partition(":")[0] for job in invoked] == ["run7"] * 3
    assert [(state.job, state.status) for state in producer.of(e.JobState)] == [
        ("run7:one", "complete"),
        ("run7:later", "aborting"),
    ]
    with redis.Redis.from_url(redis_server.url, decode_responses=True) as client:
        names: Any = client.keys()
    own = {name for name in names if name != "from-the-client"}
    assert own
    starts = ("saq:run7:letters:", "saq:job:run7:letters:run7:", "saq:abort:run7:")
    assert [name for name in sorted(own) if not name.startswith(starts)] == []


def test_the_built_in_bodies_carry_a_mark_too(hosts: Hosts, redis_server: RunningServer) -> None:
    worker, producer = hosts.worker(mark="run7"), hosts.producer(mark="run7")
    kwargs = {"bodies": [{"profile": "quick", "takes_us": 0}]}
    call = {"function": "saq_chaos_body", "kwargs": kwargs}
    assert producer.ask("enqueue", key="one", **call) == ""
    assert producer.ask("enqueue", **call) == ""
    worker.wait_for(e.ProcessEnded, 2)
    assert worker.of(e.AttemptBegan)[0].job == "run7:one"
    assert worker.of(e.AttemptBegan)[1].job.startswith("run7:")
    with redis.Redis.from_url(redis_server.url, decode_responses=True) as client:
        names: Any = client.keys()
    assert [
        name for name in names if not name.startswith(("saq:run7:soak", "saq:job:run7:soak:"))
    ] == []


# --- nothing leaves -------------------------------------------------------------------------------

LEAKY = (
    REPORT
    + """
import redis, redis.asyncio
from saq import Queue

URL = "{url}"
cache = redis.Redis.from_url(URL)
{ping}
second = Queue.from_url(URL, name="second")
queue = Queue.from_url(URL, name="first")

async def f(ctx, *, path):
    refused = []
    for attempt in (
        lambda: second.enqueue("g", key="x"), redis.asyncio.Redis.from_url(URL).ping,
        lambda: second.info(), lambda: second.dequeue(1),
    ):
        try:
            await attempt()
        except redis.ConnectionError as error:
            refused.append(str(error))
    try:
        cache.set("a", 1)
    except redis.ConnectionError as error:
        refused.append(str(error))
    report(path, refused=refused)

settings = {{"functions": [f], "queue": queue}}
"""
)
FORGIVING = "try:\n    cache.ping()\nexcept redis.ConnectionError:\n    cache_is_up = False\n"


@pytest.mark.parametrize("hosts", ["stock@0.22.4", "stock@0.26.3", "stock@0.26.4"], indirect=True)
def test_a_second_queue_and_a_client_at_import_reach_no_other_redis(
    hosts: Hosts, redis_server: RunningServer, other_redis_server: RunningServer
) -> None:
    before = connections_received(other_redis_server)
    url = other_redis_server.url.replace("redis://", "redis://:hunter2@")
    folder = write_app(hosts.folder / "apps", leaky=LEAKY.format(url=url, ping=FORGIVING))
    worker, producer, facts = run_one(hosts, "leaky:settings", folder)

    assert len(facts["refused"]) == 5
    for refusal in facts["refused"]:
        assert refusal == (
            f"refused a connection to the Redis at 127.0.0.1:{other_redis_server.port}/0:"
            f" this run may only use 127.0.0.1:{redis_server.port}/0"
        )
    assert (worker.end(signal.SIGTERM), producer.end()) == (0, 0)
    assert connections_received(other_redis_server) == before + 1
    for host in (worker, producer):
        assert host.log.count("saq-chaos: refused a connection") == 1
        assert "hunter2" not in host.log


def test_a_client_that_insists_at_import_ends_the_process_by_name(
    hosts: Hosts, other_redis_server: RunningServer
) -> None:
    before = connections_received(other_redis_server)
    text = LEAKY.format(url=other_redis_server.url, ping="cache.ping()")
    folder = write_app(hosts.folder / "apps", leaky=text)
    worker = hosts.start("worker-1.1", app="leaky:settings", app_path=folder)
    assert worker.process.wait(SECONDS_MAX) == 4
    last = worker.log.splitlines()[-1]
    assert last.startswith("saq-chaos: cannot import the app leaky:settings: AddressRefused: ")
    assert f"127.0.0.1:{other_redis_server.port}/0" in last
    assert connections_received(other_redis_server) == before + 1


def test_an_app_whose_queue_hangs_on_a_sentinel_runs_on_the_runs_redis(hosts: Hosts) -> None:
    tasks = REPORT + (
        "from redis.asyncio.sentinel import Sentinel\n"
        "from saq.queue.redis import RedisQueue\n"
        "client = Sentinel([('127.0.0.1', 1)], password='x').master_for('main', db=3)\n"
        "async def f(ctx, *, path):\n    report(path, ran=True)\n"
        "settings = {'functions': [f], 'queue': RedisQueue(client)}\n"
    )
    folder = write_app(hosts.folder / "apps", tasks=tasks)
    _, _, facts = run_one(hosts, "tasks:settings", folder)
    assert facts == {"ran": True}


def test_an_app_with_a_blocking_pool_and_tls_runs_on_the_runs_redis(hosts: Hosts) -> None:
    tasks = REPORT + (
        "from redis import asyncio as aioredis\n"
        "from saq.queue.redis import RedisQueue\n"
        "pool = aioredis.BlockingConnectionPool.from_url(\n"
        "    'rediss://elsewhere.invalid', ssl_ca_certs='/a', max_connections=12, timeout=3)\n"
        "client = aioredis.Redis(connection_pool=pool)\n"
        "async def f(ctx, *, path):\n"
        "    report(path, kept=client.connection_pool is pool, room=pool.max_connections)\n"
        "settings = {'functions': [f], 'queue': RedisQueue(client)}\n"
    )
    folder = write_app(hosts.folder / "apps", tasks=tasks)
    _, _, facts = run_one(hosts, "tasks:settings", folder)
    assert facts == {"kept": True, "room": 12}


def test_an_app_may_use_the_event_loop_while_it_is_imported(hosts: Hosts) -> None:
    tasks = REPORT + (
        "import asyncio\n"
        "lock = asyncio.Lock()\n"
        "async def ask():\n    return 7\n"
        "ANSWER = asyncio.run(ask())\n"
        "later = asyncio.Lock()\n"
        "async def f(ctx, *, path):\n"
        "    async with lock, later:\n"
        "        report(path, answer=ANSWER)\n"
        "settings = {'functions': [f]}\n"
    )
    folder = write_app(hosts.folder / "apps", tasks=tasks)
    _, _, facts = run_one(hosts, "tasks:settings", folder)
    assert facts == {"answer": 7}
