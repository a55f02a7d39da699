import { connect, type Socket } from 'node:net';
import { AtmoError } from '../../core/errors.ts';
import { orAborted } from '../../core/time/or-aborted.ts';
import { positionOf } from './gpsd-report.ts';
import type { GpsdAddress } from './location-config.ts';
import type { Position } from './position.ts';

const WATCH = '?WATCH={"enable":true,"json":true};\n';
/** gpsd_json(5): a line is never longer. */
const MAX_LINE = 10_240;

/**
 * The place that a receiver tells next, over gpsd's protocol (gpsd_json(5)). Waits for a fix until the signal aborts; errors:
 * SERVICE_UNAVAILABLE (no gpsd there, or it goes away), SERVICE_REFUSED (something else answers), or what the signal aborts with.
 */
export async function gpsdPosition({ host, port }: GpsdAddress, signal: AbortSignal): Promise<Position> {
  signal.throwIfAborted();
  const socket = connect({ host, port });
  try {
    return await orAborted(firstFix(socket, `${host}:${port}`), signal);
  } finally {
    socket.destroy();
  }
}

function firstFix(socket: Socket, place: string): Promise<Position> {
  const { promise, resolve, reject } = Promise.withResolvers<Position>();
  let rest = '';
  socket.setEncoding('utf8');
  socket.once('connect', () => socket.write(WATCH));
  socket.once('error', (error) => reject(unavailable(place, 'code' in error ? String(error.code) : error.message)));
  socket.once('end', () => reject(unavailable(place, 'it hung up')));
  socket.on('data', (text: string) => {
    const lines = (rest + text).split('\n');
    rest = lines.pop() ?? '';
    const position = lines.map(positionOf).find((found) => found !== undefined);
    if (position) resolve(position);
    else if (rest.length > MAX_LINE) reject(new AtmoError('SERVICE_REFUSED', `What answers at ${place} does not speak as gpsd does`));
  });
  return promise;
}

function unavailable(place: string, reason: string): AtmoError {
  return new AtmoError('SERVICE_UNAVAILABLE', `gpsd at ${place} cannot be reached (${reason})`, { reason });
}
