"""Errors that a user can mend: text made safe for a terminal, the exceptions and their sentences, and their report."""

import contextlib
import difflib
import errno
import io
import os
import re
import select
import signal
import sys
from collections.abc import Collection, Iterable, Iterator

_NO_MEMORY = re.compile(
    r"can't allocate memory|cannot allocate memory|out of memory|not enough memory|bad_alloc"
    r"|storage size calculation overflowed|invalid buffer size",
    re.IGNORECASE,
)
"""Torch's messages for sizes beyond the memory, or beyond an integer."""
# Controls (C0, DEL and C1), separators of lines and paragraphs, and lone surrogates. Characters that reverse a line
# beyond their own text, too (embeddings, overrides, isolates: "Trojan Source", Boucher and Anderson 2021). Marks of
# direction and joiners stay, as Hebrew, Persian or Hindi is written with them.
_UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u206f\ufff9-\ufffb\ud800-\udfff]")
READER_GONE = "nobody reads standard output any more"
_LONGEST = 10_000  # characters of a sentence
_FULL = dict.fromkeys((errno.ENOSPC, errno.EDQUOT, errno.EFBIG), "free disk space")
_REMEDIES = {
    **_FULL,
    **dict.fromkeys((errno.EACCES, errno.EPERM, errno.EROFS), "give yourself permission to write there"),
    **dict.fromkeys((errno.EEXIST, errno.ENOTDIR), "a file is where a folder should be: remove it, or name another"),
    errno.EISDIR: "a folder is where a file should be: remove it, or name another",
    **dict.fromkeys((errno.ENOENT, errno.ESTALE), "look whether it was moved or deleted meanwhile"),
}


def visible(text: str) -> str:
    """Returns text of data or files on one line, safe for a terminal.

    Characters that move a cursor, end a line, reverse its direction or control the terminal become escapes. All other
    Unicode stays as it is.

    >>> print(visible("caf\u00e9 \x1b[31mred\\n"))
    café \\x1b[31mred\\n
    """
    return _UNSAFE.sub(lambda match: ascii(match[0])[1:-1], text)


def visible_lines(text: str) -> str:
    """Returns lines, each as `visible` writes it."""
    return "\n".join(map(visible, text.split("\n")))


class UserError(Exception):
    """An error that a user can mend. The message is one sentence: what was wrong, what was expected, what to do.

    Text of data and files in it is `visible`.
    """

    def __init__(self, sentence: str, *details: object) -> None:
        super().__init__(visible_lines(sentence), *details)


def nearest(wrong: str, known: Iterable[str]) -> str:
    """Returns a clause that lists the known names. It suggests one that is close to `wrong`.

    >>> nearest("mocah", ["dot", "mocha"])
    'did you mean mocha? choices: dot, mocha'
    """
    names = sorted(known)
    return f"{suggested(wrong, names)}choices: {', '.join(names)}"


def suggested(wrong: str, known: Iterable[str]) -> str:
    """Returns the beginning of a clause: it suggests the known name that is close to `wrong`, and is empty without."""
    close = difflib.get_close_matches(wrong[:100], sorted(known), n=1)  # of a long text it would take seconds
    return f"did you mean {close[0]}? " if close else ""


def require_choice(option: str, chosen: object, known: Collection[str]) -> None:
    """Raises UserError where a value of an option is none of the known ones. None says that nothing was chosen.

    >>> require_choice("attention", "mocah", ["dot", "mocha"])
    Traceback (most recent call last):
        ...
    mt.errors.UserError: attention=mocah is an invalid choice: did you mean mocha? choices: dot, mocha
    """
    if chosen is not None and chosen not in known:
        raise UserError(f"{option}={shown(str(chosen))} is an invalid choice: {nearest(str(chosen), known)}")


def shown(text: str, limit: int = 80) -> str:
    """Returns a user's text for use in a sentence: one line of at most `limit` characters, all printable."""
    plain = "".join(character if character.isprintable() else ascii(character)[1:-1] for character in text)
    return plain if len(plain) <= limit else f"{plain[: limit - 3]}..."


def counted(count: int, noun: str, ending: str = "s") -> str:
    """Returns a number with its noun. ending: of several.

    >>> counted(1, "line"), counted(2_000, "line")
    ('1 line', '2,000 lines')
    """
    return f"{count:,} {noun}{'' if count == 1 else ending}"


def message_of(error: BaseException) -> str:
    """Returns the message of an error on one line; the name of its type where it has none."""
    return " ".join(str(error).split()) or type(error).__name__


def first_line(error: BaseException) -> str:
    """Returns the first line of the message of an error; the name of its type where it has none."""
    return next(iter(str(error).splitlines()), type(error).__name__)


def explained(error: OSError, folder: os.PathLike[str] | None = None) -> str:
    """Returns the message of an error of the system, with a remedy where one is known.

    folder: named instead where the error is of the disk and names no file.
    """
    remedy = _REMEDIES.get(error.errno or 0)
    named = os.fsdecode(error.filename) if isinstance(error.filename, bytes) else error.filename
    where = named or (folder if remedy else None)
    clauses = (where, error.strerror or error, remedy)
    return ": ".join(str(clause) for clause in clauses if clause is not None)


def unwritten(name: object, error: OSError, remedy: str) -> str:
    """Returns the sentence for a file that the user chose and that cannot be written.

    remedy: what to do, unless the disk is full.
    """
    return f"{name} cannot be written ({error.strerror or error}): {_FULL.get(error.errno or 0, remedy)}"


def sentence(error: Exception) -> str:
    """Returns the sentence of an error that a user can mend."""
    return explained(error) if isinstance(error, OSError) else str(error)


class Interrupted(KeyboardInterrupt):
    """A signal asked the program to end. The message may say how to go on."""

    def __init__(self, number: int, message: str = "") -> None:
        super().__init__(message)
        self.number = signal.Signals(number)

    @property
    def status(self) -> int:
        """The exit status of the process, as a shell reports a signal."""
        return 128 + self.number


class Preempted(Interrupted):
    """A queue takes the machine away. The same command goes on with the run, later or elsewhere."""

    @property
    def status(self) -> int:
        """75, EX_TEMPFAIL of sysexits.h: "the user is invited to retry". It tells a script to queue the job again,
        unlike success (0), an error (1, 2) or a kill (128 and more)."""
        return os.EX_TEMPFAIL


@contextlib.contextmanager
def within_memory() -> Iterator[None]:
    """Raises UserError where Python, NumPy or torch is out of memory, on a processor or a GPU."""
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        # torch has no error of its own for that on a CPU: the message tells.
        if not isinstance(error, MemoryError) and not _NO_MEMORY.search(str(error)):
            raise
        size = re.search(r"allocate (\d+) bytes", str(error))
        wanted = f" for {int(size[1]) / 2**30:,.1f} GiB more" if size else ""
        raise UserError(
            f"there is not enough memory{wanted}: make the model smaller (its hidden_size and others), the batches "
            "(training.batch_tokens, search.batch_tokens) or the beam (search.beam_size)"
        ) from None


@contextlib.contextmanager
def reported(status: int = 2) -> Iterator[None]:
    """Ends the process on an error that a user can mend, with a sentence on standard error and this exit status.

    A signal has the status of `Interrupted`, which is 130 for Ctrl-C. Standard output is flushed here, so that a
    failure is reported. A reader that closes the pipe, as `| head` does, ends the process quietly, with status 141 as
    in other tools.
    """
    # Signals and streams of the process.
    use_utf8()
    if signal.getsignal(signal.SIGINT) is signal.SIG_DFL:  # as an entry point leaves it while its modules load
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if sys.stderr is None:  # closed: `2>&-`
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - for the rest of the process
    try:
        if sys.stdout is None:  # and the next file that is opened would take its place
            sys.exit(
                _printed("error: standard output is closed: leave it open, or send it to a file with > FILE", status)
            )
        try:
            with within_memory():
                yield
        finally:
            sys.stdout.flush()
    # Errors that a user can mend. Others are faults of the program, and keep their traceback.
    except (UserError, OSError) as error:
        # A full disk or a write-protected folder is no bug either, and has a message of the system.
        fault = output_fault()
        sys.exit(141 if fault == READER_GONE else _printed(f"error: {fault or sentence(error)}", status))
    except KeyboardInterrupt as interrupt:
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            signal.signal(signal.SIGINT, signal.SIG_DFL)  # a second Ctrl-C ends at once, without a trace
        end = interrupt if isinstance(interrupt, Interrupted) else Interrupted(signal.SIGINT)
        by = "" if end.number == signal.SIGINT else f" by {end.number.name}"
        sys.exit(_printed(f"interrupted{by}{': ' if str(end) else ''}{end}", end.status))


def use_utf8() -> None:
    """Makes standard output and error UTF-8, whatever the locale or PYTHONIOENCODING says.

    Bytes of file names that are not UTF-8 become escapes.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")


def output_fault() -> str | None:
    """Returns the fault of standard output, or None if it works; so a caller can tell where an OSError came from.

    After a fault the buffer is thrown away, since Python would try to write it once more at its end, and report that.
    """
    try:
        # A closed pipe may show by an error of writing, or by an event alone.
        sys.stdout.flush()  # unwritten text may still be buffered
        os.write(sys.stdout.fileno(), b"")
        ends = select.poll()
        ends.register(sys.stdout, 0)
        fault = READER_GONE if any(event & select.POLLERR for _, event in ends.poll(0)) else None
    except BrokenPipeError:
        fault = READER_GONE
    except io.UnsupportedOperation:
        return None  # a test has replaced it
    except OSError as error:
        fault = f"standard output cannot be written ({error.strerror}): send it elsewhere"
    if fault:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return fault


def _printed(text: str, status: int) -> int:
    """Prints the last line of a process to standard error, and returns its status."""
    with contextlib.suppress(OSError):  # standard error may be full or closed, too
        print(visible(text)[:_LONGEST], file=sys.stderr, flush=True)
    return status
