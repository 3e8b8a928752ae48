"""The functions that Helm has, and which of them a policy from elsewhere may call.

Source: the documentation of Helm's template functions, of Sprig and of Go's package text/template.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

_SELECT = """
and or default coalesce ternary index get dig first last
"""
_MAKE = """
not eq ne lt le gt ge empty has hasKey kindIs int len quote squote toYaml toJson indent nindent
trim trimSuffix trimPrefix lower upper title contains hasPrefix hasSuffix printf print dict list
merge required semverCompare include
"""
_CHANCE = """
randAlpha randAlphaNum randAscii randNumeric randBytes randInt uuidv4 shuffle bcrypt htpasswd genCA
genPrivateKey genSelfSignedCert genSignedCert genCAWithKey genSelfSignedCertWithKey
genSignedCertWithKey buildCustomCert derivePassword encryptAES decryptAES now
"""
_FURTHER = """
abbrev abbrevboth add add1 add1f addf adler32sum ago all any append atoi b32dec b32enc b64dec
b64enc base biggest bool call camelcase cat ceil chunk clean compact concat date dateInZone
dateModify date_in_zone date_modify deepCopy deepEqual dir div divf duration durationRound ext
float64 floor fromJson fromJsonArray fromToml fromYaml fromYamlArray hello htmlDate htmlDateInZone
html initial initials int64 isAbs join js kebabcase keys kindOf max maxf mergeOverwrite min minf
mod mul mulf mustAppend mustChunk mustCompact mustDateModify mustDeepCopy mustFirst mustFromJson
mustHas mustInitial mustLast mustMerge mustMergeOverwrite mustPrepend mustPush mustRegexFind
mustRegexFindAll mustRegexMatch mustRegexReplaceAll mustRegexReplaceAllLiteral mustRegexSplit
mustRest mustReverse mustSlice mustToDate mustToJson mustToPrettyJson mustToRawJson mustToToml
mustUniq mustWithout must_date_modify nospace omit osBase osClean osDir osExt osIsAbs pick pluck
plural prepend println push regexFind regexFindAll regexMatch regexQuoteMeta regexReplaceAll
regexReplaceAllLiteral regexSplit repeat replace rest reverse round semver seq set sha1sum
sha256sum sha512sum slice snakecase sortAlpha split splitList splitn sub subf substr swapcase
toDate toDecimal toPrettyJson toRawJson toString toStrings toToml trimAll trimall trunc tuple
typeIs typeIsLike typeOf uniq unixEpoch unset until untilStep untitle urlJoin urlParse urlquery
values without wrap wrapWith
"""
SELECTING: Final = frozenset(_SELECT.split())
"""Functions that give one of their arguments, or a part of one."""
PURE: Final = SELECTING | frozenset(_MAKE.split())
"""Functions that a policy may call: their results depend on their arguments only."""
OTHERS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "tpl": "it would run values as code",
        "lookup": "it would read objects of the cluster",
        "getHostByName": "it would ask the network",
        "env": "it would read the environment",
        "expandenv": "it would read the environment",
        "fail": "it would stop the chart",
        **dict.fromkeys(_CHANCE.split(), "every render would differ"),
        **dict.fromkeys(_FURTHER.split(), "a policy may call only what makes texts of values"),
    }
)
"""The other functions of Helm, and why a policy may not call them."""
