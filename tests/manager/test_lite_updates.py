"""How often the lite manager is right where people correct themselves, over a hundred pairs."""

from __future__ import annotations

from lite_world import told

CORRECTIONS = (
    ("My birthday is on 3 June.", "Actually, my birthday is on 4 June."),
    ("I work for Delta Freight.", "I no longer work for Delta Freight."),
    ("I drive a Skoda Fabia.", "I no longer drive a Skoda Fabia, I drive a Kia Rio."),
    ("My flight leaves at 7:30.", "Correction: my flight leaves at 8:15."),
    ("My son Theo is eight.", "Actually, my son Theo is nine."),
    ("I play the drums in a band.", "I don't play the drums in a band anymore."),
    ("My brother studies law in Ghent.", "Actually, my brother studies medicine in Ghent."),
    ("I am single.", "I'm engaged now!"),
    ("My landlord is called Marek.", "Sorry, my landlord is called Marcin, not Marek."),
    ("We meet at the Blue Door cafe.", "We now meet at the Red Lion."),
    ("I take vitamin D every morning.", "I stopped taking vitamin D."),
    ("My email is ana@x.org.", "My email changed to ana@y.org."),
    ("I live in Graz.", "I moved to Linz last month."),
    ("My sister is married to Tom.", "My sister is no longer married to Tom."),
    ("I'm learning Dutch with Babbel.", "I switched to Duolingo for Dutch."),
    ("I weigh 82 kilos.", "I now weigh 78 kilos."),
    ("My cat is called Mochi.", "I meant my cat is called Muffin."),
    ("The wedding is on 12 July.", "The wedding was postponed to 19 July."),
    ("I owe Rui 200 euros.", "Actually, I owe Rui 250 euros."),
    ("I'm a vegetarian.", "I'm not a vegetarian anymore."),
    ("My favourite colour is green.", "My favourite colour is not green but blue."),
    ("I have a meeting on Tuesday.", "My meeting was moved to Thursday."),
    ("I have three nephews.", "I have four nephews now."),
    ("My boss is Helen.", "My boss is no longer Helen."),
    ("I run on Mondays.", "I don't run on Mondays any more."),
    ("I use an iPhone 12.", "I use a Pixel 8 instead of the iPhone 12 now."),
    ("My rent is 900 euros.", "My rent is 950 euros now."),
    ("I parked on Mill Street.", "Wait, actually I parked on Hill Street."),
    ("Jonas lives in Bern.", "Jonas moved to Basel."),
    ("I smoke ten cigarettes a day.", "I no longer smoke."),
    ("My dentist is Dr Novak.", "Actually, my dentist is Dr Kovac."),
    ("I sleep six hours a night.", "I sleep seven hours a night now."),
    ("I'm married.", "I'm divorced now."),
    ("I play tennis at Park Court.", "I no longer play tennis."),
    ("My office is in Prague.", "My office moved to Brno."),
    ("The recital is on 2 June.", "The recital was moved to 9 June."),
    ("My aunt lives in Cork.", "Sorry, my aunt lives in Galway, not Cork."),
    ("I have a hamster.", "I don't have a hamster anymore."),
    ("My password hint is sunflower.", "I changed my password hint, it is moonlight now."),
    ("I pay 30 euros for the gym.", "I pay 35 euros for the gym now."),
    ("My nephew Leo is in third grade.", "Actually, my nephew Leo is in fourth grade."),
    ("I eat meat.", "I no longer eat meat."),
    ("I work at Kite Labs.", "I now work at Orbit Labs."),
    ("Our anniversary is on 5 May.", "Oh wait, actually our anniversary is on 6 May."),
    ("My tutor is called Iris.", "I meant my tutor is called Irina."),
    ("I own a sailing boat.", "I sold the sailing boat last week."),
    ("I study biology.", "I switched from biology to chemistry."),
    ("Rex is four years old.", "Rex is five years old now."),
    ("I take the bus to work.", "I take the train to work instead of the bus."),
    ("My flat has two rooms.", "Correction: my flat has three rooms."),
)
"""What was said first, and what takes its place."""

BESIDE = (
    ("I have a sister in Graz.", "I now have a niece in Linz."),
    ("I live in Graz.", "My parents live in Linz now."),
    ("I ran 10 km on Monday.", "I ran 12 km yesterday."),
    ("I like green tea.", "Actually, I like black coffee too."),
    ("My son Theo is eight.", "My daughter Lia is now nine."),
    ("I visited Rome.", "I now plan to visit Oslo."),
    ("I work at Delta Freight.", "I worked late at the office now and then."),
    ("I play the drums.", "I play the flute now too."),
    ("I don't like fish.", "I actually like crab."),
    ("I bought a Kia Rio.", "I sold my bike instead of keeping it."),
    ("I read Emma last week.", "I now read Persuasion."),
    ("My cat is called Mochi.", "My dog is called Muffin, not Max."),
    ("I paid 200 euros for a tent.", "I paid 250 euros for a kayak now."),
    ("I moved to Linz in 2020.", "I moved my piano to the attic."),
    ("I love skiing in the Alps.", "I no longer love waiting for lifts."),
    ("I started a course in May.", "I finished the course now."),
    ("I feel tired today.", "Actually I feel hungry."),
    ("I meet Rui on Tuesday.", "I meet Helen on Thursday now."),
    ("I have a red car.", "My neighbour has a blue car now."),
    ("I teach maths.", "I stopped at the school to teach physics."),
    ("We went to the beach.", "We are back at the hotel now."),
    ("I want to be a nurse.", "I want to be there for you no longer than needed."),
    ("My garden has roses.", "My garden also has tulips now."),
    ("I cook on Sundays.", "I cook on Mondays as well now."),
    ("I had a fight with Rui.", "I made up with Rui now."),
    ("I saw a heron.", "I saw an otter instead."),
    ("I'm writing a novel.", "I'm writing a poem right now."),
    ("I was born in Split.", "I now live in Zadar."),
    ("I fixed the roof.", "Actually, the roof took two weeks."),
    ("I met Petra in Hvar.", "Turns out Petra and I both like Hvar."),
    ("I have a red bike.", "I also have a blue bike now."),
    ("My aunt lives in Cork.", "My uncle lives in Galway now."),
    ("I study biology.", "Actually, I sing in a choir too."),
    ("I paid 30 euros for the gym.", "I paid 35 euros for the shoes now."),
    ("I visited Cork in May.", "I visited Galway in June."),
    ("I'm married.", "My sister is divorced now."),
    ("I work at Kite Labs.", "I met Rui at Orbit Labs."),
    ("I take the bus to work.", "I take my dog to the park instead."),
    ("I have a hamster.", "My hamster no longer bites."),
    ("I love my job.", "I no longer have time for chess."),
    ("I saw two foxes.", "I saw three herons now."),
    ("I was at the dentist on 3 May.", "I was at the dentist on 8 May."),
    ("I painted a sunset.", "I painted a lighthouse."),
    ("I'm reading about whales.", "I'm now reading about owls."),
    ("We live near the sea.", "We swam in the sea now and then."),
    ("I teach maths in Cork.", "I taught a workshop in Galway."),
    ("I ran 5 km.", "Actually, running clears my head."),
    ("I like my boss.", "I don't like my desk anymore."),
    ("I moved to Cork for love.", "I moved the sofa to the attic."),
    ("I gave Rui a book.", "I gave Iris a scarf."),
)
"""Pairs that sound alike and are both true."""


def kinds(first: str, second: str) -> list[str]:
    return told(f"Ana: {first}", "Cy: ok", f"Ana: {second}", "Cy: ok").kinds


def test_uni_22_most_corrections_update_the_one_memory() -> None:
    right = [pair for pair in CORRECTIONS if kinds(*pair) == ["create", "update"]]
    assert len(right) >= 44, sorted(set(CORRECTIONS) - set(right))


def test_uni_22_nothing_true_is_overwritten() -> None:
    assert [pair for pair in BESIDE if set(kinds(*pair)) - {"create"}] == []
