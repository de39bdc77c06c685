"""The engines of this machine: this process alone, its threads, and processes by loky."""

from __future__ import annotations

import os
import threading
import time
from concurrent.futures import BrokenExecutor, Future
from functools import lru_cache
from queue import Empty, SimpleQueue
from typing import Any

from omtl.compute.engines.pool import LOOK, Ends, Function
from omtl.compute.orphans import end_with
from omtl.util.user_folder import VARIABLE

IDLE = 300
"""Seconds after which idle worker processes end."""

LEAVE = 10.0
"""Seconds that idle worker processes have to end at exit."""

ONE_THREAD = {
    f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL", "BLIS", "NUMBA")
}
"""Environment of worker processes, of which there is one per core."""


class Alone:
    """This process, which works on one task at a time."""

    def __init__(self, function: Function) -> None:
        self._function = function
        self._tasks: list[Any] = []

    def capacity(self) -> int:
        """One."""
        return 1

    def backlog(self) -> int:
        """One: a task is chosen when the previous one has ended."""
        return 1

    def submit(self, task: Any) -> None:
        """Accept a task."""
        self._tasks.append(task)

    def ended(self) -> Ends:
        """Work on the accepted task."""
        tasks, self._tasks = self._tasks, []
        return [self._function(task) for task in tasks], None

    def close(self) -> None:
        """Do nothing: no task is running."""


class _Local:
    """Workers on this machine, which put finished results into a queue."""

    def __init__(self, jobs: int) -> None:
        self._jobs = jobs
        self._ended: SimpleQueue[Any] = SimpleQueue()

    def capacity(self) -> int:
        """The number of workers."""
        return self._jobs

    def backlog(self) -> int:
        """Two per worker, so that none waits."""
        return 2 * self._jobs

    def _unpacked(self, end: Any) -> Any:
        raise NotImplementedError

    def ended(self) -> Ends:
        """Return finished results."""
        returned: list[Any] = []
        try:
            returned.append(self._unpacked(self._ended.get(timeout=LOOK)))
            while True:
                returned.append(self._unpacked(self._ended.get_nowait()))
        except Empty:
            return returned, None
        except Exception as fault:
            return returned, fault


class Threads(_Local):
    """Threads of this process, which end with it."""

    def __init__(self, function: Function, jobs: int) -> None:
        super().__init__(jobs)
        self._tasks: SimpleQueue[Any] = SimpleQueue()
        for _ in range(jobs):
            threading.Thread(target=self._work, args=(function,), daemon=True).start()

    def _work(self, function: Function) -> None:
        while (given := self._tasks.get()) is not None:
            try:
                self._ended.put((function(given[0]), None))
            except BaseException as fault:  # report to whoever waits for the task
                self._ended.put((None, fault))

    def submit(self, task: Any) -> None:
        """Accept a task."""
        self._tasks.put((task,))

    def _unpacked(self, end: tuple[Any, BaseException | None]) -> Any:
        if end[1] is not None:
            raise end[1]
        return end[0]

    def close(self) -> None:
        """Let each thread end after its current task."""
        while not self._tasks.empty():
            self._tasks.get()
        for _ in range(self._jobs):
            self._tasks.put(None)


def _leave(this_process: int) -> None:
    """Ask idle worker processes to end, and kill those that do not.

    One may want a lock for ever that another one held when it was killed.
    """
    from joblib.externals.loky import reusable_executor
    from joblib.externals.loky.backend.utils import kill_process_tree

    executor = reusable_executor._executor
    if executor is None or os.getpid() != this_process:  # a fork has no workers
        return
    workers = list(executor._processes.values())
    executor.shutdown(wait=False)
    until = time.monotonic() + LEAVE
    while time.monotonic() < until:
        statuses = {worker.exitcode for worker in workers}
        if None not in statuses or statuses - {None, 0}:  # all have ended, or one was killed
            break
        time.sleep(0.01)
    for worker in workers:
        if worker.is_alive():
            kill_process_tree(worker)


@lru_cache
def _leave_at_exit(this_process: int) -> None:
    """Call `_leave` at exit, before loky waits for its processes: after its own registration."""
    threading._register_atexit(_leave, this_process)  # type: ignore[attr-defined]


class Processes(_Local):
    """Processes on this machine, through loky; they also serve the next pool, and end with this
    one.

    Where loky (3.6.0) would wait for ever after a process was killed, this takes its part, by names
    that loky keeps to itself: here for the rest of a result that the process had begun to send, and
    at exit for the other processes.
    """

    def __init__(self, function: Function, jobs: int) -> None:
        from joblib.externals.loky import get_reusable_executor
        from joblib.externals.loky.backend import get_context

        super().__init__(jobs)
        self._function = function
        self._under_way: set[Future[Any]] = set()
        self._executor = get_reusable_executor(
            jobs,
            context=get_context("loky"),  # which does not run the user's script again
            timeout=IDLE,
            initializer=end_with,
            initargs=(os.getpid(),),
            env=ONE_THREAD | {VARIABLE: os.environ.get(VARIABLE, "")},  # a new folder: new workers
        )

    def submit(self, task: Any) -> None:
        """Accept a task."""
        future = self._executor.submit(self._function, task)
        _leave_at_exit(os.getpid())
        self._under_way.add(future)
        future.add_done_callback(self._ended.put)

    def _unpacked(self, end: Any) -> Any:
        self._under_way.discard(end)
        return end.result()

    def ended(self) -> Ends:
        """Return finished results; a fault if none came and a worker is dead."""
        returned, fault = super().ended()
        if not returned and fault is None and not all(each.is_alive() for each in self._workers()):
            fault = BrokenExecutor("a worker process ended before all of its result had come")
        return returned, fault

    def _workers(self) -> list[Any]:
        """Return the processes that loky takes for alive."""
        return list(self._executor._processes.values())

    def close(self) -> None:
        """End the workers if they are busy.

        Not before what was submitted last is on its way to them: a thread of loky (3.6.0) that
        still looks for it then would print a `KeyError`.
        """
        from joblib.externals.loky.backend.utils import kill_process_tree

        until = time.monotonic() + LOOK
        while self._waiting() and time.monotonic() < until:
            time.sleep(0.001)
        if not self._under_way:
            return
        with self._executor._shutdown_lock:  # under which loky marks a pool as broken
            if not self._executor._flags.broken:
                # Then a result ends with its senders, and nothing waits for its rest.
                self._executor._result_queue._writer.close()
        for worker in self._workers():
            kill_process_tree(worker)
        self._executor.shutdown(kill_workers=True)

    def _waiting(self) -> bool:
        """Whether a task has neither been handed to a worker nor finished."""
        return not all(future.running() or future.done() for future in self._under_way)
