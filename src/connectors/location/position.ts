/** A place on the earth. */
export interface Position {
  /** Degrees, WGS 84. */
  readonly latitude: number;
  readonly longitude: number;
  /** The true place is most likely no farther away than this. */
  readonly accuracyM: number;
  /** When a receiver found it; absent for coordinates that were written down. */
  readonly atMs?: number;
}

/** How exactly a place is told (source 000 §5, get_location). */
export const ACCURACIES = ['coarse', 'balanced', 'precise'] as const;
export type Accuracy = (typeof ACCURACIES)[number];

/** Digits after the point, in degrees: a hundredth is a part of a town, a thousandth a street. */
const DIGITS: Readonly<Record<Accuracy, number>> = { coarse: 2, balanced: 3, precise: 7 };
/** A degree of latitude; one of longitude is never longer. */
const METRES_A_DEGREE = 111_320;

/** The place with as many digits as the accuracy has; what rounding adds counts in `accuracyM`. */
export function rounded(position: Position, accuracy: Accuracy): Position {
  const step = 10 ** -DIGITS[accuracy];
  const round = (degrees: number) => Number(degrees.toFixed(DIGITS[accuracy]));
  // Half a step to the north and half a step to the east.
  const addedM = accuracy === 'precise' ? 0 : Math.SQRT1_2 * step * METRES_A_DEGREE;
  return {
    ...position,
    latitude: round(position.latitude),
    longitude: round(position.longitude),
    accuracyM: Math.round((position.accuracyM + addedM) * 10) / 10,
  };
}
