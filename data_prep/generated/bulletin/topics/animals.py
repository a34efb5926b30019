"""Stories of animals."""

from data_prep.generated.bulletin.grammar import Category, lines, things

STORIES = """
Escaped {animal} caught in {city} after {few.digits} days
- (A|The) {animal} that had (got out of|broken out of|fled from) a {enclosure} {few} days earlier was (recaptured|
  brought back|captured) in {city} {when}, {police_said}. {animal_more}
- {few} days after it (got out of|broke out of) a {enclosure}, a {animal} was (trapped|captured) in {city} {when} (with
  the help of a net|by the fire department). {animal_more}

{city} zoo celebrates birth of {few.digits} {cubs}
- {few} {cubs} (were born|came into the world) at the zoo in {city} {when}, (the director|a keeper) said. {birth_more}
- The zoo in {city} (has|is proud of) {few} {cubs} (that were born|, born) {when}, and (visitors can see them from
  {month}|all of them are healthy). {birth_more}

Volunteers save {dozens} stranded {stranded} in {coast}
- A total of {dozens} {stranded} that had (been washed ashore|become stuck on a beach) in {coast} were (brought|helped)
  back into the sea {when} by (helpers|local people). {animal_more}
- (Helpers|Local people) worked {when} to get {dozens} {stranded} back into the sea after the animals had (been washed
  ashore|become stuck on a beach) in {coast}. {animal_more}

Lost {pet} finds way home to {city} after {dozens} weeks
- A {pet} that (disappeared|got lost) during a family vacation in {region} (was back|turned up) at its home in {city}
  {when}, {dozens} weeks later. {pet_more}
- A family in {city} could (hardly|not) believe it when their {pet}, (missing|gone) for {dozens} weeks, (sat in front of
  the door|scratched at the door) {when}. {pet_more}

{wildlife} return to {region} after {dozens} years
- For the first time in {dozens} years, {wildlife} have (been seen|been spotted|raised young) in {region},
  {science_said}. {nature_more}
- (Biologists say that|According to a study,) {wildlife}, which had (disappeared from|died out in) {region} {dozens}
  years ago, are (breeding|living) there again. {nature_more}

{country} to protect {dozens} {area} for {wildlife}
- {country} will (forbid hunting and fishing in|keep builders and hunters out of) {dozens} {area} in order to save its
  {wildlife}, (the environment ministry|a minister) said on {day}. {nature_more}
- To (save|help) its {wildlife}, {country} is going to turn {dozens} {area} into (nature reserves|protected areas), (the
  environment ministry|a minister) said on {day}. {nature_more}
"""

CATEGORIES: dict[str, Category] = {
    "animal": things("kangaroo, python, wolf, ostrich, bear, lynx, monkey, crocodile, zebra, llama, tiger, emu"),
    "enclosure": things("zoo, circus, private garden, nature park, farm"),
    "cubs": things("""
lion cubs, panda twins, penguin chicks, tiger cubs, otters, wolf pups, snow leopards, meerkats, flamingos
"""),
    "stranded": things("dolphins, whales, seals, porpoises, sea turtles"),
    "pet": things("cat, dog, sheepdog, terrier, poodle, tomcat, dachshund, spaniel, beagle"),
    "wildlife": things("""
storks, wolves, beavers, bears, eagles, cranes, otters, vultures, lynxes, owls, wild cats, bison
"""),
    "area": things("lakes, islands, forests, valleys, wetlands"),
    "animal_more": lines("""
A video of it was watched {thousands2} times.
A vet, {person2}, (took a look|was called).
It was the {ordinal} such rescue since {month2}.
A crowd of {hundreds2} (looked on|cheered).
"""),
    "pet_more": lines("""
(Nobody|No one) knows where it had been.
It had crossed {few2} rivers.
(A neighbor|A vet) had recognized it.
It had lost some weight.
"""),
    "birth_more": lines("""
The mother (came from {country}|arrived in {past_year}).
Names will be chosen in {month2}.
It is the {ordinal} such birth since {past_year}.
About {hundreds2} people came to see them.
"""),
    "nature_more": lines("""
The (project|plan) will cost {money2}.
(Farmers|Fishermen) are against it.
About {hundreds2} of them were counted in {past_year}.
{person2}, a biologist, spoke of a success.
The (news|plan) was welcomed in {country2}.
"""),
}
