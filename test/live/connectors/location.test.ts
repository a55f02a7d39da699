import { createSocket, type Socket as UdpSocket } from 'node:dgram';
import { createServer, type Socket } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { findDebianTool } from '../../../scripts/network-lab/debian-tool.ts';
import { gpsdPosition, openLocation } from '../../../src/connectors/location/location-tool.ts';
import { systemClock } from '../../../src/core/clock.ts';
import { makePipeline, owner } from '../../calls/pipeline-fixture.ts';
import { onLoopback } from './loopback-server.ts';
import { freePort, type StartedServer, startServer } from './started-server.ts';

const within = (limitMs: number) => AbortSignal.timeout(limitMs);

/** A sentence of NMEA 0183 with its checksum. */
function sentence(body: string): string {
  const sum = [...body].reduce((all, letter) => all ^ letter.charCodeAt(0), 0);
  return `$${body}*${sum.toString(16).toUpperCase().padStart(2, '0')}\r\n`;
}

/** What a receiver at 48° 12.4904′ N, 16° 22.4291′ E says each second. */
function receiverSays(atMs: number): string {
  const [date = '', time = ''] = new Date(atMs).toISOString().split('T');
  const clock = `${time.replaceAll(':', '').slice(0, 6)}.00`;
  const [year = '', month, day] = date.split('-');
  return [
    sentence(`GPRMC,${clock},A,4812.4904,N,01622.4291,E,0.0,0.0,${day}${month}${year.slice(2)},,,A`),
    sentence(`GPGGA,${clock},4812.4904,N,01622.4291,E,1,08,0.9,171.0,M,43.0,M,,`),
    sentence('GPGSA,A,3,01,02,03,04,05,06,07,08,,,,,1.8,0.9,1.5'),
  ].join('');
}

describe.skipIf(!findDebianTool('gpsd'))('a receiver behind gpsd (programs of Debian: node scripts/check.ts fetches them)', () => {
  let gpsd: StartedServer;
  let port: number;
  let antenna: UdpSocket;
  let timer: NodeJS.Timeout;
  beforeAll(async () => {
    port = await freePort();
    const radio = await freePort();
    gpsd = await startServer('gpsd', ['-N', '-n', '-b', '-S', String(port), `udp://127.0.0.1:${radio}`], { port });
    antenna = createSocket('udp4');
    timer = setInterval(() => antenna.send(receiverSays(Date.now()), radio, '127.0.0.1'), 200);
  });
  afterAll(async () => {
    clearInterval(timer);
    antenna?.close();
    await gpsd?.stop();
  });

  test('tells where the hub is', async () => {
    const connector = openLocation({ clock: systemClock }, { location: { hub: { accuracyM: 10, gpsd: { host: '127.0.0.1', port } } } });
    const { registry, pipeline } = makePipeline({ capabilities: () => ['location_access'] });
    for (const tool of connector.tools) registry.register(tool);
    const answer = await pipeline.call({ principal: owner, tool: 'get_location', params: { accuracy: 'precise' } });
    expect(answer).toMatchObject({ result: { source: 'receiver', timestamp: expect.any(String) } });
    const { lat, lon, accuracy_m: accuracyM } = (answer as unknown as { result: { lat: number; lon: number; accuracy_m: number } }).result;
    expect(lat).toBeCloseTo(48.208_174, 4);
    expect(lon).toBeCloseTo(16.373_819, 4);
    expect(accuracyM).toBeGreaterThan(0);
  });
});

describe('what answers in the place of gpsd', () => {
  let stack = new AsyncDisposableStack();
  afterEach(async () => {
    await stack.disposeAsync();
    stack = new AsyncDisposableStack();
  });

  async function serverThat(answer: (socket: Socket) => void): Promise<{ readonly host: string; readonly port: number }> {
    const { port } = stack.use(await onLoopback(createServer(answer)));
    return { host: '127.0.0.1', port };
  }

  test('is asked to watch, and told about in pieces is as good as at once', async () => {
    let heard = '';
    const line = `${JSON.stringify({ class: 'TPV', mode: 2, lat: 1.5, lon: -2.25, epx: 3, epy: 4 })}\n`;
    const place = await serverThat((socket) => {
      socket.on('data', (data) => {
        heard += String(data);
        socket.write(`${JSON.stringify({ class: 'TPV', mode: 1 })}\n${line.slice(0, 20)}`);
        setTimeout(() => socket.write(line.slice(20)), 30);
      });
    });
    expect(await gpsdPosition(place, within(5_000))).toEqual({ latitude: 1.5, longitude: -2.25, accuracyM: 5 });
    expect(heard).toBe('?WATCH={"enable":true,"json":true};\n');
  });

  test('without satellites is waited for until the limit', async () => {
    const place = await serverThat((socket) => socket.write(`${JSON.stringify({ class: 'TPV', mode: 1 })}\n`));
    await expect(gpsdPosition(place, within(200))).rejects.toMatchObject({ name: 'TimeoutError' });
  });

  test('hangs up, or talks without end, or is not there', async () => {
    const deaf = await serverThat((socket) => socket.end());
    await expect(gpsdPosition(deaf, within(5_000))).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' });
    const endless = await serverThat((socket) => socket.write('x'.repeat(20_000)));
    await expect(gpsdPosition(endless, within(5_000))).rejects.toMatchObject({ code: 'SERVICE_REFUSED' });
    await expect(gpsdPosition({ host: '127.0.0.1', port: await freePort() }, within(5_000))).rejects.toMatchObject({
      code: 'SERVICE_UNAVAILABLE',
      details: { reason: 'ECONNREFUSED' },
    });
  });
});
