import { existsSync, readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { AtmoError } from '../core/errors.ts';
import { isWithin } from '../core/is-within.ts';
import { realPath } from '../core/storage/real-path.ts';
import { parseManifest } from '../tools/manifest/tool-manifest.ts';
import type { HubConfig } from './config.ts';
import { outsideFiles } from './outside-files.ts';

/** A folder that agents or their programs have, as the configuration names it. */
interface OpenFolder {
  readonly setting: string;
  readonly path: string;
  readonly isWritable: boolean;
}

/**
 * CONFIG_INVALID where agents or their programs could reach the configuration, rules, manifest or keys of the hub, or could write the
 * code that the manifest names: what is there decides what the hub does and who may have it done.
 */
export function requireOwnFilesApart(config: HubConfig, env: Readonly<Record<string, string | undefined>>): void {
  const folders = openFolders(config);
  if (folders.length === 0) return;
  const own = outsideFiles(env, config.stateDir, config);
  const code = folders.some(({ isWritable }) => isWritable) ? codeFiles(config.tools.manifestFile) : [];
  for (const { setting, path, isWritable } of folders) {
    const folder = realPath(path);
    const held = [...own, ...(isWritable ? code : [])].find((file) => isWithin(realPath(file), folder));
    if (held === undefined) continue;
    const told = `${setting} opens ${path}, where ${held} lies, a file that the hub itself works with; move one of them elsewhere`;
    throw new AtmoError('CONFIG_INVALID', told);
  }
}

function openFolders({ connectors: { files, sandbox } }: HubConfig): readonly OpenFolder[] {
  const roots = Object.entries(files?.roots ?? {}).map(([name, { path, writable }]) => {
    return { setting: `connectors.files.roots.${name}`, path, isWritable: writable };
  });
  const powers = Object.entries(sandbox.powers).flatMap(([name, { read, write }]) => {
    const setting = `connectors.sandbox.powers.${name}`;
    return [...read.map((path) => ({ setting, path, isWritable: false })), ...write.map((path) => ({ setting, path, isWritable: true }))];
  });
  return [...roots, ...powers];
}

/** Files whose code the hub loads or interprets. A manifest with mistakes is told where it is loaded. */
function codeFiles(manifest: string): readonly string[] {
  if (!existsSync(manifest)) return [];
  try {
    const files = parseManifest(readFileSync(manifest, 'utf8'), manifest).filter(({ source }) =>
      ['file', 'js', 'wasm'].includes(source.kind),
    );
    return files.map(({ source }) => resolve(dirname(manifest), source.target));
  } catch {
    return [];
  }
}
