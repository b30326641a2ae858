"""Canonical digests of environment states: the keys that anchor step groups."""

from __future__ import annotations

import hashlib
import struct
import unicodedata
from collections.abc import Mapping, Set
from typing import Any


def canonical_bytes(value: Any) -> bytes:
    """Serialises a value to bytes that depend on its content alone.

    Every item is tagged with its type and prefixed with its size, so different values never
    serialise alike (``["ab"]`` and ``["a", "b"]``, ``1`` and ``True``, ``1`` and ``1.0``). Sets
    and mappings are sorted by their serialised members, so insertion order, hash seed, process,
    machine and Python version do not matter.

    Args:
        value: None, bool, int, float, str, bytes, or lists, tuples, sets and mappings of these.

    Returns:
        The serialisation. Tuples equal lists; ``-0.0`` equals ``0.0``.

    Raises:
        TypeError: If a value of another type occurs.
        ValueError: If a float is not a number: a NaN equals nothing, so it cannot be a key.
    """
    match value:
        case None:
            return b"n"
        case bool():
            return b"t" if value else b"f"
        case int():
            # int's own repr: a member of an integer enumeration is the integer it equals.
            return _tagged(b"i", int.__repr__(value).encode())
        case float():
            if value != value:
                raise ValueError("a state must not contain NaN")
            return b"d" + struct.pack(">d", value + 0.0)
        case str():
            return _tagged(b"s", value.encode("utf-8", "surrogatepass"))
        case bytes():
            return _tagged(b"b", value)
        case list() | tuple():
            return _tagged(b"l", b"".join(canonical_bytes(item) for item in value))
        case Set():
            return _tagged(b"e", b"".join(sorted(canonical_bytes(item) for item in value)))
        case Mapping():
            pairs = sorted((canonical_bytes(k), canonical_bytes(v)) for k, v in value.items())
            return _tagged(b"m", b"".join(k + v for k, v in pairs))
    raise TypeError(
        "a state consists of None, bool, int, float, str, bytes, list, tuple, set and mapping; "
        f"got {type(value).__name__}"
    )


def _tagged(tag: bytes, payload: bytes) -> bytes:
    return tag + str(len(payload)).encode() + b":" + payload


def digest(data: bytes) -> str:
    """Returns the blake2b-128 digest of ``data`` as 32 hexadecimal digits."""
    return hashlib.blake2b(data, digest_size=16).hexdigest()


def state_key(state: Any) -> str:
    """Returns the key of a Markov state.

    Args:
        state: Everything that decides the future of the episode except the step counter, in the
            types that :func:`canonical_bytes` takes.

    Returns:
        32 hexadecimal digits. Equal keys within a task mean equal observations, rewards and keys
        under equal actions.
    """
    return digest(canonical_bytes(state))


def observation_key(observation: str) -> str:
    """Returns the key of an observation text, the weaker anchor used in the GiGPO paper.

    Args:
        observation: The text; unicode is normalised (NFC) and runs of blanks and line ends count
            as one blank, since neither tells states apart.

    Returns:
        32 hexadecimal digits.
    """
    normalised = " ".join(unicodedata.normalize("NFC", observation).split())
    return digest(normalised.encode("utf-8", "surrogatepass"))
