/** Largest value of CurrentLevel (Matter application clusters 1.6.6.2). */
const MAX_LEVEL = 254;
/** Values of SystemMode (Matter application clusters 4.3.9.14) that a bridge uses. */
const MODES = { off: 0, auto: 1, cool: 3, heat: 4 } as const;

/** Converts a level to percent. Only the level 0 is 0 %, with which a thing would turn off. */
export function percentOf(level: number): number {
  return level > 0 ? Math.max(1, Math.round((level * 100) / MAX_LEVEL)) : 0;
}

/** Converts percent to a level from 1, which is the lowest level of a light. */
export function levelOf(percent: number): number {
  return Math.min(MAX_LEVEL, Math.max(1, Math.round((percent * MAX_LEVEL) / 100)));
}

/** Converts mireds to kelvin, and kelvin to mireds. */
export function kelvinOf(mireds: number): number {
  return Math.round(1_000_000 / mireds);
}

/** Converts hundredths of a percent closed, which Matter counts, to percent open. */
export function openPercentOf(percent100ths: number): number {
  return 100 - Math.round(percent100ths / 100);
}

/** Converts percent open to hundredths of a percent closed. */
export function closed100thsOf(openPercent: number): number {
  return Math.min(10_000, Math.max(0, Math.round((100 - openPercent) * 100)));
}

/**
 * Converts lux to a MeasuredValue of Illuminance Measurement, 10,000 × log10(lx) + 1 (2.2.5.1). Less than 1 lx is shown as 1 lx, the lowest
 * value that a bridge declares.
 */
export function illuminanceOf(lux: number): number {
  return Math.round(10_000 * Math.log10(Math.max(1, lux)) + 1);
}

/** Returns the name of a SystemMode; undefined for one that a bridge does not use. */
export function modeOf(systemMode: number): string | undefined {
  return Object.entries(MODES).find(([, value]) => value === systemMode)?.[0];
}

/** Returns the SystemMode with this name. A mode that Matter does not know counts as off. */
export function systemModeOf(mode: string): number {
  return Object.entries(MODES).find(([name]) => name === mode)?.[1] ?? MODES.off;
}
