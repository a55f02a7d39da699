// Exit 0 when node_modules holds what package-lock.json says. Plain JavaScript: it runs on the system's Node before ours is there.
import { existsSync, readFileSync } from 'node:fs';

const root = new URL('..', import.meta.url);
const packagesOf = (file) => JSON.parse(readFileSync(new URL(file, root), 'utf8')).packages;

function difference() {
  if (!existsSync(new URL('node_modules/.package-lock.json', root))) return 'node_modules is missing';
  const wanted = packagesOf('package-lock.json');
  const present = packagesOf('node_modules/.package-lock.json');
  const missing = Object.entries(wanted).find(([path, { version, optional }]) => path && !optional && present[path]?.version !== version);
  if (missing) return `${missing[0]} ${missing[1].version} is missing`;
  const extra = Object.entries(present).find(([path, { version }]) => wanted[path]?.version !== version);
  if (extra) return `${extra[0]} ${extra[1].version} is not in the lock`;
  if (!existsSync(new URL('node_modules/.bin/node', root))) return 'the pinned Node is missing';
  return undefined;
}

const reason = difference();
if (reason) {
  console.error(reason);
  process.exit(1);
}
