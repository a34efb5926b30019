"""Stories of sport."""

from random import Random

from data_prep.generated.bulletin.grammar import Category, Fact, lines, table, things
from data_prep.generated.bulletin.lexicon import person

STORIES = """
{team1.short} {win.short} {team2.short} {win.score} to reach {cup} {round}
- The {team1} (are through to|advanced to|booked a place in) the {round} of the {cup} after (they|a game in which they)
  {win} the {team2} {win.score} {when}. {sport_more}
- {person1} scored (the first goal|{person1.his} {ordinal} goal of the season|twice) {when} as the {team1} {win} the
  {team2} {win.score} and (moved into|made it to) the {round} of the {cup}. {sport_more}

{final.short} beats {final.loser} to win {city} {tournament}
- {final} (came from behind to win|won) the {tournament} in {city} {when}, (defeating|overcoming) {final.other} (in a
  final that lasted {few} hours|in the final). {sport_more}
- {final.other} was (no match for|defeated by) {final} in the final of the {tournament} in {city} {when}. {final} (had
  lost the final in {past_year}|is ranked {ordinal} in the world). {sport_more}

{person1.short} breaks {event} world record in {city}
- {person1} of {country} set a new world (record|best) in the {event} at (a meeting|an event|the championships) in
  {city} {when}. The old (mark|record) had stood since {past_year}. {sport_more}
- The world record in the {event}, which had (stood|not been beaten) since {past_year}, (fell|was broken) {when} in
  {city} when {person1} (improved on it|bettered it) by a (narrow|wide) margin.

{team1.short} sign {position} {person1.short} from {team2.short} for {money.short}
- {person1}, a {position} who has played for the {team2} (for {few} years|since {past_year}), is moving to the {team1}
  for a (fee|sum) of {money}, (the club announced|it was announced) {when}. {club_more}
- The {team1} have paid {money} for {person1}, a {position} with the {team2}, (the club|a spokesman) said on {day}.
  {person1.he} (signed a contract for|will stay for) {few} years.

{team1.short} sack coach {person1.short} after {few.digits} straight defeats
- The {team1} have (parted with|dismissed|fired) their coach, {person1}, after losing {few} games in a row, (the club|a
  spokesman) (said|announced) on {day}. {club_more}
- Having lost {few} games in a row, the {team1} (told|informed) their coach, {person1}, {when} that {person1.he} would
  (have to go|no longer be needed). {club_more}

{team1.short} lose {position} {person1.short} to {injury.short} injury
- {person1}, a {position} for the {team1}, will (miss|be out for) {few} weeks (after|because) {person1.he} {injury} (in
  training|in a game against the {team2}) {when}, the club said. {club_more}
- The {team1} will (have to do|be) without their {position} {person1} for {few} (weeks|months). {person1.he} {injury}
  {when} (in a game against the {team2}|in training), the club said.
"""


def _win(rng: Random) -> Fact:
    """The headline's verb says how clear the win was."""
    lost, margin = rng.randint(0, 3), rng.randint(1, 5)
    short = {1: "edge", 2: "beat", 3: "beat"}.get(margin, "thrash")
    text = rng.choice(("beat", "defeated", "overcame"))
    return {"text": text, "short": short, "score": f"{lost + margin}-{lost}"}


def _final(rng: Random) -> Fact:
    """Between two women or two men."""
    winner, loser = person(rng), person(rng)
    while winner["he"] != loser["he"] or winner["short"] == loser["short"]:
        loser = person(rng)
    return {"text": winner["text"], "short": winner["short"], "other": loser["text"], "loser": loser["short"]}


CATEGORIES: dict[str, Category] = {
    "win": _win,
    "final": _final,
    "cup": things("Challenge Cup, Union Cup, Champions Trophy, Federation Cup, Winter Cup, Atlantic Cup"),
    "round": things("final, semifinals, quarterfinals"),
    "tournament": things("Open, Masters, Indoors, Grand Prix"),
    "event": things("""
long jump, high jump, javelin, marathon, decathlon, pole vault, hammer throw, triple jump, shot put
"""),
    "position": things("goalkeeper, striker, defender, winger, midfielder"),
    "injury": table(
        "text short",
        """
broke a bone in {person1.his} foot | foot
tore a muscle in {person1.his} thigh | thigh
twisted {person1.his} knee | knee
hurt {person1.his} back | back
sprained {person1.his} ankle | ankle
dislocated a shoulder | shoulder
broke a finger | hand
""",
    ),
    "club_more": lines("""
The (team|club) was founded in {past_year2}.
(Fans|The players) had not expected it.
The club is ranked {ordinal} in the league.
Its next game is on {day2}.
The {team3} refused to comment.
"""),
    "sport_more": lines("""
(A crowd of|About) {thousands} (people|spectators) watched.
The result had been in doubt until (late|the end).
The (game|event) had been delayed by {few2} hours of rain.
Tickets had cost up to ${hundreds2}.
Tickets had been sold out since {month2}.
"""),
}
