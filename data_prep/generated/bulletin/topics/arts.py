"""Stories of arts."""

from data_prep.generated.bulletin.grammar import Category, lines, table, things

STORIES = """
{person1.short} wins {prize} prize for {work.short} about {theme}
- {person1} (received|was awarded|took) the {prize} prize in {city} {when} for {person1.his} {work}, a {story} about
  {theme}. {prize_more}
- (The {prize} prize|This year's {prize} prize) (went|was given) to {person1} {when} in {city}. The jury
  (praised|admired) {person1.his} {work}, a {story} about {theme}. {prize_more}

{person1.short} {picture} fetches {money.short} at {city} auction
- A {picture} by {person1} was sold for {money} {when} at an auction in {city}, {few} times (the estimate|as much as
  expected). {prize_more}
- A (collector|buyer) from {country} paid {money} {when} for a {picture} by {person1} at an (auction house|auction) in
  {city}. {prize_more}

{city} museum to return {dozens} {objects} to {country}
- A museum in {city} will (give back|hand over) {dozens} {objects} that were (stolen|taken) from {country} in the
  {century} century, (the director|its director), {person1}, said on {day}. {arts_more}
- A total of {dozens} {objects} (brought|taken) from {country} in the {century} century are to go (home|back) after
  (years|months) in which a museum in {city} examined their history, (the director|its director) said on {day}.

{former} {person1.short} dies at {age} in {city}
- {person1}, (the {former}|a {former}) who {fame}, died {when} in {city} after a (long|short) illness. {person1.he} was
  {age}. {death_more}
- {person1}, who {fame}, has died in {city}, {person1.his} family said on {day}. The {former} was {age}. {death_more}

{city} museum reopens after {money.short} renovation
- After {few} years of (building work|repairs) at a cost of {money}, the (city museum|art museum|museum of modern art)
  in {city} (opened its doors again|let visitors back in) {when}. {arts_more}
- Visitors returned {when} to the (city museum|art museum|museum of modern art) in {city}, which had been closed for
  {few} years for repairs (that cost|at a cost of) {money}. {arts_more}

{person1.short} to play {role} in {city} theater's {season} opener
- {person1} will (appear|take the stage) as {role} when the theater in {city} (opens|begins) its {season} season in
  {month}, (the director|director {person2}) said on {day}. {arts_more}
- The {season} season of the theater in {city} (opens|begins) in {month} with {person1} as {role}, (the
  director|director {person2}) said on {day}. {arts_more}
"""

CATEGORIES: dict[str, Category] = {
    "prize": things("""
Laurel, Lighthouse, Golden Quill, Aurora, Olive Branch, Silver Lantern, Northern Star, Blue Heron
"""),
    "work": table(
        "text short", "first novel | novel\nsecond novel | novel\nlatest film | film\nnew play | play\nlong poem | poem"
    ),
    "story": things("tale, tragedy, comedy, satire"),
    "theme": things("""
exile, old age, a shipwreck, two sisters, a village, hunger, a lost dog, twins, a lighthouse, war, a mine
"""),
    "picture": things("portrait, landscape, self-portrait, watercolor, still life, drawing, sculpture, photograph"),
    "objects": things("masks, bronzes, statues, vases, skulls, coins, manuscripts, carpets, drums, jewels"),
    "century": things("17th, 18th, 19th"),
    "age": lambda rng: {"text": str(rng.randint(61, 97))},
    "former": things("""
jazz pianist, film director, opera singer, poet, novelist, architect, ballet dancer, painter, conductor
"""),
    "role": things("Hamlet, Macbeth, King Lear, Othello, Prospero, Cyrano, Shylock, Iago, Faust, Don Juan"),
    "season": things("spring, summer, fall, winter"),
    "fame": lines("""
won {few2} national prizes
taught in {city2} for many years
worked with {person2} in {country}
became known far beyond {country}
gave up a career in law
"""),
    "arts_more": lines("""
It had been planned since {month2}.
A similar event in {city3} drew {thousands2} people.
An exhibition will open in {month2}.
A book about it will appear in {month2}.
The city council (had helped|was divided).
"""),
    "prize_more": lines("""
(Critics|Experts) were (surprised|delighted).
About {hundreds2} guests (applauded|were present).
An exhibition will open in {month2}.
A book about it will appear in {month2}.
"""),
    "death_more": lines("""
(Friends|Critics) spoke of a great artist.
The funeral will be held on {day2}.
{person1.his} last (work|public appearance) was in {past_year2}.
(The mayor|A colleague), {person3}, called it a great loss.
A memorial will be built in {city3}.
"""),
}
