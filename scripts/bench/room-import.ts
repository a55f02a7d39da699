import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { bundle, ROOT } from '../bundle.ts';
import type { BenchFigure } from './figure.ts';
import { median } from './statistics.ts';

const RUNS = 3;

/** No hub loads what a browser runs. */
const BROWSER_ROOM = 'monitor';

/** What each room costs to load by itself, bundled, in a process of its own. */
export async function roomImports(): Promise<BenchFigure[]> {
  const rooms = readdirSync(join(ROOT, 'src'), { withFileTypes: true }).filter(
    (entry) => entry.isDirectory() && entry.name !== BROWSER_ROOM,
  );
  const figures: BenchFigure[] = [];
  for (const { name } of rooms) {
    const program = await bundleRoom(name);
    const times = Array.from({ length: RUNS }, () => Number(execFileSync(process.execPath, [program], { encoding: 'utf8' })));
    figures.push({
      name: `start.import.${name}`,
      value: median(times),
      unit: 'ms',
      bar: null,
      ok: true,
      samples: RUNS,
      vs: 'the room alone',
    });
  }
  return figures;
}

async function bundleRoom(room: string): Promise<string> {
  const dir = join(ROOT, '.run/bench-rooms');
  mkdirSync(dir, { recursive: true });
  const files = readdirSync(join(ROOT, 'src', room), { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'));
  writeFileSync(join(dir, `${room}-all.ts`), files.map((file) => `export * from '../../src/${room}/${file}';`).join('\n'));
  const timed = `const startMs = performance.now(); await import('./${room}-all.ts'); console.log(performance.now() - startMs); process.exit();`;
  writeFileSync(join(dir, `${room}.ts`), timed);
  await bundle({ entry: join(dir, `${room}.ts`), outDir: join(dir, room), name: 'timed' });
  return join(dir, room, 'timed.mjs');
}
