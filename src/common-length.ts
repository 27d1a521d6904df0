/** How many values two lists, or characters two texts, have in common at their beginning. */
export function commonLength<T>(a: ArrayLike<T>, b: ArrayLike<T>): number {
  const most = Math.min(a.length, b.length);
  let length = 0;
  while (length < most && a[length] === b[length]) length++;
  return length;
}
