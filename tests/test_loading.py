"""Loading: one function reads whatever was saved, says what a file is otherwise, and is harmed by none."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from saving.test_files import EXAMPLES, PROTOCOLS

import ldpstats as ldp
from ldpstats import limits
from ldpstats.errors import LdpstatsError
from ldpstats.saving.files import loaded, sealed

DOMAIN = ldp.Domain({"a": ["x", "y"], "b": ["p", "q", "r"], "c": [0, 1]})
PEOPLE = np.array([300, 100, 50, 50, 80, 20, 100, 300, 10, 40, 60, 90])


def tables() -> ldp.TableSet:
    groups = [("a", "b"), ("b", "c")]
    return ldp.SampledGroups(DOMAIN, epsilon=3.0, mechanism="grr", groups=groups).simulate(PEOPLE, rng=1)


SAVED = {**EXAMPLES, **PROTOCOLS}
"""What can be saved."""


@pytest.mark.parametrize("name", ["Domain", "RRBA", "FakeResponse", "TableSet", "Memo", "Client", "Aggregator"])
def test_whatever_was_saved_is_loaded(name: str, tmp_path: Path):
    value = SAVED[name]()
    value.save(tmp_path / "saved.json")
    read = ldp.load(tmp_path / "saved.json")
    assert type(read) is type(value)
    # a new key makes an aggregator's state another one
    if name != "Aggregator":
        assert read.to_json() == value.to_json()


def test_another_process_reads_the_same(tmp_path: Path):
    """With nothing imported but what the file asks for."""
    made = ldp.reconstruct(tables(), ["a", "c"])
    made.save(tmp_path / "table.json")
    code = "import sys, ldpstats as ldp; read = ldp.load(sys.argv[1]); print(read.summary()); print(read.conf_int())"
    command = [sys.executable, "-c", code, str(tmp_path / "table.json")]
    again = subprocess.run(command, check=False, capture_output=True, text=True)
    assert again.stdout == f"{made.summary()}\n{made.conf_int()}\n", again.stderr


def test_a_file_is_replaced_by_one_of_its_kind_alone(tmp_path: Path):
    path = tmp_path / "saved.json"
    ldp.GRR(3, epsilon=1.0).save(path)
    path.chmod(0o640)
    ldp.GRR(4, epsilon=1.0).save(path)
    assert ldp.load(path).k == 4
    assert path.stat().st_mode & 0o777 == 0o640
    for other in (ldp.OUE(3, epsilon=1.0), DOMAIN, tables()):
        with pytest.raises(LdpstatsError, match=r"which holds something else.*Nothing in it was changed"):
            other.save(path)
    assert ldp.load(path).k == 4
    for text in ("my thesis", '{"format": "thesis"}', json.dumps({"a": ["x", "y"]})):
        path.write_text(text)
        for value in (ldp.GRR(3, epsilon=1.0), DOMAIN):
            with pytest.raises(LdpstatsError, match="something else"):
                value.save(path)
        assert path.read_text() == text
    path.write_text(DOMAIN.to_json())
    DOMAIN.save(path)
    path.write_text("")
    DOMAIN.save(path)
    assert ldp.load(path) == DOMAIN
    assert [one.name for one in tmp_path.iterdir()] == ["saved.json"]


@pytest.mark.parametrize("before", [None, 0o644])
def test_a_link_stays_one_and_secrets_are_for_their_owner(before: int | None, tmp_path: Path):
    if before:
        (tmp_path / "there.json").touch(before)
    (tmp_path / "link.json").symlink_to(tmp_path / "there.json")
    SAVED["Memo"]().save(tmp_path / "link.json")
    assert (tmp_path / "link.json").is_symlink()
    assert (tmp_path / "there.json").stat().st_mode & 0o777 == 0o600


def test_the_longest_names_are_written_and_names_that_are_none_refused(tmp_path: Path):
    DOMAIN.save(tmp_path / ("é" * 127))
    assert ldp.load(tmp_path / ("é" * 127)) == DOMAIN
    with pytest.raises(LdpstatsError, match=r"could not be written \(.*surrogates not allowed"):
        DOMAIN.save(tmp_path / "\ud800")
    with pytest.raises(LdpstatsError, match=r"could not be written \(.*surrogates not allowed"):
        ldp.PrivacyStatement(1.0, "a \ud800").save(tmp_path / "file.json")
    assert len([*tmp_path.iterdir()]) == 1


@pytest.mark.parametrize("fails", ["write", "fsync", "replace"])
@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_what_could_not_be_written_leaves_the_old_file(
    fails: str, error: BaseException, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    path = tmp_path / "saved.json"
    ldp.GRR(3, epsilon=1.0).save(path)

    def failing(*_: object, **__: object) -> None:
        raise error

    where = {"write": "os.fdopen", "fsync": "os.fsync", "replace": "pathlib.Path.replace"}[fails]
    opened = os.fdopen
    with monkeypatch.context() as patched:
        patched.setattr(where, failing if fails != "write" else _full_disk(opened, error))
        with pytest.raises((LdpstatsError, KeyboardInterrupt), match=r"No space left on device|^$"):
            ldp.GRR(4, epsilon=1.0).save(path)
    assert [one.name for one in tmp_path.iterdir()] == ["saved.json"]
    assert ldp.load(path).k == 3


def _full_disk(opened: Callable[..., Any], error: BaseException) -> Callable[..., Any]:
    def opening(number: int, mode: str = "r") -> Any:
        file = opened(number, mode)
        if mode == "wb":
            file.write(b"half")
            file.flush()
            file.close()
            raise error
        return file

    return opening


@pytest.mark.parametrize(("path", "said"), [("", "path ''"), ("a\0b", "path"), (3, "path 3"), (None, "path None")])
def test_what_is_no_name_of_a_file_is_refused(path: Any, said: str):
    with pytest.raises(LdpstatsError, match=said):
        DOMAIN.save(path)
    with pytest.raises(LdpstatsError, match=r"the path|the file"):
        ldp.load(path)


def test_places_that_hold_no_file_are_refused(tmp_path: Path):
    for place, said in ((tmp_path, "directory"), (tmp_path / "no.json", "does not exist"), ("/dev/zero", "ordinary")):
        with pytest.raises(LdpstatsError, match=said):
            ldp.load(place)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(LdpstatsError, match="no ordinary file"):
        ldp.load(tmp_path / "pipe")
    for place, said in ((tmp_path, "no file"), (tmp_path / "pipe", "no file"), (tmp_path / "no" / "x", "No such file")):
        with pytest.raises(LdpstatsError, match=said):
            DOMAIN.save(place)


WHOLE = ldp.GRR(3, epsilon=1.0).to_json()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "no saved object"),
        (b"\x89PNG\r\n\x1a\n\xff", "no text in UTF-8"),
        (b"[1, 2]", "no saved object"),
        (b"{1, 2}", "not JSON"),
        (b"a,b\n1,2\n", "no saved object"),
        (b'["ldpstats rrba journal", 2, "", {}]', "the journal of an aggregator"),
        (WHOLE[:-20].encode(), "not a saved GRR"),
        (WHOLE.replace('"k":3', '"k":4').encode(), "changed after it was written"),
        (WHOLE.replace('"version": 1', '"version": 9').encode(), "reads version 1"),
        (WHOLE.replace("ldpstats GRR", "ldpstats OUE").encode(), r"the file '.*saved OUE .*an object of the class GRR"),
        (sealed("painting", 1, []).encode(), "which this version does not know"),
        (sealed("Popen", 1, {"Popen": {"args": "ls"}}).encode(), "which this version does not know"),
        (sealed("table set", 9, {}).encode(), "reads version 1"),
        (b"[" * 100_000, "no saved object"),
        (b"1" * 5_000, "no saved object"),
    ],
)
def test_other_files_are_refused_by_name(content: bytes, said: str, tmp_path: Path):
    (tmp_path / "file.json").write_bytes(content)
    with pytest.raises(LdpstatsError, match=said):
        ldp.load(tmp_path / "file.json")


MESSAGE = b'{"format": "ldpstats answer", "version": 1, "protocol": "p0123456789ab", "unit": 0, "reports": [1]}\n'
OTHERS: dict[str, tuple[bytes, str]] = {
    "Parquet": (
        b"PAR1\x15\x04\xff\xfe" * 40,
        r"in the format Parquet.*If it holds reports: `ldpstats tables",
    ),
    "reports": (b'# ldpstats reports {"version": 1}\nrow,report\n0,1\n', "a file of reports.*ldpstats.tables_of"),
    "reports with a mark": (b"\xef\xbb\xbf# ldpstats reports {}\r\nrow,report\r\n", "a file of reports"),
    "messages": (MESSAGE * 3, "what clients sent, a line each.*ldpstats tables"),
    "a journal": (b'["ldpstats rrba journal",3,"note",{}]', "the journal of an aggregator.*goes on from it"),
}


@pytest.mark.parametrize("name", OTHERS)
def test_other_files_of_ours_are_known_and_what_reads_them_is_said(name: str, tmp_path: Path):
    content, said = OTHERS[name]
    (tmp_path / "file").write_bytes(content)
    with pytest.raises(LdpstatsError, match=rf"the file '.*file': .*{said}"):
        ldp.load(tmp_path / "file")
    if name != "Parquet":
        with pytest.raises(LdpstatsError, match=said):
            loaded(content.decode("utf-8-sig"))


@pytest.mark.parametrize("named_rows", [True, False])
def test_rows_and_messages_that_were_saved_are_known(named_rows: bool, tmp_path: Path):
    rows = ldp.RRBA(DOMAIN, epsilon=1.0).reports(DOMAIN.decode([[0, 0, 0], [1, 1, 1]]), rng=1)
    rows.to_csv(tmp_path / "rows.csv", index=named_rows)
    with pytest.raises(LdpstatsError, match=r"reports, a row each.*ldpstats tables FILE --protocol"):
        ldp.load(tmp_path / "rows.csv")
    query = ldp.RRBA(DOMAIN, epsilon=1.0).aggregator().query()
    (tmp_path / "query.json").write_text(query.to_json())
    with pytest.raises(LdpstatsError, match=r"a message between an aggregator and a client.*Query\.from_json"):
        ldp.load(tmp_path / "query.json")
    DOMAIN.decode([[0, 0, 0]]).to_csv(tmp_path / "people.csv", index=named_rows)
    with pytest.raises(LdpstatsError, match=r"no saved object.*ldpstats analyse FILE"):
        ldp.load(tmp_path / "people.csv")


@pytest.mark.parametrize(("head", "said"), [(b"PAR1", "in the format Parquet"), (b"", "of 536,870,913 bytes")])
def test_huge_files_are_refused_unread(head: bytes, said: str, tmp_path: Path):
    with (tmp_path / "huge").open("wb") as file:
        file.write(head)
        file.truncate(limits.LARGEST_FILE + 1)
    with pytest.raises(LdpstatsError, match=said):
        ldp.load(tmp_path / "huge")


def test_a_byte_order_mark_and_line_breaks_do_no_harm(tmp_path: Path):
    spread = json.dumps(json.loads(WHOLE), indent=2)
    (tmp_path / "file.json").write_text(spread, encoding="utf-8-sig")
    assert ldp.load(tmp_path / "file.json") == ldp.GRR(3, epsilon=1.0)
