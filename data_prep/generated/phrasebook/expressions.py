"""The parts of sentences that are templates themselves: times, places and the like, in the notation of `grammar`."""

EXPRESSIONS = {
    "market": """
at/1 the/2 market/3
auf/1 dem/2 Markt/3

at/1 the/1 supermarket/2
im/1 Supermarkt/2

at/1 the/1 farm/2 shop/2
im/1 Hofladen/2
""",
    "occasion": """
the/1 party/2
die/1 Feier/2

the/1 trip/2
den/1 Ausflug/2

the/1 picnic/2
das/1 Picknick/2
""",
    "outgoing": """
{line} to/1 {city}
{line.nom} nach/1 {city}
""",
    "incoming": """
{line} from/1 {city}
{line.nom} aus/1 {city}
""",
    "flight": """
the/1 flight/2 to/3 {city}
der/1 Flug/2 nach/3 {city}
""",
    "announcer": """
the/1 conductor/2
der/1 Schaffner/2

the/1 timetable/2 app/2
die/1 Fahrplan-App/2
""",
    "pick_up": """
at/1 the/1 airport/2
am/1 Flughafen/2

at/1 the/2 bus/3 stop/3
an/1 der/2 Haltestelle/3
""",
    "room_name": """
hall/1
Saal/1

office/1
Büro/1

classroom/1
Klassenzimmer/1
""",
    "day": """
on/1 {weekday}
am/1 {weekday}

on/1 the/1 {date}
am/1 {date}

next/1 {weekday}
nächsten/1 {weekday}

tomorrow/1
morgen/1

the/1 day/1 after/1 tomorrow/1
übermorgen/1
""",
    "departure": """
at/1 {clock}
um/1 {clock}

at/1 {digits}
um/1 {digits}
""",
    "when": """
at/1 {clock} {day}
{day} um/1 {clock}

at/1 {evening_clock} on/2 {evening}
am/2 {evening} um/1 {evening_clock}
""",
    "past": """
yesterday/1
gestern/1

the/1 day/1 before/1 yesterday/1
vorgestern/1

last/1 {weekday}
letzten/1 {weekday}

{days} ago/1
vor/1 {days.dat}
""",
    "soon": """
tomorrow/1
morgen/1

this/1 evening/2
heute/1 Abend/2

on/1 {weekday}
am/1 {weekday}
""",
    "to_day": """
to/1 {weekday}
auf/1 {weekday}

to/1 {evening}
auf/1 {evening}

to/1 {weekday} at/2 {clock}
auf/1 {weekday} um/2 {clock}

to/1 the/2 {date}
auf/1 den/2 {date}
""",
    "for_day": """
for/1 {weekday}
für/1 {weekday}

for/1 {evening}
für/1 {evening}

for/1 the/2 {date}
für/1 den/2 {date}
""",
    "in_time": """
in/1 {days}
in/1 {days.dat}

in/1 {weeks}
in/1 {weeks.dat}

in/1 {months}
in/1 {months.dat}
""",
    "duration": """
{some_hours}
{some_hours.acc}

{some_minutes}
{some_minutes.acc}

half/1 an/2 hour/3
eine/2 halbe/1 Stunde/3

an/1 hour/2 and/1 a/1 half/1
anderthalb/1 Stunden/2
""",
}
