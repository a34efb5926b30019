"""Stories of crime."""

from data_prep.generated.bulletin.grammar import Category, lines, things

STORIES = """
Thieves steal {loot} worth {money.short} from {city} {shop}
- (Burglars|Robbers|Masked men) broke into a {shop} in {city} {when} and (got away|escaped|made off) with {loot} valued
  at {money}, {police_said}. {crime_more}
- A {shop} in {city} was (robbed|broken into) {when}, and {loot} with a value of {money} (disappeared|were taken),
  {police_said}. {crime_more}

{few.digits} held over {raid} in {city}
- Police (have arrested|have detained|took into custody) {few} people in connection with a {raid} in {city} last
  {month}, (a spokesman|a spokeswoman) said on {day}. {crime_more}
- {few} (men|people|suspects) were arrested {when} (on suspicion of taking part in|because of) a {raid} in {city},
  {police_said}. {crime_more}

Stolen {artwork} worth {money.short} found in {city} {hideaway}
- A {artwork} that was (stolen|taken by thieves) from a {gallery} {few} years ago has (turned up|been discovered) in a
  {hideaway} in {city}, {police_said}. It is (valued|estimated) at {money}.
- Police searching a {hideaway} in {city} {when} (came across|discovered) a {artwork} valued at {money}, which had been
  (stolen from a {gallery} in|missing since) {past_year}.

Customs officers find {dozens} {pets} in luggage at {city} airport
- A total of {dozens} live {pets} were discovered {when} in the (suitcases|bags) of a {driver} at the airport of {city},
  (a customs spokesman|customs officials) said. The traveler had arrived from {country}.
- A {driver} arriving from {country} was stopped by customs (officials|inspectors) at the airport of {city} {when} with
  {dozens} {pets} hidden in (a suitcase|two suitcases|three bags).

Missing {walker.noun}, {walker.age}, found safe in {city}
- A {walker} whose family had (heard nothing|been without news) (for {few} weeks|since {month}) has been (located|found)
  in {city} and is (unharmed|in good health), {police_said}. (The search had covered {region}.|No crime is suspected.)
- After a search that lasted {few} (days|weeks), police said on {day} that a {walker} who (had disappeared|went missing)
  in {region} was (alive and well|unharmed) in {city}.

Police seize {hundreds}kg of {drug} in {city} {depot}
- Officers (discovered|found) {hundreds} kilograms of {drug} in a {depot} in {city} {when}, (hidden among|concealed in)
  {cargo} from {country}, {police_said}. {crime_more}
- {few} people were arrested {when} after {hundreds} kilograms of {drug}, (hidden among|packed between) {cargo}, were
  discovered in a {depot} in {city}, {police_said}.
"""

CATEGORIES: dict[str, Category] = {
    "pets": things("tortoises, snakes, parrots, lizards, spiders, scorpions, frogs, geckos"),
    "shop": things("jewelry store, bank, museum, art gallery, post office, auction house, antique shop"),
    "loot": things("diamonds, gold coins, rare stamps, watches, silver spoons, rings, emeralds, antique clocks"),
    "raid": things("""
bank robbery, jewel theft, kidnapping, stabbing, car theft ring, art theft, bomb threat, train robbery
"""),
    "artwork": things("painting, violin, sculpture, tapestry, manuscript, cello, portrait, icon"),
    "gallery": things("museum, private house, church, gallery, castle"),
    "hideaway": things("garage, cellar, attic, storage unit, barn, garden shed"),
    "drug": things("cocaine, heroin, cannabis, opium"),
    "depot": things("warehouse, freight depot, rail yard, truck depot, cold store"),
    "cargo": things("bananas, furniture, coffee, flowers, car parts, frozen fish, floor tiles"),
    "crime_more": lines("""
It was the {ordinal} such case in the city (this year|since {month}).
A stolen car was found nearby.
(A neighbor|A guard) was questioned as a witness.
Security cameras (recorded everything|were not working).
A reward of $10,000 has been offered.
"""),
}
