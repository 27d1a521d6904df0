/**
 * Tells where merging may start with whole characters instead of bytes.
 *
 * Byte pair encoding starts from single bytes, three for each Han character, and spends most of its work on
 * joining the bytes of characters. That can be skipped for a character if no token that covers only a part of
 * it extends beyond it: then its bytes must join with each other before one of them can join with anything
 * else.
 *
 * Such tokens exist, some 800 of 200,000: ` \xe5`, or the last byte of one character with all of the next.
 * Each is itself the result of a merge at one of the character boundaries inside it. It is therefore enough
 * to know, for the two bytes at a boundary, whether any of these tokens contains them there. A character is
 * safe if neither of its boundaries has such a token.
 *
 * This relies on a property of `o200k_base`: merging the bytes of a token gives that token, through tokens of
 * rising rank. Tests verify this for all tokens, and this list against all tokens.
 */

/** One line for each byte after a boundary: that byte, then all bytes that such a token has before it. */
const SEAMS = `
0a 0a95
69 9c
70 708a9a
c2 20
c3 20
c4 202d
c5 20
c6 20
cb 20
ce 20b3b9
d0 2098be
d2 2090
d3 209e
d4 20
d5 208082a1a2a5abafb4b6b8babe
d6 20a1a5b8
d7 20909599
d8 20a7
d9 20
da 20
db 20
e0 2080818284858687888b8d8f9495969798999a9b9c9e9fa1a2a3a4a5a6a7a8aaabacadaeafb0b1b2b3b4b5b6b7b8b9bcbebf
e1 208081848586898a8b8e909192939495969798999a9b9c9d9e9fa0a1a3a6a7a8a9aaabacaeafb6bcbf
e2 20
e3 2095bc
e4 2097aeb1
e5 209ea4b7bf
e6 2099b9
e7 208b90a1a7a9b5bd
e8 20858f95989ba0acb2b5b8be
e9 2092a0a2b3
ea 2093bb
eb 208485889094a9b4
ec 2080a8acad
ed 209d
ee 20
ef 2081aeaf
f0 20
f1 20
`;

/**
 * Indexed by the two bytes at a boundary as a big-endian number. 1 if a token with an incomplete character
 * contains them at a boundary.
 */
export type CharacterSeams = Uint8Array;

export function characterSeams(): CharacterSeams {
  const seams = new Uint8Array(0x10000);
  for (const [, after = "", befores = ""] of SEAMS.matchAll(/(\w+) (\w+)/gu)) {
    for (const before of befores.match(/../gu) ?? []) {
      seams[Number.parseInt(before + after, 16)] = 1;
    }
  }
  return seams;
}
