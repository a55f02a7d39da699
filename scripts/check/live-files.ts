import { globSync, statSync } from 'node:fs';

/** Half cores: boards and the machines of continuous integration have two. */
export const LIVE_PLACES = 4;
const USUAL_PLACES = 2;

/** A file of live tests and how much of a machine it keeps busy. */
interface LiveFile {
  readonly file: string;
  readonly places: number;
}

/** Those that take longest, the longest first: none of them shall run alone at the end. */
const LONG: readonly string[] = [
  'package/debian-package',
  'hub-process',
  'mcp/agents-at-home',
  'commission-crash',
  'prompt-injection',
  'faults',
  'every-tool',
  'virtual-home-commands',
  'http-registration',
  'backup',
  'administration',
  'device-updates',
  'administration-groups',
  'mesh-approvals',
  'http-hostile',
  'page/looks',
  'virtual-home',
  'reachability',
  'mesh-discovery',
  'page/rough',
  'device-values',
  'device-abandoned',
  'mesh-hostile',
  'page/chores',
  'mcp/conformance',
  'page/acts',
  'commission',
  'page/people',
  'mesh-pair',
  'sensors/board-sensors',
];
/** Those that use less than half a core on the whole and have no narrow limits of time: they take one place. */
const WAITING: ReadonlySet<string> = new Set(['hub-process', 'administration', 'device-abandoned'].map(pathOf));

function pathOf(name: string): string {
  return `test/live/${name}.test.ts`;
}

/** All files of live tests: those that take longest, then the others by their size. */
export function liveFiles(): readonly LiveFile[] {
  const long = LONG.map(pathOf);
  const others = globSync('test/live/**/*.test.ts').filter((file) => !long.includes(file));
  const bySize = others.sort((a, b) => statSync(b).size - statSync(a).size);
  return [...long, ...bySize].map((file) => ({ file, places: WAITING.has(file) ? 1 : USUAL_PLACES }));
}
