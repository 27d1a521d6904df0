/** Problems that stay, each with its reason. */
export type Deviations = readonly (readonly [problem: RegExp, reason: string])[];

/** The other problems, and a line for each deviation that has become unnecessary. */
export function withoutDeviations(problems: readonly string[], deviations: Deviations): string[] {
  const others = problems.filter((each) => !deviations.some(([known]) => known.test(each)));
  const unused = deviations.filter(([known]) => !problems.some((each) => known.test(each)));
  return [...others, ...unused.map(([known]) => `no longer a problem: ${known}`)];
}
