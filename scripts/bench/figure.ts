/** One measured figure, as `npm run bench -- NAME --json` prints it. */
export interface BenchFigure {
  readonly name: string;
  readonly value: number;
  readonly unit: string;
  /** What the value is held against; null for a figure that is only reported. */
  readonly bar: number | null;
  /** The value has to reach its bar; otherwise it must not go beyond it. */
  readonly isMinimum?: boolean;
  readonly ok: boolean;
  /** How many measurements stand behind the value. */
  readonly samples: number;
  /** What it was measured against, or how. */
  readonly vs: string;
}
