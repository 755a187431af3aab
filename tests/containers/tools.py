"""podman, buildah and docker-compose as these tests use them: without a daemon, without a registry.

The base image is made from Debian's packages and carries the name that the Dockerfile asks for, so
the repository's own Dockerfile and compose file are used unchanged. crun, podman's default runtime,
does not run everywhere; runc does. podman's health checks are asked by systemd timers, which a
container or a small machine has not: `Compose.up` asks them itself meanwhile.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
TOOLS = ("podman", "buildah", "runc", "debootstrap", "docker-compose")
RUNC = "/usr/sbin/runc"
PODMAN = ("podman", "--runtime", RUNC, "--cgroup-manager=cgroupfs")
ULIMITS = ("--ulimit", "nofile=1024:1024", "--ulimit", "nproc=1024:1024")
CERTIFICATES = Path("/etc/ssl/certs")
BUILD_SECONDS = 900
CONTAINERS_CONF = """
[containers]
default_ulimits=["nofile=1024:1024","nproc=1024:1024"]
[engine]
runtime="runc"
cgroup_manager="cgroupfs"
events_logger="file"
"""


def why_not() -> str:
    """Why images cannot be built and run here; empty if they can."""
    missing = [tool for tool in TOOLS if shutil.which(tool) is None]
    if missing:
        return f"needs {', '.join(missing)}: apt-get install {' '.join(missing)}"
    if os.geteuid() != 0:
        return "needs root: images are built in a chroot"
    return ""


def run(*command: str, seconds: int = BUILD_SECONDS, cwd: Path = ROOT) -> str:
    """Run a command; its output, or an error that shows the last of it."""
    done = subprocess.run(
        command, cwd=cwd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, timeout=seconds, check=False,
    )  # fmt: skip
    if done.returncode:
        raise AssertionError(f"{' '.join(command)}: {done.returncode}\n{done.stdout[-3_000:]}")
    return done.stdout


def base_image() -> str:
    """The image that the Dockerfile starts from, made here unless it is there already."""
    text = (ROOT / "Dockerfile").read_text("utf-8")
    found = re.search(r"^ARG BASE_IMAGE=(\S+)$", text, re.MULTILINE)
    assert found, "the Dockerfile names no BASE_IMAGE"
    name = f"localhost/{found[1]}"
    known = subprocess.run([*PODMAN, "image", "exists", name], check=False, timeout=60)
    if known.returncode:
        _make_base(name)
    return name


def _make_base(name: str) -> None:
    packages = "ca-certificates,python3,python3-venv,python3-pip"
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "rootfs"
        run("debootstrap", "--variant=minbase", f"--include={packages}", "bookworm", str(root))
        archive = Path(folder) / "rootfs.tar"
        run("tar", "-C", str(root), "-cf", str(archive), ".")
        run(*PODMAN, "import", str(archive), name)


def build(tag: str, base: str, dockerfile: Path = ROOT / "Dockerfile", context: Path = ROOT) -> str:
    """Build an image; Docker's format, since only that one has health checks."""
    volumes = ["-v", f"{CERTIFICATES}:{CERTIFICATES}:ro"] if CERTIFICATES.is_dir() else []
    run(
        "buildah", "bud", "--format", "docker", "--isolation", "chroot",
        "--ulimit", "nofile=1024:1024", *volumes, "--build-arg", f"BASE_IMAGE={base}",
        "-t", tag, "-f", str(dockerfile), str(context),
    )  # fmt: skip
    return f"localhost/{tag}:latest"


def inside(image: str, *command: str, network: str = "none", seconds: int = 300) -> str:
    """Run a command in a new container of the image, as its own user and without capabilities."""
    return run(
        *PODMAN, "run", "--rm", "--no-healthcheck", "--network", network, "--cap-drop", "ALL",
        *ULIMITS, image, *command, seconds=seconds,
    )  # fmt: skip


@dataclass(frozen=True)
class Compose:
    """The compose file, through a Docker-compatible API of podman's.

    Attributes:
        project: the name that containers, volumes and networks begin with.
        env: what docker-compose and podman are started with.
    """

    project: str
    env: dict[str, str]

    def command(self, *words: str) -> list[str]:
        return ["docker-compose", "-p", self.project, *words]

    def up(self, *services: str, seconds: int = 300) -> None:
        """Bring services up, as `docker compose up` does, and ask health checks meanwhile."""
        with tempfile.TemporaryFile("w+") as said:
            starting = subprocess.Popen(
                self.command("up", "-d", "--no-build", *services), cwd=ROOT, env=self.env,
                stdin=subprocess.DEVNULL, stdout=said, stderr=subprocess.STDOUT,
            )  # fmt: skip
            end = time.monotonic() + seconds
            while starting.poll() is None and time.monotonic() < end:
                self.ask_health()
                time.sleep(5)
            if starting.poll() is None:
                starting.kill()
            code = starting.wait()
            said.seek(0)
            assert code == 0, f"docker-compose up: {code}\n{said.read()}\n{self.logs()}"

    def ask_health(self) -> None:
        """Run the health check of every container that is up."""
        for name in self.containers():
            subprocess.run(
                [*PODMAN, "healthcheck", "run", name], env=self.env, capture_output=True,
                check=False, timeout=60,
            )  # fmt: skip

    def health(self, service: str) -> str:
        """healthy, unhealthy or starting."""
        form = "{{.State.Health.Status}}"
        return self._podman("inspect", f"{self.project}_{service}_1", "--format", form).strip()

    def containers(self) -> list[str]:
        listed = self._podman("ps", "--format", "{{.Names}}").split()
        return [name for name in listed if name.startswith(f"{self.project}_")]

    def execute(self, service: str, *command: str) -> str:
        """The output of a command inside a running service."""
        return self._podman("exec", f"{self.project}_{service}_1", *command)

    def logs(self) -> str:
        """The last lines of every container."""
        return "\n".join(self._podman("logs", "--tail", "20", name) for name in self.containers())

    def _podman(self, *words: str) -> str:
        done = subprocess.run(
            [*PODMAN, *words], env=self.env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True, check=False, timeout=120,
        )  # fmt: skip
        return done.stdout


@contextmanager
def compose(project: str, images: dict[str, str]) -> Iterator[Compose]:
    """The compose file ready to be brought up; whatever it started is removed in the end."""
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder) / "containers.conf"
        config.write_text(CONTAINERS_CONF)
        socket = Path(folder) / "podman.sock"
        env = os.environ | images
        env |= {"CONTAINERS_CONF": str(config), "DOCKER_HOST": f"unix://{socket}"}
        api = subprocess.Popen(
            [*PODMAN, "system", "service", "--time=0", f"unix://{socket}"], env=env,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        made = Compose(project, env)
        try:
            _wait_for(socket)
            yield made
        finally:
            down = made.command("down", "-v", "-t", "20")
            subprocess.run(down, cwd=ROOT, env=env, capture_output=True, check=False, timeout=180)
            api.terminate()
            api.wait(30)


def _wait_for(socket: Path) -> None:
    end = time.monotonic() + 30
    while not socket.exists():
        assert time.monotonic() < end, f"podman's API did not come up at {socket}"
        time.sleep(0.1)
