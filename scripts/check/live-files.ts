import { globSync, statSync } from 'node:fs';

/** Half cores: boards and the machines of continuous integration have two. */
export const LIVE_PLACES = 4;
const USUAL_PLACES = 2;

/** A file of live tests and how much of a machine it keeps busy. */
interface LiveFile {
  readonly file: string;
  readonly places: number;
}

/**
 * Those that take longest, the longest first, so that none of them runs alone at the end. Those with one place mostly wait for
 * what happens by itself and have measured less than half a core; what measures time has two.
 */
const LONG: Readonly<Record<string, number>> = {
  'package/debian-package': 2,
  'hub-process': 1,
  'mcp/agents-at-home': 2,
  'commission-crash': 1,
  'prompt-injection': 2,
  faults: 1,
  'every-tool': 2,
  'virtual-home-commands': 1,
  'http-registration': 2,
  backup: 2,
  administration: 1,
  'device-updates': 1,
  'administration-groups': 1,
  'mesh-approvals': 2,
  'http-hostile': 2,
  'page/looks': 2,
  'virtual-home': 1,
  reachability: 1,
  'mesh-discovery': 2,
  'page/rough': 2,
  'device-values': 1,
  'device-abandoned': 1,
  'mesh-hostile': 2,
  'page/chores': 2,
  'mcp/conformance': 2,
  'page/acts': 2,
  commission: 1,
  'page/people': 2,
  'mesh-pair': 2,
  'sensors/board-sensors': 1,
};

/** All files of live tests: those that take longest, then the others by their size. */
export function liveFiles(): readonly LiveFile[] {
  const long = Object.entries(LONG).map(([name, places]) => ({ file: `test/live/${name}.test.ts`, places }));
  const isLong = new Set(long.map(({ file }) => file));
  const others = globSync('test/live/**/*.test.ts').filter((file) => !isLong.has(file));
  const bySize = others.sort((a, b) => statSync(b).size - statSync(a).size);
  return [...long, ...bySize.map((file) => ({ file, places: USUAL_PLACES }))];
}
