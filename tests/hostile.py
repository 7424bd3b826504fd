"""Documents that a decoder must refuse: they would make or read a file, or open a port."""

PERSON = """ <object class="org.benchbook.tcp.Person">
  <void property="age"><int>3</int></void>
  <void property="bornOn">
   <object class="java.time.LocalDate" method="parse"><string>1973-12-14</string></object>
  </void>
  <void property="name"><string>&lt;b&gt; &#233;</string></void>
  {more}
 </object>"""


def beans(inside: str, version: str, encoding: str = "UTF-8") -> bytes:
    """Return a document of XMLDecoder."""
    declaration = f'<?xml version="1.0" encoding="{encoding}"?>'
    text = (
        f'{declaration}\n<java version="{version}"'
        f' class="java.beans.XMLDecoder">\n{inside}\n</java>\n'
    )
    return text.encode(encoding)


TOUCH = (
    '<array class="java.lang.String" length="2"><void index="0"><string>touch</string></void>'
    '<void index="1"><string>{marker}</string></void></array>'
)
EXEC = '<void method="exec"><string>touch {marker}</string></void>'
START = '<void method="start"/>'
INSTANCE = '<string>java.lang.Runtime</string><void method="getRuntime">' + EXEC + "</void>"
FOR_NAME = '<void method="forName">' + INSTANCE + "</void>"
LOADED = '<void method="loadClass">' + INSTANCE + "</void>"

PROGRAMS = {
    "object": '<object class="java.lang.ProcessBuilder">' + TOUCH + START + "</object>",
    "void": '<void class="java.lang.ProcessBuilder">' + TOUCH + START + "</void>",
    "new": (
        '<new class="java.lang.ProcessBuilder" id="b">'
        + TOUCH
        + '</new><object idref="b">'
        + START
        + "</object>"
    ),
    "static method": '<object class="java.lang.Runtime" method="getRuntime">' + EXEC + "</object>",
    "method element": (
        '<method class="java.lang.Runtime" name="getRuntime" id="r"/><object idref="r">'
        + EXEC
        + "</object>"
    ),
    "field": '<object class="java.lang.System" field="out"/>',
    "field element": '<field class="java.lang.System" name="out"/>',
    "class element": (
        '<class id="c">java.lang.Runtime</class><object idref="c"><void method="getRuntime">'
        + EXEC
        + "</void></object>"
    ),
    "a tag over two lines": (
        '<object\n class="java.lang.ProcessBuilder">' + TOUCH + START + "</object>"
    ),
    "single quotes": "<object class='java.lang.ProcessBuilder'>" + TOUCH + START + "</object>",
    "a character's number": (
        '<object class="java.lang.&#80;rocessBuilder">' + TOUCH + START + "</object>"
    ),
    "a file": (
        '<object class="java.io.PrintWriter"><string>{marker}</string><void'
        ' method="close"/></object>'
    ),
    "names": (
        '<object class="javax.naming.InitialContext"><void method="lookup">'
        "<string>rmi://127.0.0.1:{port}/x</string></void></object>"
    ),
    "an address": (
        '<object class="java.net.URL"><string>http://127.0.0.1:{port}/</string>'
        '<void method="openStream"/></object>'
    ),
    "the decoder's class": '<void property="class">' + FOR_NAME + "</void>",
    "the decoder's class by method": '<void method="getClass">' + FOR_NAME + "</void>",
    "the decoder's class by element": '<property name="class">' + FOR_NAME + "</property>",
    "the person's class": PERSON.replace(
        "{more}", '<void property="class">' + FOR_NAME + "</void>"
    ),
    "the person's loader": PERSON.replace(
        "{more}", '<void property="class"><void property="classLoader">' + LOADED + "</void></void>"
    ),
    "a text's class": (
        '<string id="s">x</string><object idref="s"><void property="class">'
        + FOR_NAME
        + "</void></object>"
    ),
    "a comment": PERSON.replace("{more}", "<!-- -->"),
    "a section": PERSON.replace(
        "{more}", '<void property="city"><string><![CDATA[x]]></string></void>'
    ),
    "an instruction": PERSON.replace("{more}", "<?x y?>"),
}
"""Contents of XMLDecoder documents that make the file ``{marker}``, or open ``{port}``."""

DOCTYPES = {
    "external entity": '<!DOCTYPE x [<!ENTITY a SYSTEM "http://127.0.0.1:{port}/">]>',
    "parameter entity": '<!DOCTYPE x [<!ENTITY % a SYSTEM "http://127.0.0.1:{port}/"> %a;]>',
    "external DTD": '<!DOCTYPE x SYSTEM "http://127.0.0.1:{port}/x.dtd">',
    "entities": (
        '<!DOCTYPE x [<!ENTITY l "ha">'
        + "".join(
            f'<!ENTITY {name} "{10 * f"&{inner};"}">'
            for inner, name in zip("lmnopqrst", "mnopqrsta", strict=True)
        )
        + "]>"
    ),
}
"""Of which the element that follows, ``&a;``, asks a port or grows without end."""


def programs(marker: str, port: int, version: str) -> dict[str, bytes]:
    """Return documents of XMLDecoder by what they try."""

    def fill(text: str) -> str:
        return text.replace("{marker}", marker).replace("{port}", str(port))

    plain = {name: beans(fill(program), version) for name, program in PROGRAMS.items()}
    first = fill(PROGRAMS["object"])
    encodings = {
        name: beans(first, version, name) for name in ("UTF-16", "UTF-32", "cp037", "ISO-8859-1")
    }
    head, body = beans(first, version).split(b"\n", 1)
    disguised = {
        "no declaration": body,
        "a < of two bytes": head + body.replace(b"<", b"\xc0\xbc"),
        "a < of three bytes": head + body.replace(b"<", b"\xe0\x80\xbc"),
        "two of them": beans(PERSON.replace("{more}", ""), version) + beans(first, version),
    }
    doctypes = {name: head + fill(doctype).encode() + body for name, doctype in DOCTYPES.items()}
    return plain | encodings | disguised | doctypes


def documents(port: int) -> dict[str, bytes]:
    """Return documents of a person in plain XML by what they try."""
    element = "<record><_id>&a;</_id></record>"
    return {
        name: (doctype.replace("{port}", str(port)) + element).encode()
        for name, doctype in DOCTYPES.items()
    }
