"""English: lexicon, rules and phrases. Data only; `language` says how patterns are written."""

from __future__ import annotations

from evimem.temporal.language import Grain, Holiday, Language, Phrases, Rule

__all__ = ["ENGLISH"]


def _words(text: str) -> tuple[str, ...]:
    """The words of a row, to keep the tables readable."""
    return tuple(text.split())


_MONTHS = _words(
    "January February March April May June July August September October November December"
)
_MONTH_SHORT = {
    "jan": 1, "feb": 2, "mar": 3, "apr": 4, "jun": 6, "jul": 7, "aug": 8, "sep": 9, "sept": 9,
    "oct": 10, "nov": 11, "dec": 12,
}  # fmt: skip
_WEEKDAYS = _words("Monday Tuesday Wednesday Thursday Friday Saturday Sunday")
_WEEKDAY_SHORT = {
    "mon": 0, "tue": 1, "tues": 1, "wed": 2, "weds": 2, "thu": 3, "thur": 3, "thurs": 3,
    "fri": 4, "sat": 5, "sun": 6,
}  # fmt: skip

_UNITS: dict[str, Grain] = {
    "minute": "hour", "minutes": "hour", "mins": "hour", "hour": "hour", "hours": "hour",
    "hrs": "hour",
    "day": "day", "days": "day", "night": "day", "nights": "day", "evening": "day",
    "evenings": "day", "morning": "day", "mornings": "day",
    "week": "week", "weeks": "week", "wk": "week", "wks": "week",
    "weekend": "weekend", "weekends": "weekend",
    "month": "month", "months": "month",
    "quarter": "quarter", "quarters": "quarter",
    "year": "year", "years": "year", "yr": "year", "yrs": "year",
    "decade": "decade", "decades": "decade",
}  # fmt: skip

_NUMBERS = {
    word: value
    for value, word in enumerate(
        _words(
            "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen "
            "fifteen sixteen seventeen eighteen nineteen"
        )
    )
    if value
} | {"a": 1, "an": 1}
_TENS = {
    word: 10 * value
    for value, word in enumerate(
        _words("twenty thirty forty fifty sixty seventy eighty ninety"), start=2
    )
}
_ORDINALS = {
    word: value
    for value, word in enumerate(
        _words("first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth "
        "thirteenth fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth "
        "twentieth"),
        start=1,
    )
} | {
    "twenty-first": 21, "twenty-second": 22, "twenty-third": 23, "twenty-fourth": 24,
    "twenty-fifth": 25, "twenty-sixth": 26, "twenty-seventh": 27, "twenty-eighth": 28,
    "twenty-ninth": 29, "thirtieth": 30, "thirty-first": 31, "last": -1,
}  # fmt: skip

_HOLIDAYS = {
    "christmas": Holiday(12, 25), "christmas day": Holiday(12, 25), "xmas": Holiday(12, 25),
    "christmas eve": Holiday(12, 24), "xmas eve": Holiday(12, 24), "boxing day": Holiday(12, 26),
    "new year's eve": Holiday(12, 31), "new years eve": Holiday(12, 31),
    "new year's day": Holiday(1, 1), "new years day": Holiday(1, 1),
    "new year's": Holiday(1, 1), "new years": Holiday(1, 1),
    "valentine's day": Holiday(2, 14), "valentines day": Holiday(2, 14),
    "valentine's": Holiday(2, 14), "valentines": Holiday(2, 14),
    "st. patrick's day": Holiday(3, 17), "st patrick's day": Holiday(3, 17),
    "april fools' day": Holiday(4, 1), "april fools": Holiday(4, 1),
    "independence day": Holiday(7, 4), "the fourth of july": Holiday(7, 4),
    "halloween": Holiday(10, 31), "veterans day": Holiday(11, 11),
    "thanksgiving": Holiday(11, 4, 3), "thanksgiving day": Holiday(11, 4, 3),
    "memorial day": Holiday(5, -1, 0), "labor day": Holiday(9, 1, 0),
    "mother's day": Holiday(5, 2, 6), "mothers day": Holiday(5, 2, 6),
    "father's day": Holiday(6, 3, 6), "fathers day": Holiday(6, 3, 6),
    "mlk day": Holiday(1, 3, 0), "earth day": Holiday(4, 22),
    "easter": Holiday(0, 0), "easter sunday": Holiday(0, 0), "good friday": Holiday(0, -2),
    "easter monday": Holiday(0, 1),
}  # fmt: skip

_AMOUNTS = {
    "a few": (2, 5), "few": (2, 5), "just a few": (2, 5), "a couple of": (2, 3),
    "a couple": (2, 3), "couple of": (2, 3), "couple": (2, 3), "several": (3, 7), "some": (2, 7),
    "many": (5, 20), "a number of": (3, 7),
}  # fmt: skip

_PAST = _words(
    "was were did had went got took made saw met came began bought brought built caught chose "
    "drew drank drove ate fell felt found flew forgot gave grew heard held hid hurt kept knew "
    "left led lent lost meant paid ran rode rose said sang sat sent shot showed slept sold spent "
    "spoke stole stood swam taught told thought threw understood woke won wore wrote became broke "
    "been won shook blew dug stuck struck swung hung fought tore bit froze laid lit swept rang "
    "slid dealt done gone seen taken given wasn weren didn hadn couldn"
)
_FUTURE = _words(
    "will ll gonna shall tomorrow upcoming plan plans planning hope hoping soon should "
    "wanna scheduled deadline due starts begins opens closes expires ends"
)

_AMOUNT = "{n}|{vague}"
_ABOUT = "{about}"

_DAY_RULES = (
    Rule("today", "earlier|later? today", "offset", 0),
    Rule("today", "tonight", "offset", 0),
    Rule("today", "earlier|later? this morning|afternoon|evening", "offset", 0),
    Rule("yesterday", "yesterday {part}?", "offset", -1),
    Rule("tomorrow", "tomorrow|tmrw|tmr {part}?", "offset", 1),
    Rule("last_night", "last night|evening", "offset", -1),
    Rule("day_before_yesterday", "the? day before yesterday {part}?", "offset", -2),
    Rule("day_before_yesterday", "the? night before last", "offset", -2),
    Rule("day_after_tomorrow", "the? day after tomorrow", "offset", 2),
)

_WEEKDAY_RULES = (
    Rule("last_weekday", "just? this? last|past|previous {weekday} {part}?", "weekday", -1),
    Rule("next_weekday", "next {weekday} {part}?", "weekday", 1),
    Rule(
        "coming_weekday", "on? this|the? coming|upcoming|following {weekday} {part}?", "weekday", 1
    ),
    Rule("this_weekday", "this {weekday} {part}?", "weekday", 0),
    Rule("on_weekday", "on {weekday} {part}?", "weekday", 0),
    Rule("on_weekday", "{weekday_full} {part}?", "weekday", 0),
    Rule("weekday_before_last", "the? {weekday} before last", "weekday", -2),
    Rule("last_weeks_weekday", "on? {weekday} of? last week", "weekday_of_week", -1),
    Rule("last_weeks_weekday", "last week on? {weekday}", "weekday_of_week", -1),
    Rule("this_weeks_weekday", "on? {weekday} of? this week", "weekday_of_week", 0),
    Rule("next_weeks_weekday", "on? {weekday} of? next week", "weekday_of_week", 1),
    Rule("next_weeks_weekday", "next week on? {weekday}", "weekday_of_week", 1),
    Rule("next_weeks_weekday", "a week on|from {weekday}", "weekday_of_week", 1),
    Rule("weekdays_ago", "{n} {weekdays} ago|back", "weekdays_ago"),
    Rule("recurring", "every|each|most|any other? {weekday} {part}?", "block"),
    Rule("recurring", "on? {weekday_full} mornings|afternoons|evenings|nights", "block"),
    Rule("named_day", "black|ash|giving|cyber|fat|super|bloody {weekday_full}", "block"),
    Rule("named_day", "{weekday_full} the 13th", "block"),
)

_UNIT_RULES = (
    Rule("last", "the? last|previous {unit}", "unit", -1),
    Rule("last", "this last|past|previous {unit}", "unit", -1),
    Rule("past", "the past {unit}", "past_units"),
    Rule("this", "earlier? in? this|the_current {unit}", "unit", 0),
    Rule("this", "later this|the_current {unit}", "unit", 0),
    Rule("next", "the? next {unit}", "unit", 1),
    Rule("next", "this|the coming|upcoming {unit}", "unit", 1),
    Rule("narrative", "the following {unit}", "narrative"),
    Rule("narrative", "the day before|after", "narrative"),
    Rule("narrative", "the next day|morning|evening|night", "narrative"),
    Rule("before_last", "the? {unit} before last", "unit", -2),
    Rule("after_next", "the? {unit} after next", "unit", 2),
    Rule("before", "the {unit} before", "unit_alone", -1),
    Rule("after", "the {unit} after", "unit_alone", 1),
    Rule("this", "over|during the weekend", "weekend", -1),
    Rule("this", "on|at|for the weekend", "weekend", 0),
    Rule("end_of_unit", "the? end of the|this {unit}", "part_of_unit", 2),
    Rule("start_of_unit", "the? beginning|start of the|this {unit}", "part_of_unit", 0),
    Rule("middle_of_unit", "the? middle of the|this {unit}", "part_of_unit", 1),
    Rule("no_time", "last|next time|one|name|minute|moment|chance|resort|thing|but", "block"),
    Rule("recurring", "every|each {unit}", "block"),
    Rule("recurring", "every {n}|{vague}|other {unit}", "block"),
    Rule("recurring", "once|twice|times a|per|every {unit}", "block"),
)

_AMOUNT_RULES = (
    Rule("ago", f"{_ABOUT}? {_AMOUNT} {{unit}} ago|back", "ago"),
    Rule("ago", f"{_ABOUT}? {_AMOUNT} more? {{unit}} or so ago|back", "ago", 1),
    Rule("ago", f"{_ABOUT}? a|one {{unit}} or two ago|back", "ago", 2),
    Rule("ago", "{unit} ago", "ago_bare"),
    Rule("ago", f"{_ABOUT}? a|one {{unit}} and_a_half ago|back", "half_ago", 1),
    Rule("ago", f"{_ABOUT}? {{n}} and_a_half {{unit}} ago|back", "half_ago", 1),
    Rule("ago", f"{_ABOUT}? half a|an? {{unit}} ago|back", "half_ago", 0),
    Rule("in", f"in {_ABOUT}? {_AMOUNT} {{unit}} ~'s|'? time?", "ahead"),
    Rule("in", f"in {_ABOUT}? a|one {{unit}} or two", "ahead", 2),
    Rule("in", f"{_ABOUT}? {_AMOUNT} {{unit}} from now|today", "ahead", 1),
    Rule("within", f"within the? next? {_AMOUNT} {{unit}}", "within"),
    Rule("within", f"over|for|during|in the next {_AMOUNT} {{unit}}", "within", 1),
    Rule("within", f"the? next|coming {_AMOUNT} {{unit}}", "within", 1),
    Rule("past", f"in|over|for|during? the? last|past {_AMOUNT} {{unit}}", "past_units"),
    Rule("past", f"these|this past|last {_AMOUNT} {{unit}}", "past_units"),
    Rule("duration", f"for {_ABOUT}? {_AMOUNT} {{unit}} now|already?", "duration"),
    Rule("duration", f"{_ABOUT}? {_AMOUNT} {{unit}} now|already", "duration", 1),
    Rule("age", "{n} ~years|yrs|months|weeks ~old", "block"),
    Rule("age", "{n} ~year|month|week|day ~old|olds|long", "block"),
    Rule("other_day", "the? other day|night|morning|evening|afternoon", "recent", 7),
    Rule("recently", "most? recently|lately", "recent", 30),
    Rule("recently", "these days", "recent", 30),
    Rule("long_ago", "a long? while|time ago|back", "long_ago"),
    Rule("long_ago", "not? so? long|ages ago", "long_ago"),
)

_MONTH_RULES = (
    Rule("month", "{month}", "month", 0),
    Rule("last_month_name", "last|this_past|past {month}", "month_named", -1),
    Rule("next_month_name", "next|this_coming|coming {month}", "month_named", 1),
    Rule("this_month_name", "this {month}", "month_named", 0),
    Rule("month_year", "{month} ~of|in? ~{year}", "month", 1),
    Rule("month_year", "{month} of? last year", "month_of_year", -1),
    Rule("month_year", "{month} of? this year", "month_of_year", 0),
    Rule("month_year", "{month} of? next year", "month_of_year", 1),
    Rule("quarter", "q ~{quarter} ~{year}?", "quarter"),
    Rule("quarter", "the? {nth} quarter of|in {year}", "quarter"),
    Rule("month_weekday", "the? {nth} {weekday_full} of|in {month} ~{year}?", "month_weekday"),
    Rule("month_week", "the? {nth} week of|in {month} ~{year}?", "month_week"),
    Rule("month_weekend", "the? {nth} weekend of|in {month} ~{year}?", "month_weekend"),
    Rule("week_of_month", "the? {nth} week of last month", "week_of_month", -1),
    Rule("week_of_month", "the? {nth} week of this month", "week_of_month", 0),
    Rule("week_of_month", "the? {nth} week of next month", "week_of_month", 1),
)

_TO = "to|until|through|till|and|–|-"

_SEASON_RULES = (
    Rule("last_season", "last|this_past|past|previous {season}", "season", -1),
    Rule("next_season", "next|this_coming|coming {season}", "season", 1),
    Rule("this_season", "this {season}", "season", 0),
    Rule("in_season", "in|over|during the? {season}", "season", 0),
    Rule("in_season", "the? {season}", "season", 3),
    Rule("season_year", "the? {season} ~of|in? ~{year}", "season", 2),
    Rule("season_year", "the? {season} of last year", "season_of_year", -1),
    Rule("season_year", "the? {season} of this year", "season_of_year", 0),
    Rule("season_year", "the? {season} of next year", "season_of_year", 1),
    Rule("no_time", "every|each|most {season}", "block"),
)

_HOLIDAY_RULES = (
    Rule("holiday", "{holiday}", "holiday", 0),
    Rule("last_holiday", "last|this_past|past {holiday}", "holiday", -1),
    Rule("next_holiday", "next|this_coming|coming {holiday}", "holiday", 1),
    Rule("this_holiday", "this {holiday}", "holiday", 0),
    Rule("holiday_year", "{holiday} ~of|in? ~{year}", "holiday", 2),
    Rule("no_time", "every|each|most {holiday}", "block"),
)

_DATE_RULES = (
    Rule("date", "on? the|this? {weekday}? ~the? ~{day} ~of? ~{month} ~{year}?", "date"),
    Rule("date", "on|this? {weekday}? ~{month} ~the? ~{day} ~of? ~{year}?", "date"),
    Rule(
        "date_range",
        f"from|between? the? {{day}} ~{_TO} ~the? ~{{day2}} ~of? ~{{month}} ~{{year}}?",
        "date_range",
    ),
    Rule(
        "date_range",
        f"between|from? {{month}} ~the? ~{{day}} ~{_TO} ~the? ~{{day2}} ~{{year}}?",
        "date_range",
    ),
    Rule("day_of_month", "on {weekday}? ~the ~{nth_day}", "day_of_month"),
    Rule("year", "the? year? {year}", "year"),
    Rule("age", "my|his|her|our|your|their early|mid|late? {decade}", "block"),
    Rule("decade", "the ~{decade}", "decade"),
    Rule("decade", "{decade}", "decade", 1),
)  # fmt: skip

_PREFIXES = (
    Rule("of", "back? in|on|during|over|for", "same"),
    Rule("of", "at", "same", 1),
    Rule("since", "ever? since", "since"),
    Rule("since", "starting? from|in|on", "same"),
    Rule("until", "up? until|till|til|through", "until"),
    Rule("by", "by", "by"),
    Rule("before", "before|prior_to", "before"),
    Rule("after", "after", "after"),
    Rule("around", "in|on? around|approximately|circa|sometime_in|sometime_around", "around"),
    Rule("early", "in|on? the? early ~in|of? ~the?", "part", 0),
    Rule("mid", "in? the? mid ~in|of?", "part", 1),
    Rule("late", "in? the? late ~in|of?", "part", 2),
    Rule("early", "at|by|in? the? beginning|start of", "part", 0),
    Rule("mid", "in? the? middle of", "part", 1),
    Rule("late", "at|by|towards? the? end of", "part", 2),
    Rule("week_of", "in|during? the? week of", "around_unit", 0),
    Rule("weekend_of", "on|over? the? weekend of", "around_unit", 1),
    Rule("unit_before", "on|in? the? {unit} before|prior_to", "unit_beside", -1),
    Rule("unit_after", "on|in? the? {unit} after|following|from", "unit_beside", 1),
    Rule("weekday_before", "on? the? {weekday_full} before|prior_to", "weekday_beside", -1),
    Rule("weekday_after", "on? the? {weekday_full} after|following|from", "weekday_beside", 1),
    Rule("amount_before", "{n}|{vague} {unit} before|prior_to", "amount_beside", -1),
    Rule("amount_after", "{n}|{vague} {unit} after|from", "amount_beside", 1),
)

_JOINS = (
    ("from", "to"), ("from", "until"), ("from", "till"), ("from", "through"), ("between", "and"),
    ("", "to"), ("", "until"), ("", "through"), ("", "-"), ("", "–"), ("", "—"),
)  # fmt: skip

_PHRASES = Phrases(
    months=tuple(_MONTHS),
    weekdays=tuple(_WEEKDAYS),
    seasons={3: "spring", 6: "summer", 9: "autumn", 12: "winter"},
    units={
        "week": "week",
        "weekend": "weekend",
        "month": "month",
        "quarter": "quarter",
        "year": "year",
        "decade": "decade",
    },
    before="the {unit} before {day}",
    after="the {unit} after {day}",
    of="the {unit} of {day}",
    amount_before="{amount} before {day}",
    amount_after="{amount} after {day}",
    shortly_before="shortly before {day}",
    a_few_days="a few days",
    since="since {day}",
    before_day="until {day}",
    between="{start} to {end}",
    around="around {day}",
    decade="the {day}s",
    strip=r"(?i)^(?:in|for|about|around|roughly|almost|nearly|exactly|just|like|maybe|over|\s)+\s"
    r"|[\s-]+(?:ago|back|from\s+now|from\s+today|time)$|'s(?=[\s-]+time$)",
)

ENGLISH = Language(
    code="en",
    months={name.lower(): i for i, name in enumerate(_MONTHS, start=1)} | _MONTH_SHORT,
    weekdays={name.lower(): i for i, name in enumerate(_WEEKDAYS)},
    weekdays_short=_WEEKDAY_SHORT,
    weekdays_plural={name.lower() + "s": i for i, name in enumerate(_WEEKDAYS)},
    units=_UNITS,
    units_plural=frozenset(word for word in _UNITS if word.endswith("s")),
    numbers=_NUMBERS,
    tens=_TENS,
    ordinals=_ORDINALS,
    ordinal_suffix="st|nd|rd|th",
    amounts=_AMOUNTS,
    decades={"twenties": 1920, "thirties": 1930, "forties": 1940, "fifties": 1950, "sixties": 1960,
             "seventies": 1970, "eighties": 1980, "nineties": 1990},
    about={"about": True, "around": True, "roughly": True, "almost": True, "nearly": True,
           "maybe": True, "like": True, "over": True, "exactly": False, "just": False},
    seasons={"spring": 3, "springtime": 3, "summer": 6, "summertime": 6, "fall": 9, "autumn": 9,
             "winter": 12, "wintertime": 12},
    holidays=_HOLIDAYS,
    parts_of_day=("morning", "afternoon", "evening", "night", "noon", "lunchtime"),
    shy_months=frozenset({"may", "march", "mar", "jan", "jun", "dec", "sep", "nov"}),
    shy_weekdays=frozenset({"sun", "sat", "wed", "mon", "fri", "tue"}),
    month_leads=frozenset(_words("in since until till during early mid late")),
    capital_leads=frozenset(_words("of by from to between and before after for around through")),
    not_before_year=frozenset(_words("at about over than nearly almost least most another only")),
    verbs_in_s=frozenset(_words("was is has as this its does seems feels looks marks sees")),
    habit_words=frozenset({"every", "each"}),
    not_before_weekday=frozenset(_words("a an my our your his her their any some most typical")),
    after_ordinal=frozenset(
        _words(
            "of and at for with to in so but or i we he she they it this next last when because "
            "if by from until morning afternoon evening night"
        )
    ),
    past_words=frozenset(_PAST),
    future_words=frozenset(_FUTURE),
    past_suffix="ed",
    past_exceptions=frozenset(
        _words(
            "need feed seed speed indeed bed red excited tired bored supposed scheduled "
            "interested thrilled psyched stoked pumped hundred booked reserved planned registered "
            "enrolled postponed rescheduled"
        )
    ),
    future_phrases=r"going\s+to|looking\s+forward|can'?t\s+wait|coming\s+up|won't|let'?s|about\s+to"
    r"|(?:'m|'re|'s|am|are|is)\s+\w+ing|see\s+you|ready\s+for|excited\s+(?:for|about)"
    r"|(?:needs?|wants?|have|has)\s+to",
    numeric_month_first=True,
    rules=_DAY_RULES + _WEEKDAY_RULES + _UNIT_RULES + _AMOUNT_RULES + _MONTH_RULES
    + _SEASON_RULES + _HOLIDAY_RULES + _DATE_RULES,
    prefixes=_PREFIXES,
    joins=_JOINS,
    phrases=_PHRASES,
)  # fmt: skip
