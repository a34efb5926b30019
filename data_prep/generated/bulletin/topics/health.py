"""Stories of health."""

from data_prep.generated.bulletin.grammar import Category, lines, table, things

STORIES = """
{disease} outbreak closes {few.digits} schools in {city}
- {few} schools in {city} were closed {when} after {dozens} children fell ill with {disease}, {health_said}.
  {health_more}
- After {dozens} (pupils|children) came down with {disease}, {few} schools in {city} (sent everyone home|shut their
  doors) {when}, {health_said}. {health_more}

{food} sickens {dozens} people at {city} {canteen}
- (About|At least|Some) {dozens} (people|guests) (fell ill|became sick|had stomach pains) {when} after eating {food} at
  a {canteen} in {city}, {health_said}. {health_more}
- A {canteen} in {city} was (closed|shut down) {when} after {dozens} people who had eaten {food} there (became sick|fell
  ill), {health_said}. {health_more}

Study of {thousands} links {habit} to {effect.short}
- People who (report|say that they have) {habit.long} are {percent} {effect}, according to a study of {thousands}
  (adults| volunteers) (in|carried out in) {country}. {study_more}
- (Researchers in {city}|A team led by {person1}) followed {thousands} (adults|volunteers) for {few} years and found
  that those with {habit.long} are {effect}. {study_more}

{country} to ban {product} from {month}
- (Shops|Stores|Pharmacies) in {country} will (have to stop selling|no longer be allowed to sell) {product} from
  {month}, the health ministry (said|announced) on {day}. {health_more}
- The sale of {product} will (become illegal|no longer be legal|be forbidden) in {country} in {month}, {health_said}.
  {health_more}

{city} surgeons give {patient.noun}, {patient.age}, new {organ}
- A {patient} who had (waited|been waiting) {dozens} months for a {organ} received one {when} from surgeons in {city},
  who (operated|worked) for {few} hours. {health_more}
- In an operation that (lasted|took) {few} hours, surgeons in {city} (replaced|transplanted) the {organ} of a {patient}
  {when}, {health_said}. {health_more}

{country} approves {pharma.short} {remedy} against {disease}
- A {remedy} against {disease} that was (developed|tested for {few} years) by {pharma} may (now be used|be sold) in
  {country}, {health_said}. {health_more}
- {pharma} may (sell|offer) its {remedy} against {disease} in {country}, (regulators decided|the health ministry
  decided) {when} after {few} years of tests. {health_more}
"""

CATEGORIES: dict[str, Category] = {
    "product": things("""
flavored cigarettes, sleeping pills, diet pills, energy shots, sunbeds, hair dyes, tattoo inks, nicotine gum
"""),
    "disease": things("measles, flu, whooping cough, mumps, scarlet fever, chickenpox, meningitis, hepatitis"),
    "food": things("""
chicken salad, mushroom soup, seafood, potato salad, ice cream, fish stew, egg sandwiches, rice pudding
"""),
    "canteen": things("""
wedding, school, company canteen, summer camp, retirement home, hotel, university, street festival
"""),
    "habit": table(
        "text long",
        """
late dinners | dinner late in the evening
night shifts | night work
daily walks | a walk every day
noise | a lot of noise at home
short sleep | less than six hours of sleep
long commutes | a long way to work
gardening | a garden of their own
choir singing | membership in a choir
loneliness | few friends
coffee | several cups of coffee a day
""",
    ),
    "effect": table(
        "text short",
        """
more likely to have high blood pressure | high blood pressure
less likely to have high blood pressure | lower blood pressure
more likely to suffer from headaches | headaches
less likely to suffer a stroke | lower stroke risk
more likely to have a heart attack | heart attacks
more likely to put on weight | weight gain
less likely to catch a cold | fewer colds
less likely to become depressed | less depression
more likely to forget things | memory loss
more likely to live past ninety | longer life
""",
    ),
    "organ": things("heart, kidney, liver, lung, cornea"),
    "remedy": things("vaccine, pill, nasal spray, injection, drug"),
    "health_said": lines("""
health officials said
doctors said on {day}
the health ministry said
according to the health authorities
a hospital spokeswoman said
"""),
    "health_more": lines("""
(Experts|Doctors) called for calm.
(A doctors' association|A patients' group) asked for details.
{person2}, a doctor, (welcomed|explained) the step.
The (ministry|city) has spent {money2} on health this year.
More details will be given on {day2}.
"""),
    "study_more": lines("""
The (study|work) was paid for by {company}.
The cause is (unclear|not known).
It appeared in a journal on {day}.
(Age|Income) made no difference.
{person2}, who was not involved, had doubts.
"""),
}
