"""Stories of fires."""

from data_prep.generated.bulletin.grammar import Category, lines, table, things

STORIES = """
Fire destroys {building} in {city}, {few.digits} hurt
- A {building} in {city} (burned down|burned to the ground|was completely destroyed by a fire) {when}, and {few} people
  were (treated for smoke inhalation|injured), {firefighters_said}. {fire_more}
- {few} people were (hurt|injured|taken to the hospital) {when} in a fire that (completely destroyed|gutted) a
  {building} (on the edge of|in) {city}, {firefighters_said}. {fire_more}

{hundreds} flee homes as wildfire nears {city}
- Authorities (ordered|told) {hundreds} people to leave their homes {when} as a (forest fire|bush fire|fire driven by
  strong winds) (moved toward|came closer to|approached) {city}. {wildfire_more}
- A (forest fire|bush fire) fanned by strong winds came closer to {city} {when}, (forcing|driving) {hundreds} people (to
  leave|out of) their homes, {firefighters_said}. {wildfire_more}

Gas explosion kills {few.digits} at {city} {building}
- {few} people (died|lost their lives|were killed) {when} when gas (exploded|blew up) in a {building} in {city},
  {firefighters_said}. {fire_more}
- An explosion (tore through|ripped through|shook) a {building} in {city} {when}, killing {few} people, and
  (investigators|firefighters) believe that it was caused by (leaking gas|a leak of gas). {fire_more}

{cause.short} blamed for fire at {city} {building}
- A fire that (damaged|gutted|swept through) a {building} in {city} (last week|in {month}|last month) was caused by
  {cause}, investigators (concluded|said|found) on {day}. {fire_more}
- Investigators (said on {day} that|have concluded that) {cause} started the (fire|blaze) which (damaged|gutted|swept
  through) a {building} in {city} last {month}. {fire_more}

Firefighters save {dozens} {animals} from burning {stable} near {city}
- A total of {dozens} {animals} were (led|brought|carried) to safety by fire crews {when} after a {stable}
  (outside|near) {city} caught fire, {police_said}. {fire_more}
- Fire crews (needed {few} hours|risked their lives|worked through the night) to bring {dozens} {animals} to safety when
  flames broke out in a {stable} near {city} {when}. {fire_more}
"""

CATEGORIES: dict[str, Category] = {
    "stable": things("stable, barn, farm building"),
    "animals": things("horses, ponies, goats, donkeys, alpacas, calves"),
    "cause": table(
        "text short",
        """
an electric heater that had been left on | electric heater
a cigarette that had not been put out | cigarette
a candle that had fallen over | candle
an overheated laptop battery | laptop battery
a fault in the wiring of a freezer | freezer
fireworks that landed on the roof | fireworks
a toaster that nobody was watching | toaster
sparks from welding work | welding work
""",
    ),
    "firefighters_said": lines("""
the fire department said
firefighters said
officials said on {day}
according to the fire service
"""),
    "fire_more": lines("""
The damage was (put|estimated) at {money2}.
It took {dozens2} firefighters {few2} hours to put out the flames.
Smoke could be seen from {few2} miles away.
Neighbors had (called the emergency services|raised the alarm).
{few2} streets were closed to traffic.
"""),
    "wildfire_more": lines("""
The fire has burned {thousands} acres since {day2}.
Crews from {country} (are on their way|have come to help).
A school was turned into a shelter.
No rain is expected before {day2}.
The blaze was {percent} contained.
"""),
}
