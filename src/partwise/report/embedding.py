"""Pictures of others, put into the page without trusting them."""

import base64
from html import escape
from xml.etree import ElementTree

from partwise.report.svg import NAMESPACE, element

# drawn by our own helpers: shapes and text that can neither run nor load anything
_TAGS = frozenset(
    "svg g path rect circle ellipse line polyline polygon text tspan title desc".split()
)
_ATTRIBUTES = frozenset(
    "viewBox width height x y x1 x2 y1 y2 cx cy r rx ry d points transform dx dy role "
    "aria-label class fill fill-opacity fill-rule stroke stroke-width stroke-opacity "
    "stroke-dasharray stroke-linecap stroke-linejoin opacity font-size font-family "
    "font-weight font-style text-anchor dominant-baseline shape-rendering "
    "preserveAspectRatio".split()
)
_PNG = b"\x89PNG\r\n\x1a\n"


def embed(image: str | bytes, alt: str) -> str:
    """Markup of a picture.

    An SVG of plain shapes becomes part of the page and follows its light and
    dark colours. Any other SVG, and PNG, becomes an image with its data inside:
    browsers run no script in an image and load nothing for it.
    """
    if isinstance(image, bytes) and image.startswith(_PNG):
        return _data_image("image/png", image, alt)
    raw = image.encode("utf-8", "replace") if isinstance(image, str) else image
    if b"<svg" not in raw[:4096]:
        raise ValueError(
            f"picture {alt!r} is neither SVG nor PNG; draw it as one of these"
        )
    return _plain_shapes(raw, alt) or _data_image("image/svg+xml", raw, alt)


def _data_image(kind: str, raw: bytes, alt: str) -> str:
    data = base64.b64encode(raw).decode("ascii")
    source = f"data:{kind};base64,{data}"
    return element("img", {"src": source, "alt": alt, "class": "plate"})


def _plain_shapes(raw: bytes, alt: str) -> str | None:
    """Write an SVG again from known elements, or None if it has others."""
    if b"<!" in raw:  # a document type may define entities that explode
        return None
    try:
        root = ElementTree.fromstring(raw)
        if _local(root.tag) != "svg":
            return None
        root.attrib.setdefault("role", "img")
        root.attrib.setdefault("aria-label", alt)
        return _write(root)
    except (ElementTree.ParseError, RecursionError):  # nested too deeply
        return None


def _local(tag: object) -> str:
    return str(tag).removeprefix(f"{{{NAMESPACE}}}")


def _write(node: ElementTree.Element) -> str | None:
    name = _local(node.tag)
    if name not in _TAGS or not _ATTRIBUTES.issuperset(node.attrib):
        return None
    # a backslash may hide a letter: u\\72l( is url( to a browser
    if any("url(" in v.lower() or "\\" in v for v in node.attrib.values()):
        return None
    parts = [escape(node.text or "")]
    for child in node:
        written = _write(child)
        if written is None:
            return None
        parts += [written, escape(child.tail or "")]
    return element(name, node.attrib, *filter(None, parts))
