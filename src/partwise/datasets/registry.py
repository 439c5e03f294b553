"""The public corpora of `fetch`: addresses, contents, licences."""

from dataclasses import dataclass
from difflib import get_close_matches

_GITHUB = "https://raw.githubusercontent.com"


@dataclass(frozen=True)
class RemoteFile:
    """A file of a corpus.

    Parameters
    ----------
    name : str
        Name below the corpus's address, and in the cache.
    sha256 : str or None
        Checksum of the file as served; None where it is not known.
    """

    name: str
    sha256: str | None


@dataclass(frozen=True)
class Corpus:
    """A public corpus.

    Parameters
    ----------
    name : str
        Name for `fetch`.
    description : str
        Task and size, in a few words.
    url : str
        Address of the folder that serves the files, pinned to a commit where
        the files are verified.
    licence : str
        One sentence on what its owners allow.
    citation : str
        What to cite.
    files : tuple of RemoteFile
        Its files.
    """

    name: str
    description: str
    url: str
    licence: str
    citation: str
    files: tuple[RemoteFile, ...]


CORPORA: dict[str, Corpus] = {
    entry.name: entry
    for entry in (
        Corpus(
            name="ud_english_ewt",
            description="English dependency trees and tags, 16,622 web sentences",
            url=f"{_GITHUB}/UniversalDependencies/UD_English-EWT"
            "/15d613d8447b3478787d4c278730a1e48a945efb",
            licence="Annotations: CC BY-SA 4.0; the web texts belong to their authors.",
            citation="Silveira et al. (2014). A gold standard dependency corpus for "
            "English. LREC.",
            files=(
                RemoteFile(
                    "en_ewt-ud-train.conllu",
                    "3fb78e2b55482c8ee00caa653af436c88c9e5bc9a73ce26e4ae3ddc79d2b7e7b",
                ),
                RemoteFile(
                    "en_ewt-ud-dev.conllu",
                    "531a54ff90d6ab12201c5a50c3e78e6ddac4de69abc4bce5d275d3cd29efe2b6",
                ),
                RemoteFile(
                    "en_ewt-ud-test.conllu",
                    "e266e515a0a7547657ed3d90d9ba46487d6bd251f27ad4269d4e8a427c8555cd",
                ),
            ),
        ),
        Corpus(
            name="ud_french_sequoia",
            description="French dependency trees and tags, 3,099 sentences",
            url=f"{_GITHUB}/UniversalDependencies/UD_French-Sequoia"
            "/f5b049600c89d2cf15ebbec860f75d703884d32b",
            licence="LGPL-LR (Lesser General Public License for Linguistic Resources).",
            citation="Candito and Seddah (2012). Le corpus Sequoia: annotation "
            "syntaxique et exploitation pour l'adaptation d'analyseur par pont "
            "lexical. TALN.",
            files=(
                RemoteFile(
                    "fr_sequoia-ud-train.conllu",
                    "56424954edf9d20a4d1184e37bfe931fb7c64da82bf2a587b4f35b828d79d767",
                ),
                RemoteFile(
                    "fr_sequoia-ud-dev.conllu",
                    "a5138dc5e8886484c2f8919e97113f56b9e4329e5cf2a999c021d6ee45e8b45d",
                ),
                RemoteFile(
                    "fr_sequoia-ud-test.conllu",
                    "a650e7a223fe191009ded17cedae740659449be20354bd68205c376de4ddef2d",
                ),
            ),
        ),
        Corpus(
            name="gap_pronouns",
            description="English ambiguous pronouns with two names each, 4,454 rows",
            url=f"{_GITHUB}/google-research-datasets/gap-coreference"
            "/83135f26025cdd705c04f77e940d0c9201116b80",
            licence="Apache License 2.0.",
            citation="Webster et al. (2018). Mind the GAP: a balanced corpus of "
            "gendered ambiguous pronouns. TACL 6.",
            files=(
                RemoteFile(
                    "gap-development.tsv",
                    "b9a01434fcf58d8c2f9bc762480c27e58ce466cf1ffe8b09cfecbc7a20d2d634",
                ),
                RemoteFile(
                    "gap-validation.tsv",
                    "2d784f66b390404f554704b9aef6dcde8845e79dda9886b8391cf7e9a24fdb98",
                ),
                RemoteFile(
                    "gap-test.tsv",
                    "1c35e36d5b14f6313ec3f6cd67b275de282595dd59e59390e00cfff9897a6819",
                ),
            ),
        ),
        Corpus(
            name="conll2000_chunking",
            description="English chunks in BIO form, 10,948 sentences, a zip archive",
            url=f"{_GITHUB}/nltk/nltk_data/gh-pages/packages/corpora",
            licence="None stated; the text is Wall Street Journal text of the Penn "
            "Treebank (LDC).",
            citation="Tjong Kim Sang and Buchholz (2000). Introduction to the "
            "CoNLL-2000 shared task: chunking. CoNLL.",
            files=(RemoteFile("conll2000.zip", None),),
        ),
    )
}


def corpus(name: str) -> Corpus:
    """Look a public corpus up by its name.

    Parameters
    ----------
    name : str
        A key of `CORPORA`.

    Returns
    -------
    Corpus
        Its address, files, licence and citation.

    Examples
    --------
    >>> corpus("gap_pronouns").licence
    'Apache License 2.0.'
    >>> corpus("gap")
    Traceback (most recent call last):
    ValueError: unknown corpus 'gap'; did you mean 'gap_pronouns'? choose from \
conll2000_chunking, gap_pronouns, ud_english_ewt, ud_french_sequoia
    """
    if name in CORPORA:
        return CORPORA[name]
    near = get_close_matches(name, CORPORA, n=1, cutoff=0.4)
    hint = f" did you mean {near[0]!r}?" if near else ""
    raise ValueError(
        f"unknown corpus {name!r};{hint} choose from {', '.join(sorted(CORPORA))}"
    )
