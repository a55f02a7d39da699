import { globSync, statSync } from 'node:fs';

/**
 * Quarters of a core. Boards and the machines of continuous integration have two cores, which is eight; a file waits at times, so that
 * eleven keep both cores busy.
 */
export const LIVE_PLACES = 11;
/** Of a file that keeps a core busy, of most files, and of one that mostly waits. */
const [BUSY_PLACES, USUAL_PLACES, WAITING_PLACES] = [4, 2, 1];

/** Starting vitest and a network takes longer than many a file: small ones share both, one after the other. */
const FILES_A_RUN = 6;

/** Files of live tests that run one after the other in one private network, and how many places that takes. */
export interface LiveRun {
  readonly files: readonly string[];
  readonly places: number;
}

/** Those that keep a core busy most of the time; the others wait for devices, timers and limits. */
export const BUSY: readonly string[] = [
  'administration-groups',
  'backup',
  'ble-commission',
  'commission-crash',
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

/** Those that took at most a quarter of a core, processes that they start included: they wait for limits of time and for silence. */
export const WAITING: readonly string[] = [
  'connectors/atmosphere',
  'connectors/endpoint-call',
  'connectors/large-params',
  'connectors/mail',
  'connectors/mqtt',
  'connectors/redis-nats',
  'connectors/sqlite-database',
  'http-door',
  'http-hostile',
  'mesh-discovery',
  'mesh-lab',
  'reachability',
  'reverse-proxy',
  'sandbox/sandbox-bounds',
  'trusted-name',
  'virtual-home-network',
].map(testFile);

/** Those that take a minute or more begin first, whatever their size: one that begins last would run on alone. */
const LONG: readonly string[] = [
  'every-tool',
  'every-tool-undo',
  'automation-stories',
  'hub-process',
  'package/debian-package',
  'device-updates',
  'reachability',
  'commission-crash',
  'pages',
  'administration',
  'package/npm-package',
  'mesh-discovery',
  'http-hostile',
  'faults',
  'storage/state-sweep',
  'virtual-home',
].map(testFile);

/**
 * All files of live tests, in runs that take the longer the earlier they begin: the long files, each alone, then those that share a run,
 * large and small ones in each, so that all such runs take about the same time, and then the busy files, each alone.
 */
export function liveRuns(): readonly LiveRun[] {
  const files = globSync('test/live/**/*.test.ts').sort((a, b) => statSync(b).size - statSync(a).size);
  const others = files.filter((file) => !LONG.includes(file));
  const isBusy = (file: string): boolean => placesOf(file) === BUSY_PLACES;
  const alone = (names: readonly string[]): readonly LiveRun[] => names.map((file) => ({ files: [file], places: placesOf(file) }));
  const shared = [WAITING_PLACES, USUAL_PLACES].flatMap((places) => {
    const same = others.filter((file) => placesOf(file) === places);
    return dealOut(same, Math.ceil(same.length / FILES_A_RUN)).map((dealt) => ({ files: dealt, places }));
  });
  return [...alone(LONG), ...shared, ...alone(others.filter(isBusy))];
}

function dealOut<Item>(items: readonly Item[], hands: number): readonly (readonly Item[])[] {
  return Array.from({ length: hands }, (_, hand) => items.filter((_, index) => index % hands === hand));
}

function placesOf(file: string): number {
  if (BUSY.includes(file)) return BUSY_PLACES;
  return WAITING.includes(file) ? WAITING_PLACES : USUAL_PLACES;
}

function testFile(name: string): string {
  return `test/live/${name}.test.ts`;
}
