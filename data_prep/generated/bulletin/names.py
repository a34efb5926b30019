"""Names of places, people, companies and teams: those that all splits share, and those that dev and test alone have."""

import re

SHARED = {
    "city": """
Aberdeen, Adelaide, Antwerp, Bergen, Bilbao, Bologna, Bordeaux, Brisbane, Bristol, Calgary, Cardiff, Cleveland,
Coimbra, Dresden, Dundee, Durban, Edmonton, Fresno, Galway, Gdansk, Geneva, Genoa, Ghent, Glasgow, Gothenburg, Graz,
Halifax, Hobart, Houston, Izmir, Krakow, Lausanne, Leeds, Leipzig, Lille, Limerick, Linz, Lisbon, Lyon, Malaga,
Malmo, Memphis, Milan, Mombasa, Montreal, Nagoya, Nantes, Naples, Norwich, Omaha, Osaka, Ottawa, Palermo, Perth,
Plymouth, Porto, Quito, Rotterdam, Salzburg, Seville, Sheffield, Tampa, Tampere, Toulouse, Trieste, Tucson, Turin,
Utrecht, Valencia, Vancouver, Winnipeg, Zurich
""",
    "region": """
Alberta, Alentejo, Andalusia, Bavaria, Brittany, Burgundy, Calabria, Carinthia, Catalonia, Cornwall, Dalmatia,
Flanders, Galicia, Hokkaido, Jutland, Kerala, Lapland, Lombardy, Manitoba, Montana, Nebraska, Normandy, Ontario,
Oregon, Patagonia, Piedmont, Provence, Saxony, Sicily, Silesia, Tasmania, Transylvania, Tuscany, Tyrol, Umbria,
Wyoming
""",
    "country": """
Argentina/Argentine, Australia/Australian, Austria/Austrian, Belgium/Belgian, Bolivia/Bolivian, Brazil/Brazilian,
Canada/Canadian, Chile/Chilean, Colombia/Colombian, Croatia/Croatian, Denmark/Danish, Estonia/Estonian,
Finland/Finnish, Ghana/Ghanaian, Greece/Greek, Hungary/Hungarian, India/Indian, Ireland/Irish, Italy/Italian,
Jamaica/Jamaican, Japan/Japanese, Kenya/Kenyan, Latvia/Latvian, Malaysia/Malaysian, Mexico/Mexican,
Morocco/Moroccan, Norway/Norwegian, Peru/Peruvian, Poland/Polish, Portugal/Portuguese, Romania/Romanian,
Senegal/Senegalese, Slovakia/Slovak, Spain/Spanish, Sweden/Swedish, Thailand/Thai, Uruguay/Uruguayan,
Vietnam/Vietnamese
""",
    "woman": """
Alice, Amara, Beatriz, Carla, Clara, Diana, Elena, Emma, Fatima, Grace, Hanna, Helen, Ingrid, Irene, Julia, Karen,
Laura, Lucia, Maria, Marta, Mei, Nadia, Nina, Olga, Paula, Priya, Rachel, Rosa, Sofia, Susan, Teresa, Yuki
""",
    "man": """
Adam, Ahmed, Andrew, Anton, Boris, Carlos, Daniel, David, Diego, Erik, Felix, Frank, Henrik, Ivan, Jack, James,
Jorge, Kenji, Kofi, Lars, Luca, Marco, Martin, Miguel, Oscar, Patrick, Paulo, Peter, Rafael, Samuel, Stefan, Thomas
""",
    "surname": """
Abara, Almeida, Andersen, Baker, Banerjee, Barbosa, Becker, Bellini, Bergman, Carter, Castillo, Chen, Costa, Dalton,
Delgado, Dubois, Duarte, Eriksen, Farrell, Ferrari, Fischer, Fontaine, Garcia, Gruber, Gupta, Haddad, Hansen,
Harper, Hoffman, Holm, Horvat, Hughes, Ibsen, Ivanov, Jansen, Kaplan, Keller, Kimura, Kovacs, Lambert, Larsen,
Laurent, Lindqvist, Lopez, Marino, Martel, Mensah, Moreau, Morgan, Murphy, Nagy, Navarro, Nilsson, Novak, Okafor,
Oliveira, Parker, Patel, Pereira, Petrov, Quinn, Ramos, Reyes, Ricci, Romero, Rossi, Santos, Sato, Schmidt, Silva,
Sullivan, Suzuki, Tanaka, Torres, Turner, Ueda, Vargas, Virtanen, Walker, Weber, Winter, Yamada, Zhang
""",
    "firm": """
Aldergate, Amberline, Arcadia, Axion, Bluefield, Bridgeway, Calder, Castlemark, Cobalt, Corvus, Crestview, Delphi,
Eastbrook, Ellison, Everline, Fairmont, Firstlight, Granite, Greystone, Halcyon, Harbor, Helix, Highland, Ironwood,
Juniper, Kestrel, Kingsway, Lakeshore, Lumen, Meridian, Montrose, Northgate, Novara, Oakridge, Orion, Paragon,
Pinnacle, Quantum, Redwood, Riverside, Sandstone, Sterling, Summit, Tideway, Union, Vertex, Westbury, Zenith
""",
    "team": """
Badgers, Bears, Bisons, Bulls, Comets, Cougars, Dragons, Eagles, Giants, Hawks, Hornets, Jaguars, Knights, Lions,
Lynx, Mariners, Mustangs, Otters, Panthers, Pirates, Raiders, Rangers, Rockets, Scorpions, Sharks, Stallions, Stars,
Tigers, Titans, Vikings, Wizards, Wolves
""",
}
"""By kind. Countries have their adjective after a slash."""

UNSHARED = {
    "city": "Bremen, Cork, Denver, Nairobi, Oslo, Pisa, Sapporo, Verona",
    "region": "Arizona, Bohemia, Quebec, Sardinia",
    "country": "Iceland/Icelandic, Nepal/Nepalese, Slovenia/Slovenian",
    "surname": "Aalto, Brennan, Cruz, Dvorak, Engel, Fraser, Mancini, Ortega, Tremblay",
    "firm": "Brightwater, Cascade, Falcon, Solaris, Thornhill",
    "team": "Foxes, Ravens, Saints",
}
"""Single words each: a model has to copy them, not to know them."""

UNSEEN = frozenset(re.findall(r"\w+", " ".join(UNSHARED.values())))


def names(kind: str) -> list[str]:
    """All names of a kind, the shared ones first."""
    return re.findall(r"[\w/]+", f"{SHARED[kind]} {UNSHARED.get(kind, '')}")
