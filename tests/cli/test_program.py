"""The program: exit codes, messages instead of tracebacks, pipes that break, help without libraries, completion."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import click
import pytest
from click.testing import CliRunner
from support.shell import run

from ldpstats import LdpstatsError
from ldpstats.cli import main
from ldpstats.cli.program import Program

ROOT = Path(__file__).parents[2]
COMMAND = [sys.executable, "-m", "ldpstats"]
HEAVY = {"numpy", "pandas", "scipy", "numba", "matplotlib", "pyarrow", "dask", "tqdm", "jinja2"}


def program(fails: Callable[[], object]) -> Program:
    """Return a program of one command, which does this."""

    @click.command()
    def it() -> None:
        fails()

    return Program(commands=[it])


def raising(error: BaseException) -> Callable[[], object]:
    def fails() -> object:
        raise error

    return fails


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (LdpstatsError("a stone", "bread"), 3, "Error: a stone. Allowed: bread.\n"),
        (
            FileNotFoundError(2, "No such file or directory", "x.csv"),
            3,
            "No such file or directory. Allowed: a file that is there",
        ),
        (OSError(28, "No space left on device"), 3, "Error: No space left on device\n"),
        (MemoryError(), 3, "not enough memory"),
        (click.UsageError("not so"), 2, "not so"),
        (KeyboardInterrupt(), 130, "interrupted"),
        (EOFError(), 3, "ends too early"),
        (BrokenPipeError(32, "Broken pipe"), 141, ""),
        (ZeroDivisionError("by zero"), 70, "nobody foresaw (ZeroDivisionError: by zero)"),
        (UnicodeDecodeError("utf-8", b"\xff", 0, 1, "bad"), 70, "nobody foresaw"),
    ],
)
def test_every_error_is_a_message_and_an_exit_code(error: BaseException, code: int, message: str) -> None:
    result = CliRunner().invoke(program(raising(error)), ["it"])
    assert result.exit_code == code
    assert message in result.stderr
    assert "Traceback" not in result.output
    assert result.stdout == ""


def test_where_something_unforeseen_happened_is_told_to_who_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LDPSTATS_TRACEBACK", "1")
    result = CliRunner().invoke(program(raising(ZeroDivisionError())), ["it"])
    assert isinstance(result.exception, ZeroDivisionError)


def test_warnings_are_notes_for_people() -> None:
    @click.command()
    def it() -> None:
        import warnings

        warnings.simplefilter("always")
        warnings.warn("mind the gap", stacklevel=1)

    result = CliRunner().invoke(Program(commands=[it]), ["it"])
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "Note: mind the gap\n")


def test_help_has_examples_and_loads_no_library() -> None:
    """All in one process, which says after every command what is loaded."""
    names = ["", *main.commands]
    code = "import json, sys\nfrom ldpstats.cli import main\n"
    code += f"for name in {names!r}:\n"
    code += "    main([*name.split(), '--help'], standalone_mode=False)\n    print(json.dumps(list(sys.modules)))"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT).stdout
    *texts, end = re.split(r"^(\[.*\])\n", shown, flags=re.MULTILINE)
    assert (len(texts), end) == (2 * len(names), "")
    for name, text, loaded in zip(names, texts[::2], texts[1::2], strict=True):
        help_text = text.splitlines()
        assert not {one.partition(".")[0] for one in json.loads(loaded)} & HEAVY, name
        assert any("ldpstats " in line for line in help_text[3:]), name
        assert max(map(len, help_text)) <= 120, name


@pytest.mark.parametrize("name", list(main.commands))
def test_every_command_can_print_json(name: str) -> None:
    assert "--json" in {option for one in main.commands[name].params for option in one.opts}


def test_names_do_not_steer_a_terminal(tmp_path: Path) -> None:
    """In errors, notes, results, and where a page was written: to a terminal click lets everything through."""
    file, page = (str(tmp_path / f"g\x1b[2J\nx.{ending}") for ending in ("csv", "html"))
    Path(file).write_text("a\x1b[2J;b\n" + "1;2\n2;1\n" * 20, "utf-8")
    for arguments in (["analyse", file, "--epsilon", "2", "-o", page], ["domain", page, "-o", "-"]):
        done = CliRunner().invoke(main, arguments, color=True)
        assert not re.search(r"[^\n -~×éχ]", done.output), done.output
    assert Path(page).exists()


def test_what_nobody_reads_to_its_end_ends_quietly() -> None:
    for arguments in (["vignettes", "list"], ["--help"]):
        read, write = os.pipe()
        os.close(read)
        done = subprocess.run([*COMMAND, *arguments], stdout=write, stderr=subprocess.PIPE, cwd=ROOT, check=False)
        os.close(write)
        assert (done.returncode, done.stderr) == (141, b"")


def test_an_interrupted_command_says_so() -> None:
    # it waits for standard input when the signal comes
    waiting = subprocess.Popen(
        [*COMMAND, "show", "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT
    )
    assert waiting.stdin is not None
    # more than a pipe holds: once it is written, the command is reading
    waiting.stdin.write(b" " * (1 << 20))
    waiting.stdin.flush()
    waiting.send_signal(signal.SIGINT)
    out, err = waiting.communicate()
    assert (waiting.returncode, out) == (130, b"")
    assert err.strip() == b"Error: interrupted"


@pytest.mark.parametrize(
    ("words", "place", "expected"),
    [
        ("ldpstats an", 1, ["plain,analyse"]),
        ("ldpstats protocol d.json --mechanism ou", 4, ["plain,oue"]),
        ("ldpstats protocol d.json --mechanism au", 4, ["plain,auto"]),
        ("ldpstats audit gr", 2, ["plain,grr", "file,gr"]),
        ("ldpstats protocol d.json --kind wh", 4, ["plain,whole view"]),
        ("ldpstats tables r", 2, ["file,r"]),
        ("ldpstats vignettes open which", 3, ["plain,which-mechanism"]),
        ("ldpstats report t.json --ti", 3, ["plain,--title"]),
    ],
)
def test_the_shell_completes(words: str, place: int, expected: list[str]) -> None:
    asked = {"COMP_WORDS": words, "COMP_CWORD": str(place), "_LDPSTATS_COMPLETE": "bash_complete"}
    result = CliRunner().invoke(main, [], prog_name="ldpstats", env=asked)
    assert result.stdout.splitlines() == expected


def test_the_completion_that_help_names_is_there() -> None:
    result = CliRunner().invoke(main, [], prog_name="ldpstats", env={"_LDPSTATS_COMPLETE": "zsh_source"})
    assert "_LDPSTATS_COMPLETE=zsh_complete" in result.stdout
    assert "_LDPSTATS_COMPLETE=bash_source ldpstats" in run("--help").stdout


def test_letters_that_a_terminal_does_not_have_are_spelt() -> None:
    done = subprocess.run(
        [*COMMAND, "vignettes", "open", "bayesian-network"],
        env={**os.environ, "PYTHONIOENCODING": "latin-1"},
        capture_output=True,
        cwd=ROOT,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"\\u03b5" in done.stdout


@pytest.mark.parametrize(("command", "closed"), [("show -", "<&-"), ("domain {} -o -", ">&-")])
def test_closed_standard_streams_are_a_message(tmp_path: Path, command: str, closed: str) -> None:
    (tmp_path / "answers.csv").write_text("sex,car\nF,yes\nM,no\n", "utf-8")
    arguments = command.format(tmp_path / "answers.csv").split()
    shell = ["sh", "-c", f'exec "$@" {closed}', "sh", *COMMAND, *arguments]
    found = subprocess.run(shell, capture_output=True, text=True, cwd=ROOT, check=False)
    assert found.returncode == 3
    assert "that is closed. Allowed: an open one" in found.stderr
