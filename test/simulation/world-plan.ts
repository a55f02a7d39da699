import { bugNamed } from './planted/planted-bugs.ts';

/** What a world is made from, as the options of the program have it. */
export interface ShownPlan {
  readonly seed: number;
  readonly hubs: number;
  readonly hours: number;
  /** People, agents and households do so many times as much as at home, and change their minds so many times as often. */
  readonly pace: number;
  /** Faults come so many times as often as at home, and those that last are so many times shorter. */
  readonly faults: number;
  /** So many kinds of faults come, by the seed; all when absent. Each kind is the more frequent, the fewer there are. */
  readonly kinds?: number;
  /** Names of the agents, owners, automations, rules and faults that there are; all of them when absent. */
  readonly only?: readonly string[];
  /** Name of the planted mistake with which the hubs run. */
  readonly bug?: string;
}

/** The options of the programs that simulate worlds. */
export const WORLD_OPTIONS = {
  seed: { type: 'string', default: '1' },
  hubs: { type: 'string', default: '5' },
  hours: { type: 'string', default: '24' },
  pace: { type: 'string', default: '1' },
  faults: { type: 'string', default: '1' },
  kinds: { type: 'string' },
  only: { type: 'string' },
  bug: { type: 'string' },
  trace: { type: 'string' },
} as const;

type GivenOptions = Readonly<
  Record<'seed' | 'hubs' | 'hours' | 'pace' | 'faults', string> & Partial<Record<'kinds' | 'only' | 'bug', string>>
>;

/** Returns the plan that options say. Throws RangeError for one that has no such value. */
export function planOf({ seed, hubs, hours, pace, faults, kinds, only, bug }: GivenOptions): ShownPlan {
  return {
    ...{ seed: wholeNumber('seed', seed), hubs: count('hubs', hubs) },
    ...{ hours: positive('hours', hours), pace: positive('pace', pace), faults: positive('faults', faults) },
    ...(kinds !== undefined && { kinds: count('kinds', kinds) }),
    ...(only !== undefined && { only: only.split(',').filter((name) => name !== '') }),
    ...(bug !== undefined && { bug: bugNamed(bug).name }),
  };
}

/** Returns the number that an option has. Throws RangeError unless it is a whole one of at least 1. */
export function count(option: string, text: string): number {
  return wholeNumber(option, text) || refuse(option, text, 'a whole number of at least 1');
}

function wholeNumber(option: string, text: string): number {
  return /^\d{1,15}$/.test(text) ? Number(text) : refuse(option, text, 'a whole number');
}

function positive(option: string, text: string): number {
  return /^\d{1,15}(?:\.\d+)?$/.test(text) && Number(text) > 0 ? Number(text) : refuse(option, text, 'a number above 0');
}

function refuse(option: string, text: string, wanted: string): never {
  throw new RangeError(`--${option} ${text} is not ${wanted}`);
}

/** Returns what is made of the options of this program. If they are wrong, says so and ends the program with 2. */
export function readOptions<Options>(read: () => Options): Options {
  try {
    return read();
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : error}; ./scripts/simulate --help has the options`);
    process.exit(2);
  }
}

/** The arguments with which the world is simulated again. */
export function argumentsOf({ seed, hubs, hours, pace, faults, kinds, only, bug }: ShownPlan): readonly string[] {
  const rare = {
    ...(pace !== 1 && { pace }),
    ...(faults !== 1 && { faults }),
    ...(kinds !== undefined && { kinds }),
    ...(only && { only: only.join(',') }),
    ...(bug !== undefined && { bug }),
  };
  return Object.entries({ seed, hubs, hours, ...rare }).flatMap(([name, value]) => [`--${name}`, `${value}`]);
}

/** The command with which the world is simulated again, for a shell. */
export function commandOf(plan: ShownPlan): string {
  const words = argumentsOf(plan).map((word) => (/^[\w.,-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`));
  return `scripts/simulate ${words.join(' ')}`;
}

/** An invariant that did not hold in a world. */
export interface Finding {
  readonly invariant: string;
  readonly problem: string;
  /** Hours of the world after which it broke. */
  readonly hours: number;
  /** Names of the faults, people, agents, rules and automations that there were. */
  readonly parts: readonly string[];
}

/** What a program says of a world in which an invariant did not hold. */
export function findingText({ invariant, problem, hours, parts }: Finding): string {
  return `BROKEN after ${hours.toFixed(4)} h: ${invariant}: ${problem}\nparts: ${parts.join(',')}`;
}

/** The finding in what a program has printed; undefined if all invariants held, or the program did not get so far. */
export function findingIn(printed: string): Finding | undefined {
  const [, hours, invariant, problem] = /^BROKEN after ([\d.]+) h: (.*?): (.*)$/m.exec(printed) ?? [];
  const [, parts] = /^parts: (.*)$/m.exec(printed) ?? [];
  if (hours === undefined || invariant === undefined || problem === undefined || parts === undefined) return undefined;
  return { invariant, problem, hours: Number(hours), parts: parts.split(',').filter((name) => name !== '') };
}
