import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { bundle, ROOT } from '../bundle.ts';
import type { BenchFigure } from './figure.ts';
import { median } from './statistics.ts';

const RUNS = 3;

/** No hub loads what a browser runs. */
const BROWSER_MODULE = 'web';

/** What each module costs to load by itself, bundled, in a process of its own. */
export async function moduleImports(): Promise<BenchFigure[]> {
  const modules = readdirSync(join(ROOT, 'src'), { withFileTypes: true }).filter(
    (entry) => entry.isDirectory() && entry.name !== BROWSER_MODULE,
  );
  const figures: BenchFigure[] = [];
  for (const { name } of modules) {
    const program = await bundleModule(name);
    const times = Array.from({ length: RUNS }, () => Number(execFileSync(process.execPath, [program], { encoding: 'utf8' })));
    figures.push({
      name: `start.import.${name}`,
      value: median(times),
      unit: 'ms',
      bar: null,
      ok: true,
      samples: RUNS,
      vs: 'the module alone',
    });
  }
  return figures;
}

async function bundleModule(module: string): Promise<string> {
  const dir = join(ROOT, '.run/bench-modules');
  mkdirSync(dir, { recursive: true });
  const files = readdirSync(join(ROOT, 'src', module), { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'));
  writeFileSync(join(dir, `${module}-all.ts`), files.map((file) => `export * from '../../src/${module}/${file}';`).join('\n'));
  const timed = `const startMs = performance.now(); await import('./${module}-all.ts'); console.log(performance.now() - startMs); process.exit();`;
  writeFileSync(join(dir, `${module}.ts`), timed);
  await bundle({ entry: join(dir, `${module}.ts`), outDir: join(dir, module), name: 'timed' });
  return join(dir, module, 'timed.mjs');
}
