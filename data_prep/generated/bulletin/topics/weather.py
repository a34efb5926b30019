"""Stories of weather."""

from data_prep.generated.bulletin.grammar import Category, lines, table, things

STORIES = """
Storm leaves {thousands} homes without power in {region}
- Electricity was cut off in {thousands} (homes|households) in {region} {when} as (strong winds|gales|a violent storm)
  brought down (power lines|trees and power lines), {utility_said}. {weather_more}
- A violent storm (swept across|hit|moved through) {region} {when}, and {thousands} homes (lost|were left without)
  electricity, {utility_said}. {weather_more}

Fog shuts {city} airport, strands {thousands} travelers
- About {thousands} passengers were (stuck|unable to leave) {when} after thick fog forced the airport of {city} to
  (close|cancel all flights|stop all flights), {airport_said}. {weather_more}
- The airport of {city} was (closed|forced to close) {when} because of thick fog, (leaving|and left) {thousands}
  passengers (stuck|with nowhere to go), {airport_said}. {weather_more}

Floods force {hundreds} people from homes in {city}
- (Some|About|A total of) {hundreds} residents of {city} (had to leave|fled|were taken from) their homes {when} as
  (heavy rain|days of rain) flooded (whole streets|large parts of the city), {officials_said}. {weather_more}
- After (days of|{few} days of) heavy rain, streets in {city} were under water {when}, and {hundreds} people were
  (forced to leave|brought out of) their homes, {officials_said}. {weather_more}

{city} has hottest {warm_month} day in {dozens} years
- Temperatures in {city} (reached|rose to|climbed to) {heat} degrees Celsius on {day}, the highest (temperature|reading)
  on a day in {warm_month} (for|in) {dozens} years, {forecasters_said}. {weather_more}
- It has not been so hot in {city} in {warm_month} for {dozens} years, {forecasters_said}, after thermometers showed
  {heat} degrees (Celsius|in the shade). {weather_more}

Lightning kills {dozens} {herd} on farm in {region}
- A total of {dozens} {herd} (were killed|died) when a bolt of lightning (hit|struck) a (tree|fence|meadow) on a farm in
  {region} {when}, (the owner|a neighbor|a vet) said. {weather_more}
- A farmer in {region} (lost|has lost) {dozens} {herd} {when} when lightning (struck|hit) the tree under which (the
  animals|they) had (taken shelter|gathered). {weather_more}

{region} bans {use.short} as drought enters {ordinal} month
- (With no rain in sight|After weeks of heat|As rivers run low), authorities in {region} have (told people not to|asked
  people not to|forbidden people to) {use} {from_day}, as a drought goes into its {ordinal} month.
- People in {region} will (not|no longer) be allowed to {use} {from_day}, {officials_said}, because a drought there has
  gone into its {ordinal} month. {weather_more}

Storm {storm} kills {few.digits} in {country}
- {few} people (have died|lost their lives|were killed) in {country} after (a storm named|the storm) {storm} (swept in|
  reached the country|arrived) {when}, {officials_said}. {weather_more}
- Strong winds and (heavy rain|high waves) killed {few} people in {country} {when} as the storm known as {storm} (moved
  north|crossed the country), {officials_said}. {weather_more}
"""

CATEGORIES: dict[str, Category] = {
    "warm_month": things("May, June, July, August, September"),
    "use": table(
        "text short",
        """
water their gardens | garden watering
wash their cars | car washing
fill their swimming pools | pool filling
water golf courses | golf course watering
clean streets with water | street cleaning
use fountains | fountains
""",
    ),
    "herd": things("cows, sheep, goats, pigs, horses"),
    "heat": lambda rng: {"text": f"{rng.randint(31, 44)}.{rng.randint(1, 9)}"},
    "storm": things("""
Agnes, Bertram, Cordelia, Dorian, Elmer, Freya, Gustav, Hilda, Igor, Josephine, Leopold, Mathilda
"""),
    "utility_said": lines("""
the grid operator said
{utility} said
officials said on {day}
according to the energy ministry
"""),
    "airport_said": lines("""
an airport spokeswoman said
the operator said
officials said on {day}
"""),
    "officials_said": lines("""
officials said
officials said on {day}
local media reported
a government spokeswoman said
according to local authorities
"""),
    "forecasters_said": lines("""
forecasters said
the weather service said
a meteorologist said on {day}
according to the weather service
"""),
    "from_day": lines("""
from {day2}
starting on {day2}
as of {day2}
"""),
    "weather_more": lines("""
(Schools will stay|All schools were) closed on {day2}.
No change is (expected|forecast) before {day2}.
(Hospitals|Rescue teams) in {city2} offered to help.
(Roads|Rail lines) were (closed|blocked) in {few2} places.
Conditions should improve by {day2}.
"""),
}
