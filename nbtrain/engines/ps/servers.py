"""The servers of a cluster, as the process sees them that coordinates the training."""

from __future__ import annotations

import contextlib
import os
import re
import socket
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psutil
import tensorflow as tf

from nbtrain.cluster import ports
from nbtrain.cluster.description import Description, TaskAddress

# Tasks that are asked at once whether they listen.
_AT_ONCE = 32
# The system ends a connection that has not been confirmed for eight seconds: three idle ones, then
# five probes, one a second; or, if data was sent, eight thousand milliseconds.
_LIMITS = {
    "TCP_KEEPIDLE": 3,  # Linux
    "TCP_KEEPALIVE": 3,  # macOS
    "TCP_KEEPINTVL": 1,
    "TCP_KEEPCNT": 5,
    "TCP_USER_TIMEOUT": 8000,  # Linux
}
# TensorFlow's words for a parameter server that is gone, or was started again and knows nothing.
_PS = re.compile(r"/job:ps/replica:\d+/task:(\d+)")
_FORGOTTEN = "context_id"
_LOST = (tf.errors.UnavailableError, tf.errors.AbortedError)


def silent(
    tasks: Sequence[TaskAddress], is_there: Callable[[str], bool] = ports.listens
) -> list[TaskAddress]:
    """Returns the tasks at whose addresses nobody listens, or nobody answers."""
    if not tasks:
        return []
    with ThreadPoolExecutor(min(len(tasks), _AT_ONCE)) as pool:
        listening = list(pool.map(is_there, (task.address for task in tasks)))
    return [task for task, there in zip(tasks, listening, strict=True) if not there]


def limit_silence(tasks: Iterable[TaskAddress]) -> None:
    """Limits how long connections of this process to the tasks' ports may stay unconfirmed.

    A machine that is switched off, or behind a cut network, sends nothing that ends a connection.
    TensorFlow would wait for its answer for ever, in some calls with Python's lock held. With the
    limit, such calls raise an UnavailableError.
    """
    called = {ports.split(task.address)[1] for task in tasks}
    for held in psutil.Process().net_connections("tcp"):
        if held.raddr and held.raddr.port in called:
            with contextlib.suppress(OSError), socket.socket(fileno=os.dup(held.fd)) as connection:
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
                for name, limit in _LIMITS.items():
                    if option := getattr(socket, name, None):
                        connection.setsockopt(socket.IPPROTO_TCP, option, limit)


def lost_servers(error: BaseException, servers: Sequence[TaskAddress]) -> list[TaskAddress]:
    """Returns the parameter servers that an error reports as lost; empty for any other error."""
    if not isinstance(error, tf.errors.OpError):
        return []
    text = str(error)
    if not isinstance(error, _LOST) and _FORGOTTEN not in text:
        return []
    named = {int(number) for number in _PS.findall(text)}
    found = [server for server in servers if server.index in named]
    return found or silent(servers)


def own_address(description: Description) -> str:
    """Returns a new address of this process, at which the tasks can call it.

    Each connection needs a new address. If all addresses are the same, TensorFlow assumes that it
    is still connected to the cluster, and that the servers still know what it sent them.
    """
    given = description.jobs.get("chief")
    host = given[0].rpartition(":")[0] if given else _own_host(description.of("ps")[0].address)
    with socket.socket() as probe:
        probe.bind(("", 0))
        return f"{host}:{probe.getsockname()[1]}"


def _own_host(address: str) -> str:
    """Returns the address of this machine in the network of another one."""
    host, _, port = address.rpartition(":")
    family, kind, protocol, _, target = socket.getaddrinfo(
        host.strip("[]"), int(port), type=socket.SOCK_DGRAM
    )[0]
    with socket.socket(family, kind, protocol) as probe:
        probe.connect(target)  # sends nothing
        own = str(probe.getsockname()[0])
    return f"[{own}]" if ":" in own else own


def in_words(tasks: Iterable[Any]) -> str:
    """Names tasks with their addresses: `ps 0 (10.0.0.2:2222)`."""
    return ", ".join(f"{task} ({task.address})" for task in tasks)
