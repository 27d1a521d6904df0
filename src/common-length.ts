/** Number of equal values at the beginning of two lists, or of equal characters of two texts. */
export function commonLength<T>(a: ArrayLike<T>, b: ArrayLike<T>): number {
  const most = Math.min(a.length, b.length);
  let length = 0;
  while (length < most && a[length] === b[length]) length++;
  return length;
}
