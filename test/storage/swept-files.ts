/**
 * The files of a state directory, each of which the sweep damages in every way: what a hub writes beyond them needs an anchor
 * (docs/backup.md), a place in `FullState`, and a line here.
 */
export const SWEPT_FILES: readonly RegExp[] = [
  /^anchors$/,
  /^audit\.db$/,
  /^audit\.db-wal$/,
  /^audit\.front$/,
  /^cluster-models\/[^/]+\.json$/,
  /^config\.yaml$/,
  /^history\.db$/,
  /^history\.db-wal$/,
  /^hub\.key$/,
  /^lock\.db$/,
  /^matter\/fabric\.json$/,
  /^matter\/hub\/driver\.json$/,
  /^matter\/hub\/storage\.db$/,
  /^matter\/hub\/storage\.db-shm$/,
  /^matter\/hub\/storage\.db-wal$/,
  /^matter\/snapshots\/fabric\.json\.kept$/,
  /^matter\/snapshots\/\d+\.db$/,
  /^mesh-root\.key$/,
  /^owner\.key$/,
  /^owner\.token$/,
  /^profiles\/devices\/[^/]+\.json$/,
  /^rag\.db$/,
  /^rag\.db-shm$/,
  /^rag\.db-wal$/,
  /^rules\.yaml$/,
  /^snapshots\/(audit|history|state)\.db\.\d+\.snapshot$/,
  /^snapshots\/(hub\.key|mesh-root\.key|owner\.key|owner\.token|config\.yaml-[0-9a-f]+)\.kept$/,
  /^state\.db$/,
  /^state\.db-wal$/,
  /^tls\/(ca|server)\.(crt|key)$/,
  /^tls\/snapshots\/(ca|server)\.(crt|key)\.kept$/,
  /^tools\.yaml$/,
  /^tools_bootstrap\.json$/,
  /^trust\.log$/,
];

/** Files without content, which each start makes anew: what SQLite shares between processes, and the lock of matter.js. */
const WITHOUT_CONTENT = /-shm$|^matter\/hub\/matter\.(pid|lock)$/;

/** Of files, those that the sweep does not know. */
export function unsweptOf(files: readonly string[]): readonly string[] {
  return files.filter((file) => !WITHOUT_CONTENT.test(file) && !SWEPT_FILES.some((swept) => swept.test(file)));
}
