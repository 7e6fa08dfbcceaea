"""The command line itself: the app that commands join, and how errors and warnings are shown.

An error in the user's data is shown as one paragraph on the standard error, with exit code 2; a traceback is shown only
for a fault of fewer itself.
"""

import gc
import os
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Annotated, Any

import typer
import typer.core

from fewer._wording import translated_by
from fewer.cli._reading import option_for

BAD_INPUT = 2
INTERRUPTED = 130
TERMINATED = 143  # as shells count a process that ends by SIGTERM
PIPE_CLOSED = 141  # as shells count a process that ends by SIGPIPE


class _FlagsWithoutType:
    """Help that shows no type for flags, which take no value."""

    def get_params(self, ctx: Any) -> list[Any]:
        params: list[Any] = super().get_params(ctx)  # type: ignore[misc]
        for param in params:
            if getattr(param, "is_flag", False):
                param.metavar = ""
        return params


class _Command(_FlagsWithoutType, typer.core.TyperCommand):
    pass


class _Group(_FlagsWithoutType, typer.core.TyperGroup):
    pass


class _App(typer.Typer):
    def command(self, *args: Any, cls: Any = _Command, **options: Any) -> Any:
        return super().command(*args, cls=cls, **options)


app = _App(
    name="fewer",
    cls=_Group,
    help="Fewer features, honestly chosen. Start with: fewer describe TABLE --target COLUMN",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(asked: bool) -> None:
    if asked:
        from fewer import __version__

        typer.echo(f"fewer {__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Fewer features, honestly chosen. Start with: fewer describe TABLE --target COLUMN"""


@contextmanager
def without_collector() -> Iterator[Callable[[], None]]:
    """Python's search for garbage is off while modules are imported, and leaves them out later: all of them are needed.

    Call what this gives when the work begins. A small study takes a tenth less of the processor.
    """
    ours = gc.isenabled() and not gc.get_freeze_count()

    def imported() -> None:
        if ours:
            gc.freeze()
            gc.enable()

    if ours:
        gc.disable()
    try:
        yield imported
    finally:
        if ours:
            gc.unfreeze()
            gc.enable()


@contextmanager
def told_plainly() -> Iterator[None]:
    """Turn errors about the user's data into one paragraph and an exit code; end quietly when the user stops us."""
    terminated: list[int] = []
    try:
        with _sigterm_as_ctrl_c(terminated), translated_by(option_for):
            yield
    except KeyboardInterrupt:
        raise typer.Exit(TERMINATED if terminated else INTERRUPTED) from None
    except BrokenPipeError:
        # Python flushes the standard output once more at its end; there must be something to flush to.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(PIPE_CLOSED) from None
    except OSError as error:
        _complain(f"{error.filename}: {error.strerror}." if error.filename else str(error))
        raise typer.Exit(BAD_INPUT) from None
    except Exception as error:
        # The package's own errors are written for its users; all others are faults that need their traceback.
        if not type(error).__module__.startswith("fewer."):
            raise
        _complain(str(error))
        raise typer.Exit(BAD_INPUT) from None


@contextmanager
def _sigterm_as_ctrl_c(terminated: list[int]) -> Iterator[None]:
    """Stop by SIGTERM as by Ctrl-C: workers end, and what is finished is kept. The signal is noted in the list."""

    def stop(signum: int, frame: FrameType | None) -> None:
        terminated.append(signum)
        interrupt = signal.getsignal(signal.SIGINT)
        if not callable(interrupt):  # ignored, as in a job in the background
            raise KeyboardInterrupt
        interrupt(signal.SIGINT, frame)

    in_charge = threading.current_thread() is threading.main_thread()
    if not in_charge or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield
        return
    signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def write_out(text: str) -> None:
    """Write to the standard output, with a ? for what its encoding cannot show."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    sys.stdout.write(text.encode(encoding, errors="replace").decode(encoding))
    sys.stdout.flush()


def _complain(message: str) -> None:
    from rich.console import Console
    from rich.text import Text

    Console(stderr=True, soft_wrap=True, highlight=False).print(Text(message, style="red"))


@contextmanager
def warnings_as_notes() -> Iterator[None]:
    """Show warnings as plain text on the standard error, without the line of code that raised them.

    Before an error, too: what was odd in the table is often why.
    """
    caught: list[warnings.WarningMessage] = []
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("default")
            yield
    finally:
        for warning in caught:
            typer.secho(f"Warning: {warning.message}", fg="yellow", err=True)


def without_trailing_spaces(text: str) -> str:
    """Cells of tables are padded to their width; spaces at the end of a line are no use to anyone."""
    return "\n".join(line.rstrip() for line in text.split("\n"))
