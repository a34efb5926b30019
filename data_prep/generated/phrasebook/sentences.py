"""The sentences and their parts, in the notation of `grammar`. To add a sentence, add its two lines.

"You" is "du" only after a first name, so that the English always decides.
"""

TEMPLATES = """
[sentence]
I/1 would/2 like/2 {goods} ,/3 please/4 .
= ich/1 hätte/2 gern/2 {goods.acc} ,/3 bitte/4 .
{*who} bought/1 {goods1} and/2 {goods2} {market} {past} .
= {who} habe|hat|haben/1 {past} {market} {goods1.acc} und/2 {goods2.acc} gekauft/1 .
how/1 much/2 does|do {*goods} cost/3 {market} ?
= wie/1 viel/2 kostet|kosten/3 {goods.nom} {market} ?
{*addressee} ,/1 can/2 you/3 tell/4 me/5 how/6 much/7 {item} costs/8 ?
= {addressee.nom} ,/1 kannst|können/2 du|Sie/3 mir/5 sagen/4 , wie/6 viel/7 {item.nom} kostet/8 ?
{item} costs/1 {price} .
= {item.nom} kostet/1 {price} .
last/1 week/2 {item} still/3 cost/4 {price} .
= letzte/1 Woche/2 kostete/4 {item.nom} noch/3 {price} .
{*goods} costs|cost/1 {food_price} {market} .
= {goods.nom} kostet|kosten/1 {market} {food_price} .
if/1 you/2 buy/3 {pieces} ,/4 you/5 only/6 pay/7 {price} .
= wenn/1 Sie/2 {pieces.acc} kaufen/3 ,/4 zahlen/7 Sie/5 nur/6 {price} .
{*who} would/1 like/1 to know/2 whether/3 {item} costs/4 less/5 than/6 {price} .
= {who} möchte|möchte|möchten/1 wissen/2 , ob/3 {item.nom} weniger/5 als/6 {price} kostet/4 .
{*who} am|is|are/1 only/2 buying/1 {piece} because/3 {item} is/4 too/5 expensive/6 .
= {who} kaufe|kauft|kaufen/1 nur/2 {piece.acc} , weil/3 {item.nom} zu/5 teuer/6 ist/4 .
{*who} paid/1 {price} for/2 {piece} .
= {who} habe|hat|haben/1 für/2 {piece.acc} {price} bezahlt/1 .
unfortunately/1 we/2 only/3 have/4 {goods} left/5 .
= leider/1 haben/4 wir/2 nur/3 noch/5 {goods.acc} .
{*addressee} ,/1 can/2 you/3 bring/4 {goods} {soon} ?
= {addressee.nom} ,/1 kannst|können/2 du|Sie/3 {soon} {goods.acc} mitbringen/4 ?
for/1 {occasion} {*who} need|needs|need/2 {goods1} ,/3 {goods2} and/4 {goods3} .
= für/1 {occasion} brauche|braucht|brauchen/2 {who} {goods1.acc} ,/3 {goods2.acc} und/4 {goods3.acc} .
that/1 makes/2 {price} altogether/3 .
= das/1 macht/2 zusammen/3 {price} .

the/1 train/2 to/3 {city} leaves/4 {departure} from/5 platform/6 {platform} .
= der/1 Zug/2 nach/3 {city} fährt/4 {departure} von/5 Gleis/6 {platform} ab/4 .
{day} {outgoing} leaves/1 {departure} .
= {day} fährt/1 {outgoing} {departure} ab/1 .
{incoming} arrives/1 {when} .
= {incoming} kommt/1 {when} an/1 .
{*who} am|is|are/1 taking/1 the/2 train/3 at/4 {early_clock} because/5 {appointment} begins/6 at/7 {late_clock} .
= {who} nehme|nimmt|nehmen/1 den/2 Zug/3 um/4 {early_clock} , weil/5 {appointment.nom} um/7 {late_clock} beginnt/6 .
{announcer} says/1 that/2 {incoming} will/3 arrive/3 {minutes} late/4 .
= {announcer} sagt/1 , dass/2 {incoming} mit/4 {minutes.dat} Verspätung/4 ankommt/3 .
{*who} have|has|have/1 been/1 waiting/1 for/2 {ride} for/3 {minutes} .
= {who} warte|wartet|warten/1 seit/3 {minutes.dat} auf/2 {ride.acc} .
{*who} am|is|are/1 late/1 because/2 {incoming} arrived/3 {minutes} late/4 .
= {who} komme|kommt|kommen/1 zu/1 spät/1 , weil/2 {incoming} mit/4 {minutes.dat} Verspätung/4 angekommen/3 ist/3 .
the/1 journey/2 from/3 {city1} to/4 {city2} takes/5 {hours} and/6 {minutes} .
= die/1 Fahrt/2 von/3 {city1} nach/4 {city2} dauert/5 {hours.acc} und/6 {minutes.acc} .
do you/1 know/2 when/3 the/4 last/5 train/6 to/7 {city} leaves/8 {day} ?
= wissen/2 Sie/1 , wann/3 der/4 letzte/5 Zug/6 {day} nach/7 {city} abfährt/8 ?
{*addressee} ,/1 if/2 you/3 arrive/4 at/5 {clock} ,/6 I/7 will/8 pick/8 you/9 up/8 {pick_up} .
= {addressee.nom} ,/1 wenn/2 du|Sie/3 um/5 {clock} ankommst|ankommen/4 ,/6 hole/8 ich/7 dich|Sie/9 {pick_up} ab/8 .
{*who} will/1 pick/1 {whom} up/1 {pick_up} {when} .
= {who} hole|holt|holen/1 {whom.acc} {when} {pick_up} ab/1 .
{*who} have|has|have/1 to/1 get/2 up/2 at/3 {early_clock} because/4 {flight} leaves/5 at/6 {late_clock} .
= {who} muss|muss|müssen/1 um/3 {early_clock} aufstehen/2 , weil/4 {flight} um/6 {late_clock} startet/5 .
{*who} have|has|have/1 lived/1 in/2 {city} for/3 {years} .
= {who} wohne|wohnt|wohnen/1 seit/3 {years.dat} in/2 {city} .
{*who} moved/1 to/2 {city} {years} ago/3 .
= {who} bin|ist|sind/1 vor/3 {years.dat} nach/2 {city} gezogen/1 .
the/1 key/2 for/3 room/4 {room} must/5 be/6 returned/7 by/8 {full_clock} .
= der/1 Schlüssel/2 für/3 Zimmer/4 {room} muss/5 bis/8 {full_clock} abgegeben/7 werden/6 .

{appointment} has/1 been/1 moved/2 {to_day} .
= {appointment.nom} wurde/1 {to_day} verschoben/2 .
{*who} would/1 like/1 to make/2 an/3 appointment/4 with/5 {whom} {for_day} .
= {who} möchte|möchte|möchten/1 bei/5 {whom.dat} einen/3 Termin/4 {for_day} vereinbaren/2 .
{*who} have|has|have/1 to/1 cancel/2 {event} {day} .
= {who} muss|muss|müssen/1 {event.acc} {day} absagen/2 .
{*who} will/1 call/1 {whom} {when} .
= {who} rufe|ruft|rufen/1 {whom.acc} {when} an/1 .
{*addressee} ,/1 please/2 call/3 {whom} {when} .
= {addressee.nom} ,/1 ruf|rufen/3 |Sie bitte/2 {whom.acc} {when} an/3 .
please/1 call/2 {whom} back/3 {day} before/4 {full_clock} .
= rufen/2 Sie {whom.acc} bitte/1 {day} vor/4 {full_clock} zurück/3 .
{appointment} begins/1 {when} and/2 lasts/3 {duration} .
= {appointment.nom} beginnt/1 {when} und/2 dauert/3 {duration} .
{event} takes/1 place/1 {in_time} .
= {event.nom} findet/1 {in_time} statt/1 .
{relative.gen} birthday/1 is/2 on/3 the/3 {date} .
= {relative.nom} hat/2 am/3 {date} Geburtstag/1 .
{relative} will/1 turn/1 {age} on/2 the/2 {date} .
= {relative.nom} wird/1 am/2 {date} {age} .
{weekdays} {office} is/2 open/3 from/4 {opening_clock} to/5 {closing_clock} .
= {weekdays} ist/2 {office.nom} von/4 {opening_clock} bis/5 {closing_clock} geöffnet/3 .
{*who} am|is|are/1 meeting/1 {whom} {when} in/2 front/2 of/2 {landmark} .
= {who} treffe|trifft|treffen/1 {whom.acc} {when} vor/2 {landmark.dat} .
{*who} have|has|have/1 reserved/2 a/3 table/4 for/5 {guests} people/6 {for_day} .
= {who} habe|hat|haben/1 {for_day} einen/3 Tisch/4 für/5 {guests} Personen/6 reserviert/2 .
if/1 it/2 rains/3 on/4 {weekday1} ,/5 {outdoor} will/6 be/6 postponed/7 to/8 {weekday2} .
= wenn/1 es/2 am/4 {weekday1} regnet/3 ,/5 wird/6 {outdoor.nom} auf/8 {weekday2} verschoben/7 .
{*addressee} ,/1 do you/2 know/3 whether/4 {event} can/5 begin/6 {minutes} later/7 ?
= {addressee.nom} ,/1 weißt|wissen/3 du|Sie/2 , ob/4 {event.nom} {minutes.acc} später/7 beginnen/6 kann/5 ?
{*who} hope|hopes|hope/1 that/2 {delivery} will/3 arrive/3 before/4 the/5 {date} .
= {who} hoffe|hofft|hoffen/1 , dass/2 {delivery.nom} vor/4 dem/5 {date} ankommt/3 .
{weekdays} {*who} get|gets|get/2 up/2 at/3 {early_clock} .
= {weekdays} stehe|steht|stehen/2 {who} um/3 {early_clock} auf/2 .
today/1 is/2 {weekday} ,/3 the/4 {date} .
= heute/1 ist/2 {weekday} ,/3 der/4 {date.nom} .
it/1 is/2 already/3 {clock} ,/4 and/5 {*who} am|is|are/6 still/7 waiting/6 for/8 {whom} .
= es/1 ist/2 schon/3 {clock} ,/4 und/5 {who} warte|wartet|warten/6 immer/7 noch/7 auf/8 {whom.acc} .
{guests} of the/1 {all_guests} guests/2 have/3 already/4 arrived/5 .
= {guests} der/1 {all_guests} Gäste/2 sind/3 schon/4 angekommen/5 .
there/1 are/1 {furniture1} and/2 {furniture2} in/3 the/3 {room_name} .
= im/3 {room_name} stehen/1 {furniture1.nom} und/2 {furniture2.nom} .
the/1 tickets/2 for/3 {show} cost/4 {price} per/5 person/6 .
= die/1 Karten/2 für/3 {show.acc} kosten/4 {price} pro/5 Person/6 .

[market]
at/1 the/2 market/3 = auf/1 dem/2 Markt/3
at/1 the/1 supermarket/2 = im/1 Supermarkt/2
at/1 the/1 farm/2 shop/2 = im/1 Hofladen/2

[occasion]
the/1 party/2 = die/1 Feier/2
the/1 trip/2 = den/1 Ausflug/2
the/1 picnic/2 = das/1 Picknick/2

[outgoing]
{line} to/1 {city} = {line.nom} nach/1 {city}

[incoming]
{line} from/1 {city} = {line.nom} aus/1 {city}

[flight]
the/1 flight/2 to/3 {city} = der/1 Flug/2 nach/3 {city}

[announcer]
the/1 conductor/2 = der/1 Schaffner/2
the/1 timetable/2 app/2 = die/1 Fahrplan-App/2

[pick_up]
at/1 the/1 airport/2 = am/1 Flughafen/2
at/1 the/2 bus/3 stop/3 = an/1 der/2 Haltestelle/3

[room_name]
hall/1 = Saal/1
office/1 = Büro/1
classroom/1 = Klassenzimmer/1

[day]
on/1 {weekday} = am/1 {weekday}
on/1 the/1 {date} = am/1 {date}
next/1 {weekday} = nächsten/1 {weekday}
tomorrow/1 = morgen/1
the/1 day/1 after/1 tomorrow/1 = übermorgen/1

[departure]
at/1 {clock} = um/1 {clock}
at/1 {digits} = um/1 {digits}

[when]
at/1 {clock} {day} = {day} um/1 {clock}
at/1 {evening_clock} on/2 {evening} = am/2 {evening} um/1 {evening_clock}

[past]
yesterday/1 = gestern/1
the/1 day/1 before/1 yesterday/1 = vorgestern/1
last/1 {weekday} = letzten/1 {weekday}
{days} ago/1 = vor/1 {days.dat}

[soon]
tomorrow/1 = morgen/1
this/1 evening/2 = heute/1 Abend/2
on/1 {weekday} = am/1 {weekday}

[to_day]
to/1 {weekday} = auf/1 {weekday}
to/1 {evening} = auf/1 {evening}
to/1 {weekday} at/2 {clock} = auf/1 {weekday} um/2 {clock}
to/1 the/2 {date} = auf/1 den/2 {date}

[for_day]
for/1 {weekday} = für/1 {weekday}
for/1 {evening} = für/1 {evening}
for/1 the/2 {date} = für/1 den/2 {date}

[in_time]
in/1 {days} = in/1 {days.dat}
in/1 {weeks} = in/1 {weeks.dat}
in/1 {months} = in/1 {months.dat}

[duration]
{some_hours} = {some_hours.acc}
{some_minutes} = {some_minutes.acc}
half/1 an/2 hour/3 = eine/2 halbe/1 Stunde/3
an/1 hour/2 and/1 a/1 half/1 = anderthalb/1 Stunden/2
"""
