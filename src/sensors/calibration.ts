/** What the owner knows better than the sensor: value × factor + offset, in the unit that is shown. */
export interface Calibration {
  readonly factor: number;
  readonly offset: number;
}

/** The value that is kept. */
export function calibrated(value: number, { factor, offset }: Calibration): number {
  return tidy(value * factor + offset);
}

/** Without the digits that binary fractions add. */
export function tidy(value: number): number {
  return Number(value.toPrecision(10));
}
