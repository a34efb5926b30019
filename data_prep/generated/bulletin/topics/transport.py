"""Stories of transport."""

from data_prep.generated.bulletin.grammar import Category, lines, things

STORIES = """
{city} opens {fortune.short} {line} after {few.digits} years of work
- (Passengers|Crowds of people) (took their first ride|rode for the first time) {when} on a {line} in {city} that (cost
  {fortune} and took {few} years to build|took {few} years and {fortune} to build). {transport_more}
- After {few} years of (work|construction), a {line} that cost {fortune} (was opened|went into service) in {city}
  {when}. {transport_more}

{city} {stop} trains to resume after {few.digits}-month break
- Trains will (run|travel) between {city} and the {stop} again (from|starting on) {day}, {few} months after {damage}
  (forced the line to close|cut the line), {transport_said}. {transport_more}
- The railway line between {city} and the {stop}, (closed|out of use) for {few} months (because of|after) {damage}, will
  (open again|reopen|be back in use) on {day}, {transport_said}. {transport_more}

{airline1.short} to start {city1}-{city2} flights in {month}
- {airline1} will (fly|offer flights) between {city1} and {city2} (every day|{few} times a week) (from|starting in)
  {month}, (the company|a spokesman) said on {day}. {transport_more}
- (Travelers|Passengers) will be able to fly directly from {city1} to {city2} (as of|from) {month} with {airline1}, (the
  airline|a spokeswoman) said on {day}. {transport_more}

{city} to ban {polluters} from center in {year}
- From {year}, {polluters} will (no longer|not) be allowed in the center of {city}, the city council (decided|announced)
  {when}. {transport_more}
- (To make the air cleaner|In an effort to cut pollution|To reduce noise), the council of {city} voted {when} to keep
  {polluters} out of the city center as of {year}. {transport_more}

{city} {crossing} to close {few.digits} months for repairs
- (Drivers|Motorists) in {city} will have to (take another route|make a detour) for {few} months (from|starting in)
  {month} while a {crossing} is being repaired, {transport_said}. {transport_more}
- A {crossing} in {city} will be (closed to traffic|shut) for {few} months after (inspectors|engineers) found
  (cracks|rust| serious damage), {transport_said}. Repairs will cost {money}.

{city} {fare} fares to rise {percent1.short} in {month}
- Passengers will have to pay {percent1} more for {fare} tickets in {city} (from|starting in) {month} (because of higher
  {costs}|as {costs} have gone up), {transport_said}. {transport_more}
- The price of {fare} tickets in {city} will (go up|increase) by {percent1} in {month} (because of higher {costs}|as
  {costs} have gone up), {transport_said}. {transport_more}
"""

CATEGORIES: dict[str, Category] = {
    "line": things("tram line, subway line, cable car, light rail line, airport rail link, monorail"),
    "damage": things("a flood, a landslide, a bridge fire, a rockfall, an explosion, a storm, an avalanche"),
    "polluters": things("""
diesel cars, motorcycles, heavy trucks, delivery vans, tour buses, private cars, gas scooters
"""),
    "crossing": things("bridge, tunnel, overpass, ring road, drawbridge"),
    "stop": things("airport, stadium, university, zoo, fairground, hospital"),
    "fare": things("bus, subway, night bus, tram, train, taxi"),
    "costs": things("fuel prices, wages, energy prices, repair costs"),
    "transport_said": lines("""
the operator said
the city council said
officials said on {day}
according to the transport ministry
"""),
    "transport_more": lines("""
About {thousands2} people (are|will be) affected.
{person2}, a member of the city council, (had doubts|welcomed it).
The plan had been (discussed|disputed) since {past_year}.
Details will be announced on {day2}.
The mayor spoke of a (good day|difficult decision).
"""),
}
