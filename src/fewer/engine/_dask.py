"""Work on a Dask cluster."""

import itertools
import time
import uuid
from collections import Counter, deque
from collections.abc import Callable
from concurrent.futures import CancelledError
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from fewer.engine._attempt import (
    Outcome,
    Packed,
    Report,
    attempt_on_bytes,
    call_from,
    failure_from,
    packed,
    pickled,
    report_from,
)
from fewer.engine._engine import Engine
from fewer.engine._run import MAX_ATTEMPTS, Session, Ticket
from fewer.engine._worker import cores, within

if TYPE_CHECKING:
    from distributed import Client, Future

_WAIT_FOR_WORKERS_SECONDS = 60
_COUNT_THREADS_EVERY_SECONDS = 2.0


class DaskEngine(Engine):
    """Runs tasks on a Dask cluster; made by ``Engine.dask``."""

    def __init__(self, address: str | None = None, *, client: "Client | None" = None) -> None:
        super().__init__()
        if address is not None and client is not None:
            raise ValueError("Give the address of a scheduler or a client, not both.")
        self._owns_client = address is not None
        self._client = _connected(address) if address is not None else _usable(client)
        self._address = str(self._client.scheduler_info()["address"])

    @property
    def n_workers(self) -> int:
        return sum(self._client.nthreads().values())

    def _session(
        self, function: Callable[..., Any], shared: tuple[Any, ...], *, n_short_tasks: int | None = None
    ) -> Session:
        return DaskSession(self._client, packed((function, shared)))

    def _release(self) -> None:
        if self._owns_client:
            with suppress(OSError, TimeoutError):  # a scheduler that is gone has nothing to say
                self._client.close()

    def __repr__(self) -> str:
        return f"Engine.dask({self._address!r})" + (" (closed)" if self.closed else "")


class Cargo:
    """Function and shared data in the memory of a Dask worker, unpacked there by the first task that needs them."""

    def __init__(self, package: Packed, name: str) -> None:
        self._package = package
        self._name = name

    def __reduce__(self) -> tuple[Callable[..., "Cargo"], tuple[Any, ...]]:
        return _arrived, (self._package, self._name)  # packed again, when it moves on to another worker

    @cached_property
    def call(self) -> Callable[[Any], Any]:
        """The function of the run, with its shared data."""
        return call_from(lambda: self._package)


_here: WeakValueDictionary[str, Cargo] = WeakValueDictionary()


def _arrived(package: Packed, name: str) -> Cargo:
    """The cargo of this name in this process: what comes twice, from the client and from a worker, is unpacked once."""
    return _here.setdefault(name, Cargo(package, name))


def run_on_worker(task_bytes: bytes, cargo: Cargo, threads_by_host: dict[str, int]) -> tuple[str, bytes]:
    """Name of the Dask worker, and the report of the task that it ran within its share of the host."""
    from distributed import get_worker
    from distributed.comm import get_address_host

    worker = get_worker()
    side_by_side = max(threads_by_host.get(get_address_host(worker.address), 0), worker.state.nthreads)
    with within(max(1, cores() // side_by_side)):
        return worker.address, attempt_on_bytes(cargo.call, task_bytes)


@dataclass(slots=True)
class Parcel:
    """A ticket on its way, and how often it got lost."""

    ticket: Ticket
    task_bytes: bytes
    losses: int = 0
    on_trial: bool = False


class DaskSession(Session):
    """Runs tasks as Dask futures.

    The scheduler starts tasks of a dead worker again by itself. After a few deaths it gives up on all tasks that were
    assigned to that worker, those that only waited their turn too. So these are tried once more, one at a time: then
    the guilty one is alone.
    """

    def __init__(self, client: "Client", package: Packed) -> None:
        import numpy as np

        self._client = client
        # Arrays of bytes, because Dask sends arrays without copying them.
        self._package = Packed(package.pickled, [np.frombuffer(buffer, np.uint8) for buffer in package.buffers])
        self._name = f"fewer-{uuid.uuid4().hex[:12]}"
        self._numbers = itertools.count()
        self._sent: dict[Any, tuple[Parcel, Future]] = {}
        self._held: deque[Parcel] = deque()
        self._suspects: deque[Parcel] = deque()
        self._ended: SimpleQueue[Future | None] = SimpleQueue()
        self._outcomes: deque[Outcome] = deque()
        self._threads_by_host: dict[str, int] = {}
        self._cargo: Future | None = self._loaded_cargo()
        self._count_threads()

    @property
    def capacity(self) -> int:
        if time.monotonic() - self._counted_at > _COUNT_THREADS_EVERY_SECONDS:  # workers come and go
            self._count_threads()
        return 3 * self._threads

    def submit(self, ticket: Ticket) -> None:
        try:
            self._held.append(Parcel(ticket, pickled(ticket.task)))
        except Exception as error:
            self._outcomes.append(ticket.unpicklable(error))
        self._send()

    def next_outcome(self, *, wait: bool) -> Outcome | None:
        if not self._outcomes:
            self._settle(self._ended_futures(wait=wait))
            self._send()
        return self._outcomes.popleft() if self._outcomes else None

    def wake(self) -> None:
        self._ended.put(None)  # SimpleQueue.put is safe in a signal handler

    def close(self) -> None:
        """Cancel what waits; what runs on a Dask worker cannot be stopped, but its outcome is dropped."""
        futures = [future for _, future in self._sent.values()]
        self._sent.clear()
        self._held.clear()
        self._suspects.clear()
        if futures and self._client.status == "running":
            with suppress(Exception):  # the scheduler may leave at this very moment, and then all is cancelled anyway
                self._client.cancel(futures, force=True)
        self._cargo = None
        self.wake()

    def _send(self) -> None:
        """Send what is held back, unless a suspect is on trial; then, when all else is done, the next suspect."""
        if any(parcel.on_trial for parcel, _ in self._sent.values()):
            return
        while self._held:
            self._send_one(self._held.popleft())
        if self._suspects and not self._sent:
            suspect = self._suspects.popleft()
            suspect.on_trial = True
            self._send_one(suspect)

    def _send_one(self, parcel: Parcel) -> None:
        key = f"{self._name}-{next(self._numbers)}"
        future = self._client.submit(
            run_on_worker, parcel.task_bytes, self._cargo, self._threads_by_host, key=key, pure=False
        )
        self._sent[key] = parcel, future
        future.add_done_callback(self._ended.put)

    def _ended_futures(self, *, wait: bool) -> "list[Future]":
        """Futures that have come to an end since the last call; with ``wait``, at least one, unless woken."""
        futures = []
        with suppress(Empty):
            future = self._ended.get(block=wait)
            while future is not None or not wait:
                if future is not None:
                    futures.append(future)
                future = self._ended.get(block=False)
        return [future for future in futures if future.key in self._sent]

    def _settle(self, futures: "list[Future]") -> None:
        replies = self._replies([future for future in futures if future.status == "finished"])
        for future in futures:
            parcel, _ = self._sent.pop(future.key)
            if future.key in replies:
                worker, report_bytes = replies[future.key]
                report = report_from(report_bytes)
                self._outcomes.append(parcel.ticket.outcome(report, attempts=parcel.losses + 1, worker=worker))
            elif future.status == "error":
                self._settle_error(parcel, future.exception())
            else:
                self._settle_loss(parcel)

    def _replies(self, futures: "list[Future]") -> dict[Any, tuple[str, bytes]]:
        """What the workers sent back; a future whose reply got lost on the way is left out."""
        if not futures:
            return {}
        try:
            return dict(zip([future.key for future in futures], self._client.gather(futures), strict=True))
        except (OSError, CancelledError):
            self._require_scheduler()
            return {}

    def _settle_error(self, parcel: Parcel, error: BaseException) -> None:
        """Errors of the task itself are inside its report; this one is Dask's."""
        from distributed import KilledWorker

        if not isinstance(error, KilledWorker):
            self._outcomes.append(parcel.ticket.outcome(Report(None, failure_from(error), 0.0)))
            return
        parcel.losses += error.allowed_failures + 1
        if parcel.on_trial:
            how = f"last on {error.last_worker.address}; see its log"
            self._outcomes.append(parcel.ticket.killer(parcel.losses, how, error.last_worker.address))
        else:
            self._suspects.append(parcel)

    def _settle_loss(self, parcel: Parcel) -> None:
        """The future is gone: with the scheduler, or because every worker that held the shared data died."""
        self._require_scheduler()
        parcel.losses += 1
        parcel.on_trial = False
        if parcel.losses >= MAX_ATTEMPTS:
            self._outcomes.append(parcel.ticket.killer(parcel.losses, "with all the workers that held its data", ""))
            return
        if self._cargo is None or self._cargo.status != "finished":
            self._cargo = self._loaded_cargo()
        self._suspects.append(parcel)

    def _loaded_cargo(self) -> "Future":
        """Function and shared data, sent to every worker once, and as soon as there is one."""
        self._require_scheduler()
        try:
            _wait_for_a_worker(self._client)
            (future,) = self._client.scatter([Cargo(self._package, self._name)], broadcast=True, hash=False)
        except OSError:
            self._require_scheduler()
            raise
        return future

    def _count_threads(self) -> None:
        """Note how many Dask threads there are, and for each host the most there were: a lost worker comes back."""
        from distributed.comm import get_address_host

        self._require_scheduler()
        try:
            threads_by_worker = self._client.nthreads()
        except OSError:
            self._require_scheduler()
            raise
        now: Counter[str] = Counter()
        for address, threads in threads_by_worker.items():
            now[get_address_host(address)] += threads
        self._threads_by_host = dict(now | Counter(self._threads_by_host))
        self._threads = max(1, now.total())
        self._counted_at = time.monotonic()

    def _require_scheduler(self) -> None:
        if self._client.status != "running":
            raise ConnectionError(
                "The connection to the Dask scheduler was lost. Outcomes returned before are valid; start the "
                "scheduler again and run the remaining tasks with a new engine."
            )


def _wait_for_a_worker(client: "Client") -> None:
    try:
        client.wait_for_workers(1, timeout=_WAIT_FOR_WORKERS_SECONDS)
    except TimeoutError:
        address = client.scheduler_info()["address"]
        raise TimeoutError(
            f"The Dask scheduler at {address} has had no worker for {_WAIT_FOR_WORKERS_SECONDS} s. Start one "
            f"with `dask worker {address}`, or let an adaptive cluster keep at least one."
        ) from None


def _connected(address: str) -> "Client":
    distributed = _distributed()
    try:
        return distributed.Client(address, set_as_default=False)
    except (OSError, TimeoutError, ValueError) as error:
        raise ConnectionError(
            f"No Dask scheduler answers at {address!r} ({error}). Start one with `dask scheduler`, and give the "
            "address that it prints, such as tcp://10.0.0.5:8786."
        ) from error


def _usable(client: "Client | None") -> "Client":
    distributed = _distributed()
    if client is None:
        try:
            client = distributed.default_client()
        except ValueError:
            raise ValueError(
                "Give the address of a Dask scheduler, such as Engine.dask('tcp://10.0.0.5:8786'), or a client."
            ) from None
    if client.asynchronous:
        raise ValueError("Give a client that is not asynchronous; the address of its scheduler will do as well.")
    return client


def _distributed() -> Any:
    try:
        import distributed
    except ImportError as error:
        raise ImportError("Engine.dask needs Dask; install it with: pip install 'fewer[dask]'") from error
    return distributed
