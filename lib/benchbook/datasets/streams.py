"""Seeded numbers and texts, drawn from streams of 64-bit words by whole-number arithmetic.

Only `PCG64.random_raw` is used: its stream is fixed, while numpy's distributions may change between
versions. Every column has its own stream, named by a label, so that the first records of a set do
not depend on how many follow.

Text is about as compressible as English, and is generated as fast as memory can be written. It
consists of cells of eight characters: a word of seven letters, or two short ones, each with a
space. A table of 65,536 cells turns every 16 random bits into eight characters in one numpy lookup.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from itertools import product
from typing import Final, TypeVar
from zlib import crc32

import numpy as np
import numpy.typing as npt

T = TypeVar("T")
Words = npt.NDArray[np.uint64]
Integers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class ColumnDraws:
    """The columns of a set, each drawn from a stream named by seed, set and the column's label."""

    seed: int
    set: str
    count: int  # values of each column

    def integers(self, label: str, low: int, high: int) -> Integers:
        """Return integers, uniform from `low` to `high`, both included."""
        return (self._draw_words(label, self.count) % np.uint64(high - low + 1)).astype(
            np.int64
        ) + low

    def numbers(self, label: str, low: int, high: int) -> list[int]:
        """Return `integers` as a list of Python integers."""
        drawn: list[int] = self.integers(label, low, high).tolist()
        return drawn

    def bell(self, label: str, low: int, high: int) -> Integers:
        """Return integers from `low` to `high`, both included, most of them in the middle.

        They are scaled means of eight uniform bytes.
        """
        eight = (
            self._draw_words(label, self.count).astype("<u8").view(np.uint8).reshape(self.count, 8)
        )
        scaled: Integers = low + eight.sum(axis=1, dtype=np.int64) * (high - low + 1) // (
            8 * 255 + 1
        )
        return scaled

    def choices(self, label: str, table: Sequence[T]) -> list[T]:
        """Return entries of the table, uniformly."""
        return pick_entries(table, self.integers(label, 0, len(table) - 1))

    def ids(self) -> list[str]:
        """Return distinct identifiers of 24 hexadecimal digits (96 random bits each)."""
        digits = self._draw_words("_id", (3 * self.count + 1) // 2).astype("<u8").tobytes().hex()
        return [digits[start : start + 24] for start in range(0, 24 * self.count, 24)]

    def texts(self, label: str, lengths: Integers) -> list[str]:
        """Return a text per length, which begins with a word.

        Parameters
        ----------
        label
            The column's label.
        lengths
            Characters of each text, at least 1; shape (n,).
        """
        cells = -(-lengths // _CELL_CHARACTERS)
        ends = np.cumsum(cells)
        starts = (ends - cells) * _CELL_CHARACTERS
        count = int(ends[-1]) if len(ends) else 0
        draws = self._draw_words(label, -(-count // 4)).astype("<u8").view("<u2")[:count]
        text = _build_cells()[draws].tobytes().decode("ascii")
        spans = zip(starts.tolist(), (starts + lengths).tolist(), strict=True)
        pieces = [text[start:end] for start, end in spans]
        return [piece[:-1] + "." if piece.endswith(" ") else piece for piece in pieces]

    def _draw_words(self, label: str, count: int) -> Words:
        """Return 64-bit words of a stream; raises `ValueError` on a negative count or seed."""
        if count < 0 or self.seed < 0:
            raise ValueError(
                f"a set needs n >= 0 and seed >= 0, not n={count} and seed={self.seed}"
            )
        name = f"{self.set}.{label}"
        words: Words = np.random.PCG64([self.seed, crc32(name.encode())]).random_raw(count)
        return words


def pick_entries(table: Sequence[T], index: Integers) -> list[T]:
    """Return ``table[i]`` for every i; the objects are shared, not copied."""
    column = np.empty(len(table), dtype=object)
    column[:] = list(table)
    picked: list[T] = column[index].tolist()
    return picked


def make_moments(milliseconds: Integers) -> list[datetime]:
    """Return the UTC times so many milliseconds after 1970."""
    return [naive.replace(tzinfo=UTC) for naive in milliseconds.astype("M8[ms]").tolist()]


def split_names(text: str, separator: str | None = None) -> tuple[str, ...]:
    """Return the entries of a table that is written as running text, without blanks around them."""
    return tuple(entry.strip() for entry in text.split(separator))


WORDS: Final = split_names(
    """
    ad am an as at be by do go he if in is it me my no of on or so to up us we act age ago air all
    and any arm art ask bad bag bar bed big bit box boy bus but buy can car cat cup cut day did
    dog dry due ear eat egg end eye far few fit fly for fun gas get god got gun had has hat her
    him his hot how ice its job key kid law lay led leg let lie lot low man map may men met new
    nor not now odd off oil old one our out own pay per put ran red row run sad sat saw say sea
    see set she sir sit six sky son sun tax tea ten the tie tip too top try two use van via war
    was way web who why win wit yes yet you able acid also area army away back ball band bank base
    bear beat been bell belt best bill bird blow blue boat body bone book born both bowl burn busy
    cake call calm camp card care case cash cast cell city clay club coal coat code cold come cook
    cool copy corn cost crew crop dark data date dawn days dead deal dear debt deck deep desk diet
    dish door down draw drew drop drum dust duty each earn east easy edge even ever face fact fair
    fall farm fast fear feel feet fell file film find fine fire firm fish five flag flat flow folk
    food foot form four free from fuel full fund gain game gate gave gift girl give glad goal gold
    gone good gray grew grow half hall hand hang hard harm have head hear heat held help here high
    hill hold hole home hope hour huge idea inch into iron item join jump jury just keep kept kind
    king knew know lack lady lake land lane last late lead leaf left less life lift like line link
    list live loan lock long look lord lose loss lost loud love luck made mail main make many mark
    mass meal mean meat meet milk mill mind mine miss mode mood moon more most move much must name
    navy near neck need news next nice nine none noon nose note once only open over pace pack page
    paid pain pair palm park part pass past path peak pick pile pink pipe plan play plot poem poet
    pole pool poor port post pull pure push race rail rain rank rare rate read real rest rice rich
    ride ring rise risk road rock role roll roof room root rope rose rule rush safe said sail sale
    salt same sand save seat seed seek seem seen self sell send ship shop shot show shut sick side
    sign silk site size skin slip slow snow soft soil sold sole some song soon sort soul spot star
    stay stem step stop such suit sure swim tail take tale talk tall tank tape task team tell tend
    tent term test text than that them then they thin this thus tide till time tiny told toll tone
    took tool tour town tree trip true tube turn twin type unit upon user vast very vice view vote
    wage wait wake walk wall want warm wash wave weak wear week well went were west what when whom
    wide wife wild will wind wine wing wire wise wish with wood word work yard year your zero zone
    about above actor adult after again agent agree ahead alarm album alive allow alone along
    among anger angle apart apple arena armor aside asset avoid award aware beach begin being
    below bench birth black blade blame blank blind block blood board boost bound brain brand
    brave bread break brick brief bring broad brown brush build built cabin cable candy carry
    catch cause chain chair chart chase cheap check chest chief child civil claim class clean
    clear clerk click climb clock close cloth cloud coach coast count court cover craft crash
    cream crime cross crowd crown cycle daily dance death delay depth devil dirty doubt dozen
    draft drama dream dress drift drink drive early earth eight elect empty enemy enjoy enter
    equal error event every exact exist extra faith false fault favor fiber field fifth fifty
    fight final first flame fleet flesh floor fluid focus force forth forty found frame fresh
    front fruit funny giant glass globe glory grace grade grain grand grant grass grave great
    green gross group guard guess guest ability account achieve address advance against airport
    already amazing ancient another anxiety arrange article attempt attract average balance
    barrier battery bearing because bedroom believe benefit besides between billion blanket
    brother cabinet capable capital captain capture careful carrier central century certain
    chamber channel chapter charity chicken citizen classic climate closely clothes collect
    college combine comfort command comment company compare compete complex concept concern
    conduct confirm connect consist contact contain content contest context control convert
    correct council counter country courage creator crucial crystal culture current cutting
    dealing decline defense deliver density deposit desired despite destroy develop devoted
    digital disease display distant diverse divided drawing dynamic eastern economy edition
    element engaged enhance entered evening exactly examine example excited exclude exhibit
    explain explore express extreme factory faculty failure fashion feature federal feeling
    fiction fifteen finance finding fishing fitness foreign forever formula fortune forward
    founder freedom further gallery general genetic gesture grocery growing habitat handful
    healthy hearing heavily helpful herself highway himself history holiday housing however
    hundred hunting husband illegal imagine improve include initial inquiry insight install
    instead intense involve journal journey justice killing kingdom kitchen landing largely
    lasting leading learned leisure liberal library license limited literal machine manager
    married massive measure medical meeting mention message million mineral minimum missing
    mission mistake mixture monitor morning musical mystery natural neither nervous network
    nothing nowhere nuclear observe obvious offense officer ongoing opening operate opinion
    organic outcome outside overall package painter parking partner passage passion patient
    pattern payment penalty percent perfect perform perhaps physics picture pioneer plastic
    popular portion poverty precise predict premium prepare present prevent primary privacy
    private problem proceed process produce product profile program project promise promote
    protect protein protest provide publish purpose pursuit qualify quality quarter quickly
    radical railway reading reality realize receive recover reflect regular related release
    remains removal replace request require reserve resolve respect respond restore retired
    revenue reverse routine running satisfy science section segment serious service session
    setting several shelter silence similar society soldier somehow speaker special station
    storage strange stretch student subject succeed success suggest summary support suppose
    supreme surface surgery survive suspect sustain teacher tension theatre therapy thought
    through tobacco tonight totally touched tourist towards trading traffic trouble typical
    unknown unusual upgrade usually utility variety various vehicle version veteran victory
    village violent virtual visible visitor waiting warning wealthy weather website wedding
    weekend welcome welfare western whereas whether willing winning without witness
    """
)
"""Common English words of two to seven letters."""

GIVEN: Final = split_names(
    """
    Ana Bruno Carla Daniel Eva Filipe Gabriela Hugo Inês João Karla Luís Maria Nuno Olga Pedro
    Quentin Rita Sérgio Teresa Ulrich Vera Walter Xénia Yara Zoë Adrián Björn Chloé Dániel Élodie
    François Göran Håkan Ivo Jürgen
    """
)
"""Given names."""

FAMILY: Final = split_names(
    """
    Almeida Lucas Silva Santos Ferreira Pereira Oliveira Costa Rodrigues Martins Sousa Fernandes
    Gonçalves Gomes Lopes Marques Ribeiro Carvalho Teixeira Moreira Correia Mendes Nunes Soares
    Vieira Monteiro Cardoso Rocha Neves Coelho Cruz Cunha Pires Ramos Reis Simões Antunes Matos
    Fonseca Müller Schmidt Schneider Fischer Weber Meyer Wagner Becker Schulz Hoffmann Koch Bauer
    Richter Klein Wolf Schröder Neumann Schwarz Zimmermann Braun Krüger Hartmann Lange García
    Martínez López Sánchez Pérez Gómez Jiménez Ruiz Hernández Díaz Moreno Álvarez Muñoz Romero
    Gutiérrez Torres Domínguez Vázquez Rossi Russo Ferrari Esposito Bianchi Romano Colombo Ricci
    Marino Greco Bruno Gallo Conti Mancini Giordano Rizzo Moretti Martin Bernard Dubois Thomas
    Robert Richard Petit Durand Leroy Moreau Simon Laurent Lefebvre Michel Bertrand Roux Andersson
    Johansson Karlsson Nilsson Eriksson Larsson Olsson Persson Svensson Gustafsson Hansen Jensen
    Nielsen Smith Johnson Williams Brown Jones Davis Miller Wilson Taylor Clark Walker Young King
    Wright Scott Hill Green Ionescu Popescu Popa Radu Dumitru Stan Stoica Gheorghe Matei Ciobanu
    Novák Svoboda Novotný Dvořák Černý Kovács Szabó Tóth Nagy Horváth Kowalski Nowak Wiśniewski
    Zieliński Ivanov Petrov Sokolov Tanaka Suzuki Sato Watanabe Kim Lee Park Nguyen Tran Chen Wang
    Zhang Okafor Mensah Diallo Traoré Keita Touré
    """
)
"""Family names."""

NATIONS: Final = split_names(
    """
    Argentina, Belgium, Brazil, Cameroon, Chile, China PR, Colombia, Croatia, Czech Republic,
    Denmark, Ecuador, Egypt, England, France, Germany, Ghana, Greece, Hungary, Italy, Ivory Coast,
    Japan, Korea Republic, Mexico, Morocco, Netherlands, Nigeria, Norway, Poland, Portugal,
    Republic of Ireland, Romania, Russia, Scotland, Senegal, Serbia, Spain, Sweden, Switzerland,
    Turkey, Ukraine, United States, Uruguay, Wales
    """,
    ",",
)
"""Countries as player tables print them."""

CITIES: Final = split_names(
    """
    Aveiro Beja Braga Coimbra Évora Faro Guarda Leiria Lisboa Porto Setúbal Viseu Berlin Bremen
    Dresden Düsseldorf Köln Leipzig München Nürnberg Bologna Firenze Milano Napoli Roma Torino
    Bilbao Córdoba Granada Málaga Sevilla Zaragoza Lyon Lille Nantes Nice Paris Leeds London
    Oxford Malmö Göteborg Oslo Århus Brno Praha Gdańsk Kraków Łódź Cluj Iași Oradea Budapest
    Szeged Zürich Genève
    """
)
"""Towns."""

_CELL_CHARACTERS = 8


@cache
def _build_cells() -> npt.NDArray[np.uint64]:
    """Return the 65,536 cells, each of eight ASCII characters viewed as one 64-bit word."""
    words = {size: [word for word in WORDS if len(word) == size] for size in range(2, 8)}

    def pairs(first: int) -> list[str]:
        return [f"{word} {other} " for word, other in product(words[first], words[6 - first])]

    shares = (
        ([f"{word} " for word in words[7]], 16384),
        (pairs(3), 24576),
        (pairs(2), 12288),
        (pairs(4), 8192),
        ([f"a {word} " for word in words[5]], 4096),
    )
    table = []
    for cells, count in shares:
        table += [cells[i * len(cells) // count] for i in range(count)]
    return np.frombuffer("".join(table).encode("ascii"), dtype="<u8")
