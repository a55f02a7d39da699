/**
 * Loaded into a hub by NODE_OPTIONS before its own sources: counts which functions run, and writes to each connection of the
 * socket COVERAGE_SOCKET the sources of which a function ran since the connection before, as JSON.
 */
import { Session } from 'node:inspector/promises';
import { createServer } from 'node:net';
import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isMainThread } from 'node:worker_threads';
import { ROOT } from '../bundle.ts';

const socket = process.env.COVERAGE_SOCKET;
// Programs that the hub starts inherit its environment and are not measured.
delete process.env.COVERAGE_SOCKET;
delete process.env.NODE_OPTIONS;

/** Starts counting; the counts begin again with every look at them. */
async function observe(path: string): Promise<void> {
  const session = new Session();
  session.connect();
  await session.post('Profiler.enable');
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
  const server = createServer(async (connection) => {
    const { result } = await session.post('Profiler.takePreciseCoverage');
    const ran = result.filter(({ url, functions }) => url.startsWith('file://') && functions.some(isCalled));
    const files = ran.map(({ url }) => relative(ROOT, fileURLToPath(url))).filter((file) => file.startsWith('src/'));
    connection.end(JSON.stringify(files.toSorted()));
  });
  server.listen(path).unref();
}

/** True for a function that ran; the body of a module is none. */
function isCalled({ ranges: [range], functionName }: { ranges: { startOffset: number; count: number }[]; functionName: string }) {
  return range !== undefined && range.count > 0 && !(functionName === '' && range.startOffset === 0);
}

if (socket !== undefined && isMainThread) await observe(socket);
