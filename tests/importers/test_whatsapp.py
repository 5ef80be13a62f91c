"""WhatsApp's many ways to write a header, and what is not one."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from evimem.errors import ImportFormatError
from evimem.importers._whatsapp_words import DELETED


@pytest.mark.parametrize(
    ("header", "when"),
    [
        ("13/03/2024, 21:05 - ", "2024-03-13T21:05:00"),
        ("13/03/24, 21:05 - ", "2024-03-13T21:05:00"),
        ("13.03.24, 21:05 - ", "2024-03-13T21:05:00"),
        ("13-03-2024 21:05 - ", "2024-03-13T21:05:00"),
        ("3/13/24, 9:05 PM - ", "2024-03-13T21:05:00"),
        ("3/13/24, 9:05\u202fPM - ", "2024-03-13T21:05:00"),
        ("13/3/2024, 9:05 p. m. - ", "2024-03-13T21:05:00"),
        ("13/3/2024, 9:05\u00a0p.\u00a0m. - ", None),
        ("13.3.2024 klo 21.05 - ", "2024-03-13T21:05:00"),
        ("2024/03/13, 21:05 - ", "2024-03-13T21:05:00"),
        ("2024-03-13 21:05 - ", "2024-03-13T21:05:00"),
        ("2024. 3. 13. 오후 9:05 - ", "2024-03-13T21:05:00"),
        ("[13/03/24, 21:05:07] ", "2024-03-13T21:05:07"),
        ("\u200e[3/13/24, 9:05:07\u202fPM] ", "2024-03-13T21:05:07"),
        ("[13.03.24, 21:05:07] ", "2024-03-13T21:05:07"),
        ("[13.3.2024 klo 21.05.07] ", "2024-03-13T21:05:07"),
        ("[2024/3/13 下午9:05:07] ", "2024-03-13T21:05:07"),
        ("[\u200f13\u200f/3\u200f/2024, 21:05:07] ", "2024-03-13T21:05:07"),
        ("[١٣/٠٣/٢٠٢٤، ٢١:٠٥:٠٧] ", "2024-03-13T21:05:07"),
        ("3/13/24, 12:05 AM - ", "2024-03-13T00:05:00"),
        ("3/13/24, 12:05 PM - ", "2024-03-13T12:05:00"),
    ],
)
def test_headers_of_many_locales_are_read(read: Any, header: str, when: str | None) -> None:
    if when is None:
        header = header.replace("p.\u00a0m.", "p. m.")
        when = "2024-03-13T21:05:00"
    found = read(f"{header}Ana Costa: hello: you\nsecond line\n", name="a.txt", tz="UTC")
    assert [(turn.speaker, turn.text) for turn in found.turns] == [
        ("Ana Costa", "hello: you\nsecond line")
    ]
    assert found.turns[0].said_at.isoformat() == f"{when}+00:00"
    assert not found.warnings


def test_monotonic_time_decides_the_order_where_no_part_is_large(read: Any) -> None:
    # Day first this runs 2 Jan, 1 Feb; month first it would run backward.
    day_first = "02/01/24, 10:00 - Ana: a\n01/02/24, 10:00 - Ana: b\n"
    found = read(day_first, name="a.txt", tz="UTC")
    assert [turn.said_at.month for turn in found.turns] == [1, 2]
    assert not found.warnings
    month_first = "1/5/24, 10:00 - Ana: a\n2/1/24, 10:00 - Ana: b\n"
    found = read(month_first, name="a.txt", tz="UTC")
    assert [turn.said_at.month for turn in found.turns] == [1, 2]
    assert not found.warnings


def test_an_order_that_does_not_fit_is_refused(read: Any) -> None:
    with pytest.raises(
        ImportFormatError, match=r"date_order='mdy' does not fit the date '13/03/24"
    ):
        read("13/03/24, 10:00 - Ana: a\n", name="a.txt", date_order="mdy")
    with pytest.raises(ImportFormatError, match="date_order='dmy'"):
        read("3/13/24, 10:00 - Ana: a\n", name="a.txt", date_order="dmy")


def test_an_impossible_day_keeps_the_message(read: Any) -> None:
    text = "13/01/2024, 10:00 - Ana: a\n31/02/2024, 10:00 - Ana: b\n01/03/2024, 25:00 - Ana: c\n"
    found = read(text, name="a.txt", tz="UTC")
    assert found.texts == ["a", "b", "c"]
    assert [turn.said_at is None for turn in found.turns] == [False, True, True]
    assert found.turns[1].attrs["unread_time"] == "31/02/2024, 10:00"
    assert any("(2x" in warning for warning in found.warnings)


def test_lines_that_only_look_like_headers_continue_the_message(read: Any) -> None:
    body = [
        "plan:",
        "13/03/2024 Ana: no dash",
        "12/3: not a header",
        "[13/03/24, 21:05:07] Bo: the other style",
        "01/01/2020, 09:00 - an older line without a sender",
        "99/99/2024, 09:00 - no such day",
        "",
        "end",
    ]
    found = read("13/03/2024, 21:05 - Ana: " + "\n".join(body) + "\n", name="a.txt")
    assert found.texts == ["\n".join(body)]
    assert not found.skipped


def test_system_lines_with_quoted_names_are_no_speakers(read: Any) -> None:
    text = (
        '13/03/2024, 10:00 - Ana created group "Trip: May"\n'
        "13/03/2024, 10:00 - Ana changed the subject to “a: b”\n"
        "13/03/2024, 10:01 - Ana: hi\n"
    )
    found = read(text, name="a.txt")
    assert [turn.speaker for turn in found.turns] == ["Ana"]
    assert found.skipped == {"system": 2}


def test_notes_of_the_app_in_other_languages(read: Any) -> None:
    text = (
        "13/03/2024, 10:00 - Ana: <Médias omis>\n"
        "13/03/2024, 10:01 - Ana: Ce message a été supprimé\n"
        "13/03/2024, 10:02 - Ana: IMG-1.jpg (archivo adjunto)\n"
        "13/03/2024, 10:03 - Ana: oui <Ce message a été modifié>\n"
        "13/03/2024, 10:04 - Ana: image omitted\n"  # on Android someone wrote that
    )
    found = read(text, name="a.txt")
    assert found.texts == ["", "", "oui", "image omitted"]
    assert found.skipped == {"deleted": 1}
    assert found.turns[1].attrs["attachments"] == [{"name": "IMG-1.jpg"}]


def test_words_about_deleted_messages_are_words(read: Any) -> None:
    said = "This message was deleted yesterday, why?"
    text = (
        f"13/03/2024, 10:00 - Ana: {said}\n"
        "13/03/2024, 10:01 - Ana: This message was deleted by admin Bo\n"
    )
    found = read(text, name="a.txt")
    assert found.texts == [said]
    assert found.skipped == {"deleted": 1}
    ios = read("[13/03/24, 10:00:00] Ana: This message was deleted.\n", name="a.txt")
    assert ios.texts == ["This message was deleted."]  # no mark: someone wrote it


def test_a_captioned_picture_on_ios_keeps_its_words(read: Any) -> None:
    text = "[13/03/24, 10:00:00] Ana: the tent \u200e<attached: 0001-PHOTO.jpg>\n"
    found = read(text, name="a.txt")
    assert found.texts == ["the tent"]
    assert found.turns[0].attrs["attachments"] == [{"name": "0001-PHOTO.jpg"}]


def test_sessions_end_where_the_talk_pauses(read: Any) -> None:
    text = "".join(f"13/03/2024, {h:02}:00 - Ana: {h}\n" for h in (1, 6, 13, 14, 23))
    assert [len(s.source_id) > 0 for s in read(text, name="a.txt").sessions] == [True] * 3
    assert len(read(text, name="a.txt", session_gap_hours=10).sessions) == 1
    found = read(text, name="a.txt")
    assert [turn.index for turn in found.turns] == [0, 1, 0, 1, 0]


names = st.text(
    st.characters(codec="utf-8", exclude_characters="\n\r:~\"“”„«'", exclude_categories=("C", "Z")),
    min_size=1,
    max_size=12,
)
bodies = st.text(
    st.characters(codec="utf-8", exclude_characters="\r<([", exclude_categories=("Cc", "Cf", "Cs")),
    min_size=1,
    max_size=40,
).filter(lambda text: text.strip().rstrip(".").lower() not in DELETED)
spoken = st.lists(st.tuples(names, bodies, st.integers(0, 60 * 24 * 40)), min_size=1, max_size=12)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(spoken, st.sampled_from(["android", "ios"]))
def test_what_is_written_is_read_back(read: Any, messages: Any, style: str) -> None:
    at = datetime(2024, 1, 13, 8, 0)
    lines, want = [], []
    for name, body, minutes in messages:
        at += timedelta(minutes=minutes)
        stamp = f"{at:%d/%m/%Y, %H:%M}" if style == "android" else f"[{at:%d/%m/%Y, %H:%M:%S}]"
        lines.append(f"{stamp}{' - ' if style == 'android' else ' '}{name}: {body}")
        want.append((name, body, at))
    found = read("\n".join(lines) + "\n", name="a.txt", format="whatsapp", tz="UTC")
    got = [(turn.speaker, turn.text, turn.said_at.replace(tzinfo=None)) for turn in found.turns]
    assert got == want
