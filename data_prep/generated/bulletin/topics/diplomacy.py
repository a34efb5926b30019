"""Stories of diplomacy."""

from data_prep.generated.bulletin.grammar import Category, lines, table, things

STORIES = """
{country1}, {country2} sign {treaty.short} deal in {city}
- {country1} and {country2} (have agreed to|will) {treaty} (under an agreement|under a treaty) signed in {city} {when}.
  {diplomacy_more}
- The (foreign ministers|leaders|presidents) of {country1} and {country2} (put their names to|signed) (an agreement|a
  treaty) in {city} {when} to {treaty}. {diplomacy_more}

{country1} recalls ambassador to {country2} in row over {discord}
- {country1} has (ordered|called) its ambassador to {country2} (home|to come home) for talks (because of|amid|as part
  of) a (growing dispute|dispute) about {discord}, {ministry_said}. {diplomacy_more}
- (In a dispute about|Angered by remarks about) {discord}, {country1} told its ambassador to {country2} {when} to
  (return|come) home for talks, {ministry_said}. {diplomacy_more}

{country1} sends {few.digits} {aid} to {country2} after {disaster}
- {few} {aid} from {country1} (arrived in|reached|landed in) {country2} {when} to help (victims of|people hit by) a
  {disaster} that has (killed|injured) {dozens} people. {diplomacy_more}
- After a {disaster} (killed|injured) {dozens} people in {country2}, {country1} (agreed|decided) {when} to (provide|
  contribute) {few} {aid}, {ministry_said}. {diplomacy_more}

{country1.adjective} president begins {few.digits}-day visit to {country2}
- The president of {country1}, {person1}, (arrived in|landed in|flew to) {country2} {when} for {few} days of talks
  (about|on) {affair}, {ministry_said}. {diplomacy_more}
- Talks (about|on) {affair} are planned when {person1}, the president of {country1}, spends {few} days in {country2},
  where {person1.he} (was welcomed|arrived) {when}. {diplomacy_more}

{country1}-{country2} talks on {affair} collapse in {city}
- (Negotiations|Talks) between {country1} and {country2} about {affair} (broke down|ended without a result|failed) in
  {city} {when} after {few} (days|weeks), {ministry_said}. {diplomacy_more}
- (Diplomats|Envoys) from {country1} and {country2} left {city} {when} without (an agreement|a result) on {affair}, (as
  neither side would give way|although they had met for {few} days). {diplomacy_more}

{country1} drops visa rule for {country2.adjective} visitors
- (Tourists|Travelers) from {country2} will no longer need a visa to (enter|visit) {country1} (from {month}|for stays of
  up to {few} weeks), {ministry_said}. {diplomacy_more}
- {country1} (has lifted|is to lift) the visa requirement for (citizens of|people from) {country2}, (who can now
  stay|allowing them to stay) for {few} weeks, {ministry_said}. {diplomacy_more}
"""

CATEGORIES: dict[str, Category] = {
    "treaty": table(
        "text short",
        """
do away with duties on farm products | farm trade
share the water of their rivers | water sharing
protect fish stocks together | fishing
recognize each other's diplomas | education
let their police forces work together | police
build a power line between them | energy
send prisoners home to serve their terms | prisoner transfer
train each other's soldiers | defense
fly to the Moon together | space
""",
    ),
    "affair": things("""
trade, fishing rights, gas supplies, migration, air traffic, climate change, water rights, tax rules, border controls
"""),
    "discord": things("""
fishing rights, a spy trial, a border fence, river pollution, human rights, a seized ship, an arms sale, a map
"""),
    "aid": things("""
field hospitals, rescue teams, helicopters, water pumps, transport planes, medical teams, food convoys
"""),
    "disaster": things("flood, landslide, hurricane, forest fire, mudslide, cyclone, volcanic eruption, dam failure"),
    "ministry_said": lines("""
the foreign ministry said
a spokeswoman said on {day}
officials said on {day}
according to state media
"""),
    "diplomacy_more": lines("""
Further talks are planned in {month2}.
The two countries have had close ties since {past_year}.
Trade between the two (grew|fell) by {percent} last year.
No (further|more) details were given.
The (step|news) came {few2} days after an election.
"""),
}
