r"""The prompt of `sager sql`: reads statements and dot commands, and carries out each in a process of its own.

The history is kept in memory: a question may name a person, and no file of theirs should be left when they are
forgotten.
"""

import time
from collections.abc import Callable, Sequence
from typing import Any

from prompt_toolkit import PromptSession
from prompt_toolkit.history import InMemoryHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent

from streams.cli.data.query import Mode, Progress, print_answer
from streams.cli.output import note, printable
from streams.cli.shell.catalogue import COLUMNS, DESCRIBED, LISTED, catalogue
from streams.cli.shell.completer import SqlCompleter
from streams.cli.shell.statements import is_whole, split
from streams.exceptions import StreamsError
from streams.materializer import read, statements  # noqa: F401 - here once, and not again in every query's process
from streams.materializer.asking import Asked, QueryFailed
from streams.settings import Settings

COMMANDS = {
    ".tables": "macros, views and tables, each with what it tells",
    ".schema": ".schema NAME: its columns, or what a macro takes",
    ".macros": "macros alone: FROM policy_at('ann', '2026-01-31');",
    ".mode": ".mode auto|table|vertical|json|csv: how answers are printed",
    ".vertical": ".vertical on|off: one value a line",
    ".full": ".full on|off: whether long values are printed whole",
    ".help": "this list",
    ".quit": "leave, as Ctrl-D does",
}
MODES = [mode for mode in Mode if mode is not Mode.WRAPPED]
SWITCH = {"on": True, "off": False}
GREETING = (
    "The snapshot, read-only. End a query with ; or \\G (one value a line), Tab completes, Ctrl-C stops a query, "
    "Ctrl-D leaves; .help lists more."
)
PROMPT, CONTINUED = "sager> ", "  ...> "


class Shell:
    """A prompt over the newest snapshot.

    Args:
        settings: which snapshot.
        mode: how answers are printed, until `.mode` says otherwise.
        full: cut no long value.
        seconds: time limit for a query.
        memory_bytes: most memory that a query may take.
        ask: gives what was typed next; EOFError at its end, KeyboardInterrupt where it is thrown away.

    Raises:
        MaterializerError: by `run`, if there is no snapshot that can be read.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        mode: Mode,
        full: bool,
        seconds: float,
        memory_bytes: int,
        ask: Callable[[], str] | None = None,
    ) -> None:
        self._settings, self._mode, self._full = settings, mode, full
        self._seconds, self._memory_bytes = seconds, memory_bytes
        self.completer = SqlCompleter(COMMANDS, {".mode": MODES, ".vertical": list(SWITCH), ".full": list(SWITCH)})
        self._ask = ask or session(self.completer).prompt
        self._seen: tuple[int, int] | None = None

    def run(self) -> None:
        """Ask and answer until the end of what is typed."""
        self._learn()
        self._seen = self._published()
        note(GREETING)
        while True:
            try:
                typed = self._ask()
            except KeyboardInterrupt:
                continue
            except EOFError:
                return
            if typed.strip() in (".quit", ".exit"):
                return
            self._carry_out(typed)

    def _carry_out(self, typed: str) -> None:
        began = time.monotonic()
        try:
            if typed.lstrip().startswith("."):
                self._command(*typed.split())
                return
            for statement in split(typed):
                self._tell_of_newer()
                began = time.monotonic()
                count = self._answer(statement.text, mode=Mode.VERTICAL if statement.vertical else self._mode)
                note(f"{count:,} {'row' if count == 1 else 'rows'} in {time.monotonic() - began:.2f} s")
        except KeyboardInterrupt:
            note(f"stopped after {time.monotonic() - began:.1f} s")
        except StreamsError as error:
            note(str(error))

    def _command(self, name: str, argument: str = "", *more: str) -> None:
        match name, argument:
            case _ if more:
                note(f"{name} takes one word; .help lists commands")
            case ".help", _:
                for each, told in COMMANDS.items():
                    print(f"{each:<10} {told}")
            case ((".tables" | ".macros"), ""):
                self._learn()
                only = "WHERE kind = 'macro'" if name == ".macros" else ""
                self._answer(f"FROM ({LISTED}) {only}", mode=Mode.WRAPPED)
            case ".schema", str(of) if of:
                self._schema(of.rstrip(";"))
            case ".mode", mode if mode in MODES:
                self._mode = Mode(mode)
            case ".vertical", switch if switch in SWITCH:
                self._mode = Mode.VERTICAL if SWITCH[switch] else Mode.AUTO
            case ".full", switch if switch in SWITCH:
                self._full = SWITCH[switch]
            case _ if name in COMMANDS:
                note(COMMANDS[name])
            case _:
                note(f"there is no command {name}; .help lists them")

    def _schema(self, name: str) -> None:
        found = self.completer.catalogue.find(name)
        if found is None:
            raise QueryFailed(f"there is no table, view or macro {name!r}; .tables lists them")
        print(printable(f"{found.kind} {found.name}: {found.comment}"))
        if found.kind != "macro":
            self._answer(DESCRIBED, [found.name], mode=Mode.WRAPPED)

    def _answer(self, query: str, values: Sequence[Any] = (), *, mode: Mode) -> int:
        with Progress() as progress, self._asked(query, values, progress.at) as asked:
            return print_answer(asked.columns(), asked.rows(), mode, full=self._full)

    def _asked(self, query: str, values: Sequence[Any], tell: Callable[[int | None], None]) -> Asked:
        return Asked(self._settings, query, values, seconds=self._seconds, memory_bytes=self._memory_bytes, tell=tell)

    def _learn(self) -> None:
        """Learns what can be completed. Tables change with a release, not with a snapshot."""
        found = []
        for query in (LISTED, COLUMNS):
            with self._asked(query, (), lambda _: None) as asked:
                asked.columns()
                found.append(list(asked.rows()))
        self.completer.catalogue = catalogue(*found)

    def _tell_of_newer(self) -> None:
        published = self._published()
        if published not in (None, self._seen):
            note("a newer snapshot has been published since, and answers from here on")
            self._seen = published

    def _published(self) -> tuple[int, int] | None:
        """Which file lies there now: it is replaced as a whole."""
        try:
            found = self._settings.duckdb_file.stat()
        except OSError:
            return None
        return found.st_ino, found.st_mtime_ns


def session(completer: SqlCompleter, **of_terminal: Any) -> PromptSession[str]:
    """The prompt on the terminal: Enter goes on until a statement has ended, and Tab completes."""
    keys = KeyBindings()

    @keys.add("enter")
    def _enter(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        if buffer.complete_state is not None and buffer.complete_state.current_completion is not None:
            buffer.complete_state = None
        elif is_whole(buffer.text):
            buffer.validate_and_handle()
        else:
            buffer.insert_text("\n")

    return PromptSession(
        PROMPT,
        multiline=True,
        prompt_continuation=CONTINUED,
        completer=completer,
        history=InMemoryHistory(),
        key_bindings=keys,
        **of_terminal,
    )
