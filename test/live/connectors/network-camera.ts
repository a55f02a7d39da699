import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { createSocket, type Socket as UdpSocket } from 'node:dgram';
import { once } from 'node:events';
import { createServer as createHttpServer, type ServerResponse } from 'node:http';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { promisify } from 'node:util';
import { onLoopback } from './loopback-server.ts';

const execute = promisify(execFile);
const FRAME_EVERY_MS = 40;

/** A test picture as a camera would send it. */
export async function testPicture(ffmpeg: string, size: string, codec = 'mjpeg'): Promise<Buffer> {
  const args = [
    '-loglevel',
    'error',
    '-f',
    'lavfi',
    '-i',
    `testsrc=size=${size}`,
    '-frames:v',
    '1',
    '-c:v',
    codec,
    '-f',
    'image2pipe',
    '-',
  ];
  const { stdout } = await execute(ffmpeg, args, { encoding: 'buffer', maxBuffer: 20_000_000 });
  return stdout;
}

/** A camera over HTTP: a picture at `/picture.jpg`, a stream without end at `/stream.mjpg`, and what else such things answer. */
export async function httpCamera(picture: Buffer, login: string) {
  const expected = `Basic ${Buffer.from(login).toString('base64')}`;
  const server = createHttpServer((request, response) => {
    if (request.url === '/digest.jpg') {
      if (isDigest(request.headers.authorization ?? '', login)) return response.end(picture);
      return response.writeHead(401, { 'www-authenticate': 'Digest realm="camera", nonce="n0nce", qop="auth", algorithm=MD5' }).end();
    }
    if (request.url === '/playlist.m3u8') return response.end(PLAYLIST);
    if (request.url === '/bomb.jpg' && request.headers.authorization === expected) return response.end(bombOf(picture));
    if (request.headers.authorization !== expected)
      return response.writeHead(401, { 'www-authenticate': 'Basic realm="camera"' }).end('Denied');
    if (request.url === '/picture.jpg') return response.end(picture);
    if (request.url === '/stream.mjpg') return stream(response, picture);
    if (request.url === '/page') return response.end('<html>Please update your browser</html>');
    return undefined;
  });
  return onLoopback(server);
}

/** The file that a hostile playlist would have the hub read. */
const PLAYLIST = '#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\nfile:///etc/hostname\n#EXT-X-ENDLIST\n';
const md5 = (text: string) => createHash('md5').update(text).digest('hex');

/** Digest access authentication (RFC 7616 3.4) with the nonce of this camera. */
function isDigest(authorization: string, login: string): boolean {
  const field = (name: string) => new RegExp(`\\b${name}="?([^",]+)`).exec(authorization)?.[1];
  const [user = '', ...password] = login.split(':');
  const secret = md5(`${user}:camera:${password.join(':')}`);
  const proof = `${secret}:n0nce:${field('nc')}:${field('cnonce')}:auth:${md5(`GET:${field('uri')}`)}`;
  return authorization.startsWith('Digest ') && field('response') === md5(proof);
}

/** The picture with a frame header (ITU-T T.81 B.2.2) that claims 65,000 by 65,000 pixels. */
function bombOf(picture: Buffer): Buffer {
  const bomb = Buffer.from(picture);
  const at = bomb.indexOf(Buffer.from([0xff, 0xc0]));
  bomb.writeUInt16BE(65_000, at + 5);
  bomb.writeUInt16BE(65_000, at + 7);
  return bomb;
}

function stream(response: ServerResponse, picture: Buffer): void {
  response.writeHead(200, { 'content-type': 'multipart/x-mixed-replace; boundary=frame' });
  const timer = setInterval(() => {
    response.write(`--frame\r\nContent-Type: image/jpeg\r\nContent-Length: ${picture.length}\r\n\r\n`);
    response.write(picture);
    response.write('\r\n');
  }, FRAME_EVERY_MS);
  response.once('close', () => clearInterval(timer));
}

/** A camera over RTSP 1.0 (RFC 2326) whose H.264 comes from ffmpeg; RTP goes over the connection itself (10.12). */
export class RtspCamera implements AsyncDisposable {
  /** Requests as they came, first lines only. */
  readonly heard: string[] = [];
  readonly #expected: string;
  readonly #server: Server;
  readonly #rtp: UdpSocket = createSocket('udp4');
  readonly #players = new Set<Socket>();
  #encoder: ChildProcess | undefined;
  #description = '';

  constructor(login: string) {
    this.#expected = `Basic ${Buffer.from(login).toString('base64')}`;
    this.#server = createServer((socket) => this.#serve(socket));
  }

  get address(): string {
    return `127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async start(ffmpeg: string): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    await new Promise<void>((resolve) => this.#rtp.bind(0, '127.0.0.1', resolve));
    this.#rtp.on('message', (packet) => this.#send(packet));
    const source = ['-re', '-f', 'lavfi', '-i', 'testsrc=size=640x480:rate=10'];
    const codec = ['-c:v', 'libx264', '-preset', 'ultrafast', '-tune', 'zerolatency', '-g', '5', '-pix_fmt', 'yuv420p'];
    const target = ['-f', 'rtp', `rtp://127.0.0.1:${this.#rtp.address().port}?pkt_size=1200`];
    const encoder = spawn(ffmpeg, ['-loglevel', 'error', ...source, ...codec, ...target], { stdio: ['ignore', 'pipe', 'ignore'] });
    this.#encoder = encoder;
    for await (const text of encoder.stdout) {
      this.#description += String(text);
      if (this.#description.includes('a=fmtp')) break;
    }
    // Its own line of the port would send players to the socket of this server.
    this.#description = this.#description.replace(/^SDP:\n/, '').replace(/m=video \d+/, 'm=video 0');
  }

  #serve(socket: Socket): void {
    let rest = '';
    socket.on('error', () => {});
    socket.once('close', () => this.#players.delete(socket));
    socket.on('data', (data) => {
      const requests = (rest + data.toString('latin1')).split('\r\n\r\n');
      rest = requests.pop() ?? '';
      for (const request of requests) this.#answer(request, socket);
    });
  }

  #answer(request: string, socket: Socket): void {
    const [first = ''] = request.split('\r\n');
    const [method] = first.split(' ');
    const header = (name: string) => new RegExp(`^${name}: *(.*)$`, 'im').exec(request)?.[1];
    const reply = (status: string, headers: readonly string[] = [], body = '') =>
      socket.write([`RTSP/1.0 ${status}`, `CSeq: ${header('CSeq')}`, ...headers, '', body].join('\r\n'));
    this.heard.push(first);
    if (method === 'OPTIONS') return void reply('200 OK', ['Public: DESCRIBE, SETUP, PLAY, TEARDOWN']);
    if (header('Authorization') !== this.#expected) return void reply('401 Unauthorized', ['WWW-Authenticate: Basic realm="camera"']);
    if (method === 'DESCRIBE') {
      return void reply('200 OK', ['Content-Type: application/sdp', `Content-Length: ${this.#description.length}`], this.#description);
    }
    if (method === 'SETUP') return void reply('200 OK', ['Transport: RTP/AVP/TCP;unicast;interleaved=0-1', 'Session: 7']);
    reply('200 OK', ['Session: 7']);
    if (method === 'PLAY') this.#players.add(socket);
  }

  #send(packet: Buffer): void {
    const head = Buffer.from([0x24, 0, packet.length >> 8, packet.length & 0xff]);
    for (const socket of this.#players) socket.write(Buffer.concat([head, packet]));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#encoder && this.#encoder.exitCode === null && this.#encoder.kill('SIGKILL')) await once(this.#encoder, 'exit');
    for (const socket of this.#players) socket.destroy();
    this.#rtp.close();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}
