/** What the owner knows better than the sensor: value × factor + offset, in the unit that is shown. */
export interface Calibration {
  readonly factor: number;
  readonly offset: number;
}

/** The value that is kept, without the digits that binary fractions add. */
export function calibrated(value: number, { factor, offset }: Calibration): number {
  return Number((value * factor + offset).toPrecision(10));
}
