"""Stories of politics and elections."""

from data_prep.generated.bulletin.grammar import Category, lines, table, things

STORIES = """
{person1.short} wins {city} mayoral race with {majority.short} of vote
- {person1} was elected mayor of {city} on {day} with {majority} of the vote, (well ahead of|defeating) the {rival}
  {person2}, {election_said}. {election_more}
- Voters in {city} (have chosen|chose) {person1} as their (new|next) mayor, {election_said}: {person1.he}
  (took|received) {majority} of the vote, (well ahead of|against) the {rival} {person2}. {election_more}

{person1.short} concedes defeat in {city} mayoral race
- {person1} (admitted|acknowledged) on {day} that {person1.he} had lost the (race for|contest for|election for) mayor of
  {city} to the {rival} {person2}, (who took {majority} of the vote|according to {person1.his} spokesman).
  {election_more}
- (In a short speech|Speaking to supporters|In a message to supporters) on {day}, {person1} (accepted|admitted) that
  {person1.he} had been beaten by {person2} in the (election|race) for mayor of {city}. {election_more}

{country1} to hold early election in {month}
- Voters in {country1} will go to the polls in {month}, {few} months (sooner than planned|ahead of schedule), after the
  (government|coalition) (lost its majority|fell apart) over {quarrel}, {government_said}.
- The president of {country1} (dissolved parliament|called an election for {month}|set a new vote for {month}) {when}
  after talks about {quarrel} failed, {few} months before the regular election, (which|and the vote) will now take place
  in {month}.

Voters in {city} {verdict.short} {plan.short}
- (A plan|A proposal) to {plan} was {verdict} by {majority} of voters in {city} (in a referendum|at the ballot box) on
  {day}, {election_said}. {election_more}
- In a referendum on {day}, {majority} of voters in {city} {verdict.active} (a plan|a proposal) to {plan},
  {election_said}. {election_more}

{country1.adjective} {post} {person1.short} resigns over {scandal.short}
- {person1}, the {post} of {country1}, (stepped down|gave up {person1.his} post|left office) {when} after (newspapers
  reported|it became known|reports) that {person1.he} had {scandal}. {government_more}
- The {post} of {country1} (offered {person1.his} resignation {when}|announced {when} that {person1.he} was leaving)
  amid (growing criticism|reports) that {person1.he} had {scandal}. {person1} had been in office for {few} years.

{country1} names {person1.short} as new {post}
- {person1}, a {career}, (will be|is to become) the next {post} of {country1}, {government_said}. {person1.he} (takes
  over from|replaces|succeeds) {person2}, who (retired|resigned|fell ill) in {month}.
- On {day}, the prime minister of {country1} (appointed|chose) {person1}, (until now|previously) a {career}, to
  (succeed|replace) {person2} as {post}. {government_more}

{country1.adjective} parliament votes to {law.short}
- Lawmakers in {country1} (passed|approved|backed) a law {when} that will {law}, (with {hundreds} votes in favor|despite
  protests in the capital). {government_more}
- After (a debate of {few} hours|months of debate), members of parliament in {country1} (approved|passed) a bill on
  {day} that will {law}. {government_more}
"""

CATEGORIES: dict[str, Category] = {
    "rival": things("""
deputy mayor, former mayor, businessman, retired judge, outgoing mayor, journalist, former police chief
"""),
    "quarrel": things("the budget, taxes, pensions, farm subsidies, a pension reform, military service, fuel prices"),
    "verdict": table(
        "text short active",
        """
rejected | reject | rejected
turned down | reject | turned down
voted down | reject | voted down
approved | approve | approved
backed | approve | backed
accepted | approve | accepted
""",
    ),
    "plan": table(
        "text short",
        """
build a second airport | second airport
ban cars from the old town | car ban in old town
tear down the old football stadium | stadium demolition
make all buses free of charge | free bus travel
sell the municipal waterworks | sale of waterworks
dig a road tunnel under the river | river tunnel
bid for the Winter Olympics | Olympic bid
open shops on Sundays | Sunday shopping
put a tax on overnight stays | tourist tax
""",
    ),
    "scandal": table(
        "text short",
        """
not paid {person1.his} taxes for years | unpaid taxes
copied large parts of {person1.his} doctoral thesis | copied thesis
accepted trips paid for by a builder | free trips
given public contracts to a relative | contracts for relative
used a government plane for a vacation | vacation flight
lied about a university degree | false degree
lent money to a company under investigation | secret loan
""",
    ),
    "career": things("""
professor of law, banker, general, union leader, lawyer, diplomat, economist, judge
"""),
    "law": table(
        "text short",
        """
forbid smoking in parks | ban smoking in parks
give fathers three months of paid leave | extend paternity leave
allow people to vote at sixteen | lower voting age
put an end to the sale of fur | ban sale of fur
make school lunches free | introduce free school lunches
tax drinks that contain sugar | tax sugary drinks
let stores stay open all night | extend shopping hours
shorten military service | shorten military service
make it easier to become a citizen | ease citizenship rules
forbid single-use plastic cups | ban plastic cups
""",
    ),
    "election_said": lines("""
the election commission said
according to official results
official results showed
according to the {city} city council
"""),
    "government_said": lines("""
the government said on {day}
the prime minister said on {day}
state television reported
it was announced in parliament on {day}
"""),
    "election_more": lines("""
Turnout was {majority2}.
(Schools|Housing) had been the main issue of the campaign.
It was the {ordinal} vote in {few2} years.
A (recount|runoff) will not be needed.
Bad weather (kept many people at home|had little effect).
"""),
    "government_more": lines("""
The opposition (welcomed the move|criticized the decision).
(The news|The step) had been expected for {few2} weeks.
The next election is due in {month2}.
{few2} members of the cabinet were absent.
The currency (rose|fell) by {percent} after the news.
"""),
}
