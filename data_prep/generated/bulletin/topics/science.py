"""Stories of science."""

from data_prep.generated.bulletin.grammar import Category, lines, things

STORIES = """
{few.digits} new {species} species found in {country.adjective} {habitat}
- {few} species of {species} (unknown until now|that were not known before|never described before) have been discovered
  in a {habitat} in {country}, {science_said}. {science_more}
- Researchers who spent {few2} (weeks|months) in a {habitat} in {country} (came back with|discovered) {few} kinds of
  {species} that were (unknown|new) to science, {science_said}.

{fossil} {dozens} million years old found in {region}
- (A farmer|A schoolgirl|A hiker|A road worker) in {region} (stumbled on|came across|dug up) a {fossil} that is {dozens}
  million years old, {science_said}. {science_more}
- A {fossil} that (came to light|was dug up|was discovered) in {region} in {month} is {dozens} million years old,
  {science_said}. {science_more}

{probe} reaches {body} after {few.digits}-year journey
- (After a flight of {few} years|{few} years after its launch), the (spacecraft|space probe) {probe} (arrived at|went
  into orbit around) {body} {when}, the {country.adjective} space agency said. {space_more}
- (Cheers went up|Engineers cheered) in {city} {when} as the (spacecraft|space probe) {probe}, launched {few} years ago,
  (arrived at|entered the orbit of) {body}. {space_more}

Astronomers find {object} {thousands} light years away
- (A team|A group of astronomers) in {city} has (discovered|spotted) a {object} at a distance of {thousands} light
  years, {science_said}. {space_more}
- A {object} at a distance of {thousands} light years from (Earth|the Sun) has been (detected|discovered) with a
  telescope in {country}, {science_said}. {space_more}

{relic} unearthed under {city} {site}
- Workers (digging|laying cables|repairing pipes) under a {site} in {city} have (come across|discovered) the remains of
  a {relic}, {science_said}. {science_more}
- The remains of a {relic} (have come to light|were discovered|have been found) under a {site} in {city},
  {science_said}. {science_more}

{city} engineers turn {waste} into {goods}
- (A way|A new method|A process) to make {goods} (out of|from) {waste} has been developed by engineers (at the
  University of {city}|in {city}), {science_said}. {science_more}
- Engineers (at the University of {city}|at a laboratory in {city}) have (found a way to use|used) {waste} for the
  production of {goods}, {science_said}. {science_more}
"""

CATEGORIES: dict[str, Category] = {
    "species": things("frog, spider, orchid, beetle, bat, lizard, ant, moth, snail, mushroom"),
    "habitat": things("rainforest, gorge, swamp, valley, national park, mountain forest"),
    "fossil": things("""
shark tooth, turtle shell, crocodile jaw, snake skeleton, bird skeleton, palm leaf, pine cone, fish skeleton
"""),
    "probe": things("Argo, Beagle, Cygnus, Dawnstar, Icarus, Magellan, Pathway, Surveyor, Tycho, Wayfarer"),
    "body": things("Jupiter, Saturn, Mercury, Venus, Mars, Neptune, asteroid Vesta, dwarf planet Ceres"),
    "object": things("""
rocky planet, dead star, black hole, brown dwarf, gas planet, double star, planet with two suns, young star
"""),
    "relic": things("""
Roman bath, medieval bridge, Bronze Age grave, Celtic temple, Viking ship, Stone Age house, Gothic chapel
"""),
    "site": things("parking lot, school, hotel, playground, bus station, football field, post office, supermarket"),
    "waste": things("""
coffee grounds, orange peel, old tires, sawdust, eggshells, seaweed, straw, banana skins, old clothes
"""),
    "goods": things("concrete, paper, fuel, packaging, plastic, insulation, furniture, fertilizer, shoe soles"),
    "science_more": lines("""
The work took {few2} years.
The (results|findings) were published in a (journal|report) on {day2}.
It was paid for by {company}.
{person2}, who led the work, spoke of a surprise.
The (find|work) will be shown in {city3}.
"""),
    "space_more": lines("""
The mission (cost|has cost) {fortune}.
(First pictures|More data) are expected in {month2}.
{person2}, who led the team, spoke of a dream.
The work had begun in {past_year}.
A second team in {city3} confirmed it.
"""),
}
