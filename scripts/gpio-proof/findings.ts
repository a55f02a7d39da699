import type { SafeOutputs } from '../../src/sensors/gpio/gpio-board.ts';

/** What the guest tells about a pulse that it saw. */
export interface SeenEdge {
  readonly edge: string;
  readonly ageMs: number;
  readonly missed: number;
}

/** Everything that the guest found out, by step. */
export interface Findings {
  readonly system: { readonly release: string; readonly arch: string; readonly node: string };
  readonly chip: { readonly label: string; readonly lines: readonly string[] };
  readonly sysfs: { readonly bases: readonly string[]; readonly exportError: string };
  readonly output: { readonly states: readonly boolean[]; readonly levels: readonly boolean[] };
  readonly refusals: readonly string[];
  readonly cost: { readonly readMicroseconds: number; readonly threadsBefore: number; readonly threadsAfter: number };
  readonly edges: readonly SeenEdge[];
  readonly activeLow: readonly SeenEdge[];
  readonly debounceLong: readonly SeenEdge[];
  readonly debounceShort: readonly SeenEdge[];
  /** Changes that were told, and how many were missed in front of one. */
  readonly overflow: { readonly told: number; readonly missed: readonly number[] };
  readonly hub: {
    readonly sensors: readonly string[];
    readonly samples: readonly unknown[];
    readonly meter: unknown;
    readonly turnedOn: unknown;
    readonly levelOn: boolean;
    readonly levelAfterStop: boolean;
  };
  readonly crash: { readonly levelBefore: boolean; readonly levelAfter: boolean };
  readonly kill: { readonly levelBefore: boolean; readonly levelAfter: boolean; readonly levelAfterNextStart: boolean };
  readonly afterKill: { readonly levelBefore: boolean; readonly told: SafeOutputs; readonly level: boolean };
}

/** Pulses of the power button that are sent while the guest does not read: twice as many changes as the kernel keeps, and more. */
export const OVERFLOW_PULSES = 10;
/** The kernel keeps this many changes of a line (`event_buffer_size` of one line in <linux/gpio.h>). */
const KEPT_EDGES = 16;

/** One thing that has to hold. */
export interface Check {
  readonly title: string;
  readonly holds: boolean;
  readonly found: unknown;
}

/** What the findings have to be; each is shown with what was found. */
export function checksOf(findings: Findings): readonly Check[] {
  const { system, chip, sysfs, output, refusals, cost, edges, activeLow, overflow, hub, crash, kill, afterKill } = findings;
  const check = (title: string, holds: boolean, found: unknown): Check => ({ title, holds, found });
  return [
    check('a Linux of 64-bit ARM', system.arch === 'arm64', system),
    check('the chip tells its label and its 8 lines', chip.label.endsWith('pl061') && chip.lines.length === 8, chip.label),
    check('lines have the names of the device tree', chip.lines[3] === 'POWER' && chip.lines[5] === 'RELAY', chip.lines),
    check('export through sysfs fails for an offset without a base', sysfs.exportError === 'EINVAL', sysfs),
    check('an output is what it was told', same(output.states, [true, false, true, false]), output),
    check('an output that is active low has the other level', same(output.levels, [false, true]), output),
    check('a line in use and a line that is none are refused', same(refusals, ['CONFLICT', 'CONFLICT', 'NOT_FOUND']), refusals),
    check('eight lines that are listened to cost no thread', cost.threadsAfter <= cost.threadsBefore, cost),
    check('a pulse is a rising and a falling edge', same(kinds(edges), ['rising', 'falling']), edges),
    check('active low turns edges round', same(kinds(activeLow), ['falling', 'rising']), activeLow),
    check('a pulse shorter than the debouncing is none', findings.debounceLong.length === 0, findings.debounceLong),
    check('a pulse longer than the debouncing is one', same(kinds(findings.debounceShort), ['rising', 'falling']), findings.debounceShort),
    check(
      'edges that the kernel could not keep are counted',
      same(overflow, { told: KEPT_EDGES, missed: [2 * OVERFLOW_PULSES - KEPT_EDGES] }),
      overflow,
    ),
    check('inputs and outputs are sensors', same(hub.sensors, ['gpio:button', 'gpio:relay']), hub.sensors),
    check('a sensor tells both changes unasked', hub.samples.length === 2, hub.samples),
    check('a meter counts pulses in its unit', same(hub.meter, { address: 'gpio:meter', value: 1.5 }), hub.meter),
    check('a tool turns an output on', hub.levelOn && same(hub.turnedOn, { output: 'relay', is_on: true }), hub.turnedOn),
    check('an output is safe after a stop', !hub.levelAfterStop, hub.levelAfterStop),
    check('an output is safe after an exception that nobody caught', crash.levelBefore && !crash.levelAfter, crash),
    check('an output is safe at the next start after SIGKILL', kill.levelBefore && !kill.levelAfterNextStart, kill),
    check(
      'an output is safe after SIGKILL as soon as systemd runs what makes it so',
      afterKill.levelBefore && !afterKill.level && same(afterKill.told, { safe: ['relay off'], missed: [] }),
      afterKill,
    ),
  ];
}

const kinds = (edges: readonly SeenEdge[]): readonly string[] => edges.map(({ edge }) => edge);
const same = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);

const MARK = /^FOUND (\w+) (.*)$/;

/** The findings in what the guest printed; undefined where it did not come to its end. */
export function findingsIn(lines: readonly string[]): Findings | undefined {
  const found = lines.map((line) => MARK.exec(line)).filter((match) => match !== null);
  const steps = Object.fromEntries(found.map(([, step = '', json = '']) => [step, JSON.parse(json)])) as Partial<Findings>;
  return steps.afterKill ? (steps as Findings) : undefined;
}
