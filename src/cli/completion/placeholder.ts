import type { Completes, OperandSpec, OptionSpec } from '../command.ts';

/** What the words that stand for values in the help mean in every command. */
const MEANINGS: Readonly<Record<string, Completes>> = {
  AREA: 'area',
  DEVICE: 'device',
  FILE: 'file',
  GROUP: 'group',
  HUB: 'hub',
  JOB: 'job',
  'KEY=VALUE': 'parameter',
  MEMBER: 'device',
  SENSOR: 'sensor',
  SOURCE: 'device',
  TARGET: 'device',
  TOOL: 'tool',
};

/** What completes a value: what its specification says, else what its word means. */
export function completesOf(spec: OperandSpec | OptionSpec): Completes | undefined {
  const word = 'name' in spec ? spec.name : spec.value;
  return spec.completes ?? (word === undefined ? undefined : MEANINGS[word]);
}
