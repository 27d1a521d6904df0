/** Parts of the official test suite that the checker does not support, with the reasons. */

/** Nothing is fetched, not even the metaschema: a schema must be complete in itself. */
const REMOTE = /references are not fetched/;
/** A `$dynamicRef` with one possible target is a `$ref`; choosing among several depends on the way there. */
const DYNAMIC = /several targets/;

/** By file and group: the schema is refused, for this reason. */
export const REFUSED: Readonly<Record<string, Readonly<Record<string, RegExp>>>> = {
  "defs.json": {
    "validate definition against metaschema": REMOTE,
  },
  "dynamicRef.json": {
    "A $dynamicRef resolves to the first $dynamicAnchor still in scope that is encountered when the schema is evaluated":
      DYNAMIC,
    "A $dynamicRef with intermediate scopes that don't include a matching $dynamicAnchor does not affect dynamic scope resolution":
      DYNAMIC,
    "A $dynamicRef that initially resolves to a schema with a matching $dynamicAnchor resolves to the first $dynamicAnchor in the dynamic scope":
      DYNAMIC,
    "multiple dynamic paths to the $dynamicRef keyword": DYNAMIC,
    "after leaving a dynamic scope, it is not used by a $dynamicRef": DYNAMIC,
    "strict-tree schema, guards against misspelled properties": REMOTE,
    "tests for implementation dynamic anchor and reference link": REMOTE,
    "$ref and $dynamicAnchor are independent of order - $defs first": REMOTE,
    "$ref and $dynamicAnchor are independent of order - $ref first": REMOTE,
    "$ref to $dynamicRef finds detached $dynamicAnchor": REMOTE,
    "$dynamicRef skips over intermediate resources - direct reference": DYNAMIC,
    "$dynamicRef avoids the root of each schema, but scopes are still registered": DYNAMIC,
  },
  "optional/dynamicRef.json": {
    "$dynamicRef skips over intermediate resources - pointer reference across resource boundary":
      DYNAMIC,
  },
  "ref.json": {
    "remote ref, containing refs itself": REMOTE,
  },
  "refRemote.json": {
    "remote ref": REMOTE,
    "fragment within remote ref": REMOTE,
    "anchor within remote ref": REMOTE,
    "ref within remote ref": REMOTE,
    "base URI change": REMOTE,
    "base URI change - change folder": REMOTE,
    "base URI change - change folder in subschema": REMOTE,
    "root ref in remote ref": REMOTE,
    "remote ref with ref to defs": REMOTE,
    "Location-independent identifier in remote ref": REMOTE,
    "retrieved nested refs resolve relative to their URI not $id": REMOTE,
    "remote HTTP ref with different $id": REMOTE,
    "remote HTTP ref with different URN $id": REMOTE,
    "remote HTTP ref with nested absolute ref": REMOTE,
    "$ref to $ref finds detached $anchor": REMOTE,
  },
  "unevaluatedItems.json": {
    "unevaluatedItems with $dynamicRef": DYNAMIC,
  },
  "unevaluatedProperties.json": {
    "unevaluatedProperties with $dynamicRef": DYNAMIC,
  },
};

/** By file and group: the tests that come out otherwise. */
export const DIFFERENT: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  // Formats are enforced, as with structured outputs elsewhere; by default the draft makes them annotations.
  "format.json": {
    "email format": ["invalid email string is only an annotation by default"],
    "regex format": ["invalid regex string is only an annotation by default"],
    "ipv4 format": ["invalid ipv4 string is only an annotation by default"],
    "ipv6 format": ["invalid ipv6 string is only an annotation by default"],
    "hostname format": ["invalid hostname string is only an annotation by default"],
    "date format": ["invalid date string is only an annotation by default"],
    "date-time format": ["invalid date-time string is only an annotation by default"],
    "time format": ["invalid time string is only an annotation by default"],
    "json-pointer format": ["invalid json-pointer string is only an annotation by default"],
    "relative-json-pointer format": [
      "invalid relative-json-pointer string is only an annotation by default",
    ],
    "uri format": ["invalid uri string is only an annotation by default"],
    "uri-reference format": ["invalid uri-reference string is only an annotation by default"],
    "uri-template format": ["invalid uri-template string is only an annotation by default"],
    "uuid format": ["invalid uuid string is only an annotation by default"],
    "duration format": ["invalid duration string is only an annotation by default"],
  },
  // Names in Punycode are not decoded.
  "optional/format/hostname.json": {
    "validation of A-label (punycode) host names": [
      "invalid Punycode",
      "contains illegal char U+302E Hangul single dot tone mark",
      "Begins with a Spacing Combining Mark",
      "Begins with a Nonspacing Mark",
      "Begins with an Enclosing Mark",
      "Exceptions that are DISALLOWED, right-to-left chars",
      "Exceptions that are DISALLOWED, left-to-right chars",
      "MIDDLE DOT with no preceding 'l'",
      "MIDDLE DOT with nothing preceding",
      "MIDDLE DOT with no following 'l'",
      "MIDDLE DOT with nothing following",
      "Greek KERAIA not followed by Greek",
      "Greek KERAIA not followed by anything",
      "Hebrew GERESH not preceded by Hebrew",
      "Hebrew GERESH not preceded by anything",
      "Hebrew GERSHAYIM not preceded by Hebrew",
      "Hebrew GERSHAYIM not preceded by anything",
      "KATAKANA MIDDLE DOT with no Hiragana, Katakana, or Han",
      "KATAKANA MIDDLE DOT with no other characters",
      "Arabic-Indic digits mixed with Extended Arabic-Indic digits",
      "ZERO WIDTH JOINER not preceded by Virama",
      "ZERO WIDTH JOINER not preceded by anything",
      'contains "--" in the 3rd and 4th position',
    ],
  },
  // Metaschemas are not read, so a vocabulary cannot be left out.
  "vocabulary.json": {
    "schema that uses custom metaschema with with no validation vocabulary": [
      "no validation: invalid number, but it still validates",
    ],
  },
};
