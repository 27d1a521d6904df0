/**
 * Gives out the rows of the journal, and the numbers that their owners know them by. A row may have several owners, one after
 * the other or at once, and each has a number of its own: no number is given out twice.
 */

/** A power of two. */
const ROWS = 4096;
const LARGEST = 0x7f_ff_ff_ff;

export class RowNumbers {
  /** The largest index of a row, and the bits of a number that are its row's index. The first row is not given out. */
  static readonly lastRow = ROWS - 1;
  /** Indices of rows that are free again. */
  readonly #free: number[] = [];
  /** The number of each row that was given out last; of a row that has had none, its index. */
  readonly #latest = [0];

  /** The index of a row that is nobody's, or 0 if all are taken. */
  takeRow(): number {
    const free = this.#free.pop();
    if (free !== undefined) return free;
    const index = this.#latest.length;
    if (index === ROWS) return 0;
    this.#latest.push(index);
    return index;
  }

  /** A number for an owner of this row, or 0 if there is none. */
  next(index: number): number {
    const latest = this.#latest[index] ?? LARGEST;
    if (index === 0 || latest > LARGEST - ROWS) return 0;
    return (this.#latest[index] = latest + ROWS);
  }

  /** Nobody has this row any more. It is not given out again once its numbers have been. */
  free(index: number): void {
    if ((this.#latest[index] ?? LARGEST) <= LARGEST - ROWS) this.#free.push(index);
  }
}
