"""Stories of strikes."""

from data_prep.generated.bulletin.grammar import Category, lines, table, things

STORIES = """
{city} {workers.short} strike over {issue.short}
- (Hundreds|Thousands) of {workers} in {city} (walked off the job|stopped work|laid down their tools) {when} in a
  dispute over {issue}, {union_said}. {strike_more}
- {workers} in {city} (did not go to work|stayed away from work|refused to work) {when} to protest against {issue},
  {union_said}. {strike_more}

{city} {workers.short} end {few.digits}-week strike after pay deal
- {workers} in {city} will (go back|return) to work {when} after {few} weeks of (walkouts|strikes), (having won|as their
  employer agreed to) a pay increase of {percent}, {union_said}.
- A strike by {workers} in {city} (is over|has ended|came to an end) after {few} weeks (, as both sides|: the two sides)
  (agreed {when} on|settled {when} for) {percent} more pay. {strike_more}

{city} {workers.short} turn down {percent.short} pay offer
- {workers} in {city} (voted by a large majority to reject|rejected) (an offer of {percent} more pay|an increase of
  {percent} in their pay) {when}, {union_said}. {strike_more}
- An offer to raise the pay of {workers} in {city} by {percent} was (refused|voted down|rejected) {when}, {union_said}.
  {strike_more}

{manufacturer.short} to cut {hundreds} jobs at {city} plant
- {manufacturer} plans to (lay off|dismiss) {hundreds} (workers|employees) at its (factory|plant) in {city}, (citing|
  blaming) {business_reason}, (the company|a spokeswoman) said on {day}. {jobs_more}
- (Because of|Blaming) {business_reason}, {manufacturer} will (eliminate|do away with) {hundreds} jobs at its
  (factory|plant) in {city}, (employees were told|the company announced) {when}. {jobs_more}

{manufacturer.short} to hire {hundreds} at new {city} plant
- {manufacturer} is looking for {hundreds} (workers|people|employees) for a (factory|plant) that it is (building|about
  to open) in {city}, (the company|a spokeswoman) said on {day}. {jobs_more}
- A new (factory|plant) that {manufacturer} is opening in {city} will (give work to|create jobs for|need) {hundreds}
  people, (the company|a spokesman) said on {day}. {jobs_more}
"""

CATEGORIES: dict[str, Category] = {
    "workers": table(
        "text short",
        """
bus drivers | bus drivers
men and women who collect the garbage | garbage collectors
nurses at public hospitals | nurses
teachers at primary schools | teachers
people who clean the streets | street cleaners
men and women who put out fires | firefighters
drivers of subway trains | subway drivers
people who deliver the mail | mail carriers
cabin crews | cabin crews
people who keep the airport safe | airport guards
bakers | bakers
""",
    ),
    "issue": table(
        "text short",
        """
low wages | low pay
long working hours | long hours
unpaid night shifts | night shifts
planned cuts in pensions | pension cuts
the dismissal of a colleague | colleague's dismissal
a lack of staff | staff shortage
unsafe equipment | unsafe equipment
cuts in sick pay | sick pay
""",
    ),
    "union_said": lines("""
a union spokesman said
the union said on {day}
according to local media
a spokeswoman for the city said
"""),
    "business_reason": things("weak demand, high energy prices, falling orders, rising costs, cheap imports"),
    "strike_more": lines("""
New talks are planned for {day2}.
The dispute (began in {month2}|has gone on for {few2} months).
The union has {thousands2} members.
(The mayor|A mediator) called for calm.
Their last pay increase was {few2} years ago.
"""),
    "jobs_more": lines("""
The company has {thousands2} employees worldwide.
(The mayor|The union) had no comment.
The plant was (opened|sold|built) in {past_year}.
Shares (rose|fell) by {percent} on the news.
It makes parts for customers in {country}.
"""),
}
