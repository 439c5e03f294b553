"""Numba kernels of the column reader: one pass over the bytes of the file."""

from partwise.jit import njit

NEWLINE = 10
SPACE = 32
TAB = 9
RETURN = 13


@njit(cache=True, nogil=True, inline="always")
def is_space(byte):
    """ASCII white space as in ``bytes.split``; a no-break space is no separator."""
    return byte == SPACE or (TAB <= byte <= RETURN)


@njit(cache=True, nogil=True)
def scan_rows(buffer, separator, comment, start, stop, offset):
    """
    Find the fields of every row, and where sentences end.

    Requires: ``start`` and ``stop`` (n_columns, n_rows at most), ``offset``
    (n_rows at most + 1,); ``separator`` is a byte, or -1 for runs of white space.

    Ensures: returns (n_rows, n_sequences, line, width); ``line`` is 0, or the 1-based
    number of the first line whose ``width`` differs from n_columns.
    """
    n_columns = start.shape[0]
    n_bytes = len(buffer)
    n_rows = 0
    n_sequences = 0
    offset[0] = 0
    line = 0
    begin = 0
    while begin < n_bytes:
        line += 1
        end = begin
        blank = True
        while end < n_bytes and buffer[end] != NEWLINE:
            blank = blank and is_space(buffer[end])
            end += 1
        following = end + 1
        if blank:
            if n_rows > offset[n_sequences]:
                n_sequences += 1
                offset[n_sequences] = n_rows
            begin = following
            continue

        is_comment = len(comment) > 0 and end - begin >= len(comment)
        for i in range(len(comment)):
            is_comment = is_comment and buffer[begin + i] == comment[i]
        if is_comment:
            begin = following
            continue

        width = 0
        if separator < 0:
            while True:
                while begin < end and is_space(buffer[begin]):
                    begin += 1
                if begin == end:
                    break
                if width < n_columns:
                    start[width, n_rows] = begin
                while begin < end and not is_space(buffer[begin]):
                    begin += 1
                if width < n_columns:
                    stop[width, n_rows] = begin
                width += 1
        else:
            if buffer[end - 1] == RETURN:
                end -= 1
            while True:
                if width < n_columns:
                    start[width, n_rows] = begin
                while begin < end and buffer[begin] != separator:
                    begin += 1
                if width < n_columns:
                    stop[width, n_rows] = begin
                width += 1
                if begin == end:
                    break
                begin += 1
        if width != n_columns:
            return n_rows, n_sequences, line, width
        n_rows += 1
        begin = following
    if n_rows > offset[n_sequences]:
        n_sequences += 1
        offset[n_sequences] = n_rows
    return n_rows, n_sequences, 0, n_columns


@njit(cache=True, nogil=True)
def factorise(buffer, start, stop, slots, codes, first):
    """
    Give the distinct fields of a column numbers, in order of first appearance.

    Requires: ``slots`` filled with -1, a power of two longer than the rows.

    Ensures: ``codes[t]`` is the number of the field of row t, ``first[code]`` a row
    that holds it; returns how many there are.
    """
    mask = len(slots) - 1
    n_values = 0
    for t in range(len(codes)):
        # FNV-1a in 32 bits: the product stays below 2**63, so the kernel gives the
        # same numbers with and without JIT
        fingerprint = 2166136261
        for i in range(start[t], stop[t]):
            fingerprint = ((fingerprint ^ int(buffer[i])) * 16777619) & 0xFFFFFFFF
        slot = (fingerprint ^ (fingerprint >> 15)) & mask
        while True:
            code = slots[slot]
            if code < 0:
                code = n_values
                slots[slot] = code
                first[code] = t
                n_values += 1
                break
            known = first[code]
            is_equal = stop[known] - start[known] == stop[t] - start[t]
            i = 0
            while is_equal and i < stop[t] - start[t]:
                is_equal = buffer[start[known] + i] == buffer[start[t] + i]
                i += 1
            if is_equal:
                break
            slot = (slot + 1) & mask
        codes[t] = code
    return n_values


@njit(cache=True, nogil=True)
def join_rows(text, first, codes, offset, separator, out):
    """
    Write rows as lines, and an empty line after each sentence.

    Requires: value v is ``text[first[v]:first[v + 1]]``; ``codes`` (n_columns, n_rows)
    are numbers of values; ``out`` has room for everything.

    Ensures: returns the number of bytes written.
    """
    n_columns = codes.shape[0]
    at = 0
    for s in range(len(offset) - 1):
        for t in range(offset[s], offset[s + 1]):
            for c in range(n_columns):
                for i in range(len(separator) if c > 0 else 0):
                    out[at] = separator[i]
                    at += 1
                for i in range(first[codes[c, t]], first[codes[c, t] + 1]):
                    out[at] = text[i]
                    at += 1
            out[at] = NEWLINE
            at += 1
        out[at] = NEWLINE
        at += 1
    return at
