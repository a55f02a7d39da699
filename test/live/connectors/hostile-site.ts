import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { Readable } from 'node:stream';
import { brotliCompressSync, createGzip, gzipSync } from 'node:zlib';

type Route = (response: ServerResponse, request: IncomingMessage) => void;

/** Head of an answer whose body ends with its connection. */
const TO_END = 'HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\n';
const MIB = 1_048_576;
const PAGE = '<!doctype html><meta charset=utf-8><title>Garden</title><h1>Beds</h1><p>Seven <b>tall</b> beans.</p><script>evil()</script>';

/** A web site on 127.0.0.1 with ordinary pages and all that a bad one does; it remembers what was asked of it. */
export class HostileSite implements AsyncDisposable {
  readonly asked: string[] = [];
  readonly #server: Server;

  private constructor() {
    this.#server = createServer((request, response) => {
      this.asked.push(request.url ?? '');
      const route = this.#routes()[new URL(request.url ?? '', 'http://site').pathname];
      if (route) route(response, request);
      else response.writeHead(404).end('no such page');
    });
  }

  static async start(): Promise<HostileSite> {
    const site = new HostileSite();
    await new Promise<void>((resolve) => site.#server.listen(0, '127.0.0.1', resolve));
    return site;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** An address of it, by whatever name. */
  url(path: string, host = 'site.test'): string {
    return `http://${host}:${this.port}${path}`;
  }

  #routes(): Readonly<Record<string, Route>> {
    const text = { 'content-type': 'text/plain' };
    return {
      '/page': (response) => response.writeHead(200, { 'content-type': 'text/html' }).end(PAGE),
      '/json': (response) => response.writeHead(200, { 'content-type': 'application/json' }).end('{"beds":7}'),
      '/picture': (response) => response.writeHead(200, { 'content-type': 'image/png' }).end(Buffer.alloc(300, 7)),
      '/latin1': (response) =>
        response.writeHead(200, { 'content-type': 'text/plain; charset=iso-8859-1' }).end(Buffer.from('Käse', 'latin1')),
      '/gzip': (response) => response.writeHead(200, { ...text, 'content-encoding': 'gzip' }).end(gzipSync('packed well')),
      '/brotli': (response) => response.writeHead(200, { ...text, 'content-encoding': 'br' }).end(brotliCompressSync('packed better')),
      '/bomb': (response) => explode(response),
      '/half-packed': (response) =>
        response.writeHead(200, { ...text, 'content-encoding': 'gzip' }).end(gzipSync('never all of it').subarray(0, 20)),
      '/own-packing': (response) => response.writeHead(200, { ...text, 'content-encoding': 'gzip, gzip' }).end('?'),
      '/endless': (response) => pour(response),
      '/drip': (response) => drip(response),
      '/drip-to-end': ({ socket }) => dripRaw(socket),
      '/reset-to-end': ({ socket }) => {
        socket?.write(`${TO_END}only this`);
        setTimeout(() => socket?.resetAndDestroy(), 20);
      },
      '/to-end': ({ socket }) => socket?.end(`${TO_END}all of it`),
      '/silent': () => {},
      '/cut': (response) => {
        response.writeHead(200, { ...text, 'content-length': '1000' }).write('only this');
        setTimeout(() => response.destroy(), 20);
      },
      '/moved': (response, { url = '' }) => {
        const location = new URL(url, 'http://site').searchParams.get('to') ?? '';
        response.writeHead(302, { location }).end('moved');
      },
      '/other-protocol': ({ socket }) => socket?.end('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: other\r\n\r\n'),
      '/round': (response) => response.writeHead(301, { location: '/round' }).end(),
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

function pour(response: ServerResponse): void {
  const piece = Buffer.alloc(65_536, 'a');
  response.writeHead(200, { 'content-type': 'text/plain' });
  const go = () => {
    while (!response.destroyed && response.write(piece));
    if (!response.destroyed) response.once('drain', go);
  };
  go();
}

/** 200 MiB of zeros in 200 KB. */
function explode(response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'text/plain', 'content-encoding': 'gzip' });
  Readable.from(Array<Buffer>(200).fill(Buffer.alloc(MIB)))
    .pipe(createGzip())
    .pipe(response);
}

function drip(response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'text/plain' });
  const timer = setInterval(() => response.write('.'), 20);
  response.once('close', () => clearInterval(timer));
}

function dripRaw(socket: Socket | null): void {
  socket?.write(TO_END);
  const timer = setInterval(() => socket?.write('.'), 20);
  socket?.once('close', () => clearInterval(timer));
}
