"""Stories of courts."""

from data_prep.generated.bulletin.grammar import Category, lines, table, things

STORIES = """
{convict} jailed for {few.digits} years for {crime.short}
- A {convict} from {city} was (sentenced to {few} years in prison|sent to prison for {few} years|ordered to spend {few}
  years in prison) {when} for {crime}. {court_more}
- A judge in {city} sent a {convict} to prison for {few} years on {day}, (after finding that|ruling that) {person1} (was
  guilty of|was responsible for) {crime}. {court_more}

Jury clears {convict} of {crime.short} in {city}
- A {convict} who was (accused of|on trial for|charged with) {crime} has been found not guilty by a (jury|court) in
  {city}, {court_said}. {court_more}
- Jurors in {city} needed {few} (hours|days) to decide {when} that a {convict} accused of {crime} was (not guilty|
  innocent). {court_more}

{company1.short} fined {money.short} over {offense.short}
- A court in {city} (ordered|told) {company1} {when} to pay a (fine|penalty) of {money} for {offense}. (The company said
  it would appeal.|A spokesman for the company declined to comment.|The case had begun in {month}.)
- {company1} must pay (a fine of {money}|{money} in fines) for {offense}, a (judge|court) in {city} (ruled|decided)
  {when}. (The company said it would appeal.|The judge spoke of greed.|Prosecutors had demanded even more.)

{company1.short} and {company2.short} settle {dispute} case for {money.short}
- {company1} (has agreed|agreed {when}) to pay {money} to {company2} to end a (long legal fight|lawsuit) over {dispute},
  (according to papers filed with|a spokesman said before) a court in {city}.
- A lawsuit over {dispute} that {company2} had brought against {company1} (came to an end|ended) {when} in {city} with a
  (payment|settlement) of {money}. {court_more}

{person1.short} sues {company1} over {grievance.short}
- {artist} {person1} has (taken {company1} to court|filed a lawsuit against {company1}) (in {city}|before a court in
  {city}), (claiming|arguing) that the company {grievance}. {court_more}
- (In papers filed with a court in {city}|In a complaint made public in {city}) on {day}, {artist} {person1} said that
  {company1} {grievance}. {person1.he} is (demanding|asking for) {money}.

{city} court overturns {crime.short} conviction of {convict}
- A court of appeal in {city} (threw out|set aside) the (verdict|judgment) against a {convict} {when} who had (spent|
  served) {few} years in prison for {crime}. {court_more}
- A {convict} found guilty of {crime} (in {past_year}|{few} years ago) (was wrongly convicted|should not have been
  convicted), a court of appeal in {city} (ruled|decided) {when}. {court_more}
"""

CATEGORIES: dict[str, Category] = {
    "convict": things("""
former bank manager, former mayor, dentist, retired judge, car dealer, art dealer, former police chief, tax adviser,
property developer, pharmacist, football agent, wine merchant, customs officer, travel agent
"""),
    "crime": table(
        "text short",
        """
cheating elderly people out of their savings | fraud
taking bribes from builders | bribery
stealing cash from a charity | theft
hiding income from the tax authorities | tax evasion
setting fire to an empty office | arson
threatening a witness | intimidation
passing secrets to a foreign power | spying
making false passports | forgery
bringing rare birds into the country illegally | smuggling
demanding money from a rival in return for silence | blackmail
lying under oath | perjury
""",
    ),
    "offense": table(
        "text short",
        """
agreeing on prices with competitors | price fixing
letting waste water flow into a river | river pollution
selling customer data to advertisers | data sales
misleading investors about its debts | false accounts
failing to protect its workers | lax safety
not paying overtime for years | unpaid overtime
making calls to people who did not want them | nuisance calls
""",
    ),
    "dispute": things("""
a patent, a trademark, a contract, a logo, a recipe, a slogan, a license, a brand name, a software program
"""),
    "artist": things("novelist, songwriter, photographer, cartoonist, film director, composer"),
    "grievance": table(
        "text short",
        """
used a portrait of {person1.him} without permission | use of portrait
copied one of {person1.his} works in an advertisement | copied advertisement
owes {person1.him} money for sales on the internet | online sales
did not pay for a design it had ordered | unpaid design
damaged a work that {person1.he} had lent it | damaged work
spread lies about {person1.him} | false claims
""",
    ),
    "court_said": lines("""
the court said on {day}
a lawyer said on {day}
it was announced on {day}
"""),
    "court_more": lines("""
The trial had (lasted {few2} weeks|begun in {month2}).
(The defense|The prosecutor) may still appeal.
A total of {dozens2} witnesses had been heard.
(The case had drawn wide attention.|The courtroom was full.)
The judge, {person3}, spoke of an unusual case.
"""),
}
