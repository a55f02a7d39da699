/** Whether the long tests run: partitions of a minute, twenty hubs, a million frames (`scripts/netlab suite`). */
export const IS_LONG = process.env.MESH_LONG === '1';
/** Title of a test that only they have. */
export const LONG_REASON = IS_LONG ? '' : ' (skipped: takes long; scripts/netlab suite runs it)';

/** Tells a measured figure to whoever reads the output of the tests. */
export function figure(name: string, value: number, unit: string): void {
  console.log(`figure ${name} = ${Number(value.toPrecision(4))} ${unit}`);
}
