"""Stories of companies."""

from random import Random

from data_prep.generated.bulletin.grammar import Category, Fact, lines, table

STORIES = """
{company1.short} profit {change.short} {change.percent} on {change.reason}
- {company1} said on {day} that its (quarterly|annual|half-year) profit had {change} by {change.long} (to {fortune})
  (because of|as a result of) {change.why}. {business_more}
- (Because of|As a result of) {change.why}, (quarterly|annual|half-year) profit at {company1} {change.past} by
  {change.long} (to {fortune}|), the company (said|reported) on {day}. {business_more}

{company1.short} to buy {company2.short} for {money.short}
- {company1} has agreed to (acquire|take over) {company2}, (a smaller firm|a company|a firm) based in {city}, (for
  {money}|in a deal valued at {money}), (the companies|both sides) said on {day}. {business_more}
- Shareholders of {company2} (will receive|are to get) {money} (under a deal|in a deal) that (makes the company|turns
  the firm into) a part of {company1}, (both sides|the companies) said on {day}. {business_more}

{company1.short} names {person1.short} as chief executive
- {person1}, (who has worked at|who used to be at|a former manager of) {company2}, will (take over as head of|lead|take
  the helm of) {company1} in {month}, the company said. {person1.he} succeeds {person2}. {business_more}

{retailer.short} recalls {thousands} {product.short} over {product.defect}
- {retailer} has asked customers to (return|bring back) {thousands} {product} because of {product.risk}, the company
  said on {day}. {business_more}
- (Because of {product.risk}|After reports of {product.risk}), {retailer} is taking {thousands} {product} (back|off the
  market), a (spokesman|spokeswoman) said on {day}. {business_more}

{company1.short} shares fall {percent1.short} after {blow.short}
- (Shares in|Stock in|The stock of) {company1} lost {percent1} of (its|their) value {when} after the company {blow}.
  {business_more}
- Investors sold shares in {company1} {when} (, pushing the price down|, and the price dropped) by {percent1}, after the
  company {blow}. {business_more}

{company1.short} chief {person1.short} steps down after {few.digits} years
- {person1}, who has (run|led|been at the head of) {company1} for {few} years, will (leave|give up {person1.his} post)
  in {month}, the company said on {day}. {business_more}
- {company1} said on {day} that {person1} would (leave|retire) as chief executive in {month} (for health reasons|to
  spend more time with {person1.his} family) after {few} years. {business_more}

{manufacturer1.short} to build {fortune.short} plant in {city}
- {manufacturer1} will (invest {fortune} in|spend {fortune} on) a (new factory|factory) (near|on the outskirts of|in)
  {city}, (the company|a spokeswoman) said on {day}. {business_more}
- (The outskirts of|A former airfield near) {city} will be the site of a (factory|new factory) for which {manufacturer1}
  is to pay {fortune}, the company said on {day}. {business_more}
"""

GAINS = (
    ("lower costs", "cost cuts"),
    ("the success of a new product", "new product"),
    ("the sale of a subsidiary", "unit sale"),
)
LOSSES = (
    ("a strike of several weeks", "strike"),
    ("higher costs", "high costs"),
    ("the loss of a lawsuit", "lost lawsuit"),
)


def _change(rng: Random) -> Fact:
    """A rise or a fall. The headline's verb says how large it is."""
    percent, verb = rng.randint(3, 89), rng.randrange(3)
    if rng.randrange(2):
        past, done = ("rose", "grew", "increased")[verb], ("risen", "grown", "increased")[verb]
        short, (why, reason) = "soars" if percent >= 40 else "rises", rng.choice(GAINS)
    else:
        past, done = ("fell", "dropped", "decreased")[verb], ("fallen", "dropped", "decreased")[verb]
        short, (why, reason) = "plunges" if percent >= 40 else "falls", rng.choice(LOSSES)
    amounts = {"long": f"{percent} percent", "percent": f"{percent}%"}
    return {"text": done, "past": past, "short": short, "why": why, "reason": reason} | amounts


CATEGORIES: dict[str, Category] = {
    "product": table(
        "text short defect risk",
        """
electric kettles | kettles | fire risk | the danger of fire
children's car seats | car seats | weak belts | belts that may tear
garden chairs | garden chairs | broken legs | legs that may snap
electric bicycles | e-bikes | brake fault | brakes that may fail
hair dryers | hair dryers | shock risk | the danger of an electric shock
jars of peanut butter | peanut butter jars | glass splinters | pieces of glass
stuffed toy bears | toy bears | choking risk | buttons that children may swallow
packs of frozen spinach | spinach packs | mix-up | wrong labels
mobile phones | phones | battery fault | batteries that may catch fire
""",
    ),
    "change": _change,
    "blow": table(
        "text short",
        """
lowered its forecast for the year | profit warning
lost its largest customer | loss of customer
said that hackers had stolen data | data theft
admitted mistakes in its books | accounting errors
stopped work on a new product | product setback
said that its finance chief would leave | executive's exit
had to close its biggest factory | factory closure
""",
    ),
    "business_more": lines("""
Analysts had expected (as much|something else).
The company has {thousands2} employees.
Its headquarters are in {city2}.
It was founded in {past_year2}.
(A trade union|A consumer group) asked for details.
"""),
}
