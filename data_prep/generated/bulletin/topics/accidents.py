"""Stories of accidents."""

from data_prep.generated.bulletin.grammar import Category, lines, things

STORIES = """
{driver.noun}, {driver.age}, dies as {vehicle} hits {obstacle} near {city}
- A {driver} was killed {when} when a {vehicle} (left the road|skidded off the road|went out of control) and (crashed
  into|struck|slammed into) a {obstacle} (near|just outside|not far from) {city}(, police said|). {accident_more}
- Police (confirmed|said) on {day} that a {driver} had (been killed|died) when a {vehicle} crashed into a {obstacle}
  near {city}(, a town popular with tourists|). {accident_more}

{rider.noun}, {rider.age}, dies after collision with {vehicle} in {city}
- A {rider} who was (hit|struck|knocked down) by a {vehicle} (in the center of|in|on a busy street in) {city} {when} has
  died (of the injuries|in the hospital), {police_said}. {accident_more}
- (According to police,|Officials said that) a {vehicle} (ran into|collided with|struck) a {rider} in {city} {when}, and
  the victim died (on the way to the hospital|at the scene). {accident_more}

{few.digits} hurt as {train} derails near {city}
- {few} people were (injured|taken to the hospital with injuries) {when} when a {train} (jumped the tracks|came off the
  rails|left the tracks) (near|outside) {city}, {rail_said}. {accident_more}
- A {train} (with {hundreds} people on board|carrying {hundreds} passengers) came off the rails {when} (near|outside)
  {city}, (injuring {few} of them|and {few} of them were injured), {rail_said}. {accident_more}

{few.digits} dead, {dozens} injured as {coach} overturns on {highway}
- At least {few} people were killed and {dozens} others (hurt|injured) when a {coach} (rolled over|turned over|tipped
  over) on {highway} {when}, {police_said}. {accident_more}
- A {coach} (on its way to|bound for) {city} overturned {when} on {highway}, killing {few} people and injuring {dozens}
  more(, according to rescue workers|). {accident_more}

{walker.noun}, {walker.age}, rescued after {few.digits} days in {region} {wilds}
- A {walker} who (had been missing|disappeared while out alone|lost all contact with friends) was found alive and
  (flown|carried) to safety {when} after spending {few} days in a {wilds} in {region}, {rescuers_said}.
- Rescuers in {region} (brought|carried) a {walker} to safety {when}, {few} days after (an accident|a bad fall|a
  rockfall) in a {wilds}. (A dog led the team to the spot.|The search had cost {money}.|More than {dozens} volunteers
  had joined the search.)

Plane with {few.digits} aboard makes emergency landing on {highway}
- A small (aircraft|airplane) carrying {few} people had to (come down|land) on {highway} near {city} {when} because of
  {plane_trouble}, {police_said}. (No one was hurt.|The road was closed for {few2} hours.)
- Drivers on {highway} (could hardly believe their eyes|had to brake hard|were taken by surprise) {when} when a light
  aircraft with {few} people on board landed there because of {plane_trouble}. No one was hurt.

{ship} with {hundreds} aboard runs aground off {coast}
- A {ship} carrying {hundreds} (people|passengers) (got stuck on rocks|hit a sandbank and got stuck) off the coast of
  {coast} {when}, the coast guard said. (No injuries were reported.|Tugs were on their way.)
- The coast guard said {when} that tugs had been sent to a {ship} that was stuck (on rocks|on a sandbank) off the coast
  of {coast} with {hundreds} people on board. (All of them were safe.|The weather was calm.)
"""

CATEGORIES: dict[str, Category] = {
    "vehicle": things("car, van, truck, minibus, pickup truck, delivery van, taxi, tractor"),
    "obstacle": things("tree, wall, lamp post, parked truck, bus shelter, bridge pillar"),
    "train": things("commuter train, night train, freight train, tram, express train"),
    "coach": things("bus, tour bus, school bus, double-decker bus, minibus"),
    "ship": things("ferry, cruise ship, hospital ship, sailing ship, passenger ship"),
    "wilds": things("cave, canyon, forest, gorge, swamp, nature reserve"),
    "plane_trouble": things("engine failure, a lack of fuel, a broken propeller, thick fog, smoke in the cabin"),
    "rail_said": lines("""
the rail operator said
officials said on {day}
a spokesman for the railway said
according to the transport ministry
"""),
    "rescuers_said": lines("""
rescuers said
the mountain rescue service said
officials said on {day}
according to rescue workers
"""),
    "accident_more": lines("""
(The cause was not immediately clear.|The cause of the accident is not yet known.)
It was the {ordinal} (such|serious) accident (in the area|there) (this year|since {month}).
Traffic was (held up|disrupted) for {few2} hours.
An investigation (has begun|was opened on {day2}).
It had been raining (heavily|for {few2} days) (at the time|in the area).
"""),
}
