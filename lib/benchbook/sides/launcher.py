"""Runs commands one at a time, and says what each used: a small process of its own.

It imports little, because the kernel counts the memory of the process that starts a command as the
command's own, until the command has more. Each line of its input is a request in JSON, and each
line of its output the reply.
"""

import json
import os
import signal
import sys
import time
from typing import Any, Final, NoReturn

NOT_STARTED: Final = 127
"""The exit status of a command that could not be started."""

_running: set[int] = set()


def run_command(words: list[str], output: str, errors: str, timeout_s: float) -> dict[str, Any]:
    """Run a command and return its exit status, times in ns and peak memory in B.

    Parameters
    ----------
    output, errors
        The files that get what it prints, and its errors.
    timeout_s
        Seconds after which it is killed; its status is then None.
    """
    streams = [
        os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600) for name in (output, errors)
    ]
    signal.setitimer(signal.ITIMER_REAL, timeout_s)
    began_at, begin = time.time_ns(), time.perf_counter_ns()
    # A SIGTERM between both would miss the child.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    child = os.fork()
    if not child:
        _become_command(words, *streams)
    _running.add(child)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
    os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
    wall_ns = time.perf_counter_ns() - begin
    left_s, _ = signal.setitimer(signal.ITIMER_REAL, 0)
    # Processes that it left behind end, too. Its id is not reused before it is waited for.
    _end_running()
    _, status, usage = os.wait4(child, 0)
    for stream in streams:
        os.close(stream)
    return {
        "status": os.waitstatus_to_exitcode(status) if left_s else None,
        "began_at": began_at,
        "wall_time": wall_ns,
        "cpu_user": usage.ru_utime * 1e9,
        "cpu_system": usage.ru_stime * 1e9,
        "memory_peak": usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024),
    }


def _become_command(words: list[str], printed: int, errors: int) -> NoReturn:
    try:
        os.setsid()
        signal.setitimer(signal.ITIMER_REAL, 0)
        # Python ignores some signals, and a command would inherit that.
        for number in (signal.SIGTERM, signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
        for target, source in enumerate((os.open(os.devnull, os.O_RDONLY), printed, errors)):
            os.dup2(source, target)
        os.execvp(words[0], words)
    except OSError as error:
        os.write(errors, f"{words[0]}: {error.strerror}".encode())
    os._exit(NOT_STARTED)


def _end_running() -> None:
    """Kill the command that runs, with all that it started in its session."""
    for child in [*_running]:
        for kill in (os.killpg, os.kill):
            try:
                kill(child, signal.SIGKILL)
            except OSError:  # it has ended
                continue
    _running.clear()


def main() -> None:
    """Answer requests until the input ends; SIGTERM ends the command that runs, too."""

    def end(*_: object) -> None:
        _end_running()
        os._exit(0)

    signal.signal(signal.SIGTERM, end)
    signal.signal(signal.SIGALRM, lambda *_: _end_running())
    for line in sys.stdin:
        print(json.dumps(run_command(**json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
