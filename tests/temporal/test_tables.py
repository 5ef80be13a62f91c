"""The language tables fit the engine."""

from __future__ import annotations

from evimem.temporal.absolute import ABSOLUTE
from evimem.temporal.compose import CHANGES
from evimem.temporal.language import compile_rule, slot_patterns
from evimem.temporal.relative import RELATIVE
from evimem.temporal.tables_en import ENGLISH

SLOTS = slot_patterns(ENGLISH)


def test_every_rule_compiles_has_an_operation_and_a_first_word() -> None:
    for rule in ENGLISH.rules:
        compiled = compile_rule(rule, SLOTS)
        assert compiled.heads, rule
        assert (rule.op in RELATIVE) != (rule.op in ABSOLUTE), rule


def test_every_prefix_compiles_has_an_operation_and_a_last_word() -> None:
    for rule in ENGLISH.prefixes:
        assert compile_rule(rule, SLOTS, before=True).tails, rule
        assert rule.op in CHANGES, rule


def test_no_operation_is_without_a_rule() -> None:
    used = {rule.op for rule in ENGLISH.rules}
    # A weekend is a unit; its operation is also reached from there.
    assert set(RELATIVE) | set(ABSOLUTE) == used
    assert set(CHANGES) == {rule.op for rule in ENGLISH.prefixes}


def test_every_unit_season_and_month_has_a_name_to_render() -> None:
    assert len(ENGLISH.phrases.months) == 12 and len(ENGLISH.phrases.weekdays) == 7
    assert set(ENGLISH.seasons.values()) == set(ENGLISH.phrases.seasons)
    assert set(ENGLISH.units.values()) - {"hour", "day"} <= set(ENGLISH.phrases.units)


def test_shy_words_are_words_of_the_tables() -> None:
    assert set(ENGLISH.months) >= ENGLISH.shy_months
    assert set(ENGLISH.weekdays_short) >= ENGLISH.shy_weekdays
