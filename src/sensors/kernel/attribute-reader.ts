import { tidy } from '../calibration.ts';
import type { ReadRequest, SampleListener, SensorSample } from '../sensor-source.ts';
import type { Lane } from './lane.ts';
import { type ReadFault, readFault } from './read-fault.ts';

/** A value in the unit of its sensor, or why there is none. */
export type Outcome = { readonly value: number | boolean } | ReadFault;

/** Reads one sensor; what it throws is an error of the kernel. */
export type ReadOne = (address: string) => Promise<Outcome>;

/** Reads sensors one after the other in a lane and tells each; `busy` for all while an earlier read still hangs there. */
export async function readInLane({ addresses, signal }: ReadRequest, { lane, read }: { lane: Lane; read: ReadOne }, hear: SampleListener) {
  for (const address of addresses) {
    if (signal.aborted) return;
    const sample = lane.isTaken ? BUSY : await outcomeOf(lane, () => read(address), signal);
    if (!signal.aborted) hear({ address, ...sample } satisfies SensorSample);
  }
}

const BUSY: ReadFault = { fault: 'busy', detail: 'an earlier read has not come back yet' };

async function outcomeOf(lane: Lane, read: () => Promise<Outcome>, signal: AbortSignal): Promise<Outcome> {
  return lane.run(read, signal).catch(readFault);
}

/** A number as drivers write it; undefined for anything else. */
export function kernelNumber(text: string | undefined): number | undefined {
  return text !== undefined && /^-?\d{1,18}(\.\d{1,18})?(e[-+]\d{1,2})?$/i.test(text.trim()) ? Number(text) : undefined;
}

/** An attribute's number times `factor`. */
export function scaled(text: string, factor: number): Outcome {
  const number = kernelNumber(text);
  if (number !== undefined) return { value: tidy(number * factor) };
  if (text === '') return { fault: 'busy', detail: 'the driver has no value yet' };
  return { fault: 'garbled', detail: `${JSON.stringify(text.slice(0, 40))} is no number` };
}
