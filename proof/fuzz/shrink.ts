/** Reduces failing inputs while they still fail. */

/** Tries smaller inputs until none of them fails, or `maxTries` are used up. */
export async function shrink<T>(
  given: T,
  /** Smaller inputs, from the largest step to the smallest. */
  smallerThan: (input: T) => Iterable<T>,
  fails: (smaller: T) => Promise<boolean>,
  maxTries = 600,
): Promise<T> {
  let smallest = given;
  let tries = 0;
  for (;;) {
    let isSmaller = false;
    for (const candidate of smallerThan(smallest)) {
      if (tries++ >= maxTries) return smallest;
      if (!(await fails(candidate))) continue;
      smallest = candidate;
      isSmaller = true;
      break;
    }
    if (!isSmaller) return smallest;
  }
}

/** Removes halves, then quarters, down to single elements. */
export async function shrinkList<T>(
  list: readonly T[],
  fails: (shorter: readonly T[]) => boolean | Promise<boolean>,
): Promise<readonly T[]> {
  let current = list;
  let size = Math.ceil(current.length / 2);
  while (size >= 1) {
    const before = current.length;
    for (let at = 0; at < current.length;) {
      const shorter = current.toSpliced(at, size);
      if (await fails(shorter)) current = shorter;
      else at += size;
    }
    if (size === 1 && current.length === before) break;
    size = size === 1 ? 1 : Math.ceil(size / 2);
  }
  return current;
}

/** Shrinks a JSON value: its members and elements, then their values, then texts. */
export async function shrinkJson(
  value: unknown,
  fails: (smaller: unknown) => Promise<boolean>,
): Promise<unknown> {
  if (typeof value === "string") {
    if (value.length < 2) return value;
    const units = await shrinkList(value.split(""), (shorter) => fails(shorter.join("")));
    return units.join("");
  }
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) {
    let list = await shrinkList<unknown>(value, fails);
    for (let at = 0; at < list.length; at++) {
      const smaller = await shrinkJson(list[at], (each) => fails(list.with(at, each)));
      list = list.with(at, smaller);
    }
    return list;
  }
  let members = await shrinkList(Object.entries(value), (shorter) =>
    fails(Object.fromEntries(shorter)),
  );
  for (let at = 0; at < members.length; at++) {
    const [name, each] = members[at] ?? ["", null];
    const smaller = await shrinkJson(each, (next) =>
      fails(Object.fromEntries(members.with(at, [name, next]))),
    );
    members = members.with(at, [name, smaller]);
  }
  return Object.fromEntries(members);
}
