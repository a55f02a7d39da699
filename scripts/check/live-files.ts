import { globSync, statSync } from 'node:fs';

/** Half cores: boards and the machines of continuous integration have two. */
export const LIVE_PLACES = 4;

/** A file of live tests and how much of a machine it keeps busy. */
interface LiveFile {
  readonly file: string;
  readonly places: number;
}

/** Those that keep a core busy most of the time; the others wait for devices, timers and limits and take half a core or less. */
export const BUSY: readonly string[] = [
  'administration-groups',
  'backup',
  'ble-commission',
  'commission-crash',
  'device-values',
  'every-tool',
  'mcp/agents-at-home',
  'mesh-hostile',
  'page/acts',
  'page/add-device',
  'page/looks',
  'page/mesh',
  'page/people',
  'pages',
  'prompt-injection',
  'storage/power-cut',
  'storage/state-sweep',
].map(testFile);

/** Those that take a minute or more begin first, whatever their size: one that begins last would run on alone. */
const LONG: readonly string[] = [
  'every-tool',
  'hub-process',
  'package/debian-package',
  'storage/state-sweep',
  'device-updates',
  'administration',
  'pages',
  'commission-crash',
  'device-values',
  'reachability',
  'http-hostile',
  'virtual-home',
].map(testFile);

/** All files of live tests, the long ones first, then the largest: the order by the times that they take ends no sooner. */
export function liveFiles(): readonly LiveFile[] {
  const files = globSync('test/live/**/*.test.ts').sort((a, b) => statSync(b).size - statSync(a).size);
  const isLong = (file: string): boolean => LONG.includes(file);
  return [...LONG, ...files.filter((file) => !isLong(file))].map((file) => ({ file, places: BUSY.includes(file) ? 2 : 1 }));
}

function testFile(name: string): string {
  return `test/live/${name}.test.ts`;
}
