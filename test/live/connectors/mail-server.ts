import { readFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { createServer as createTcpServer } from 'node:net';
import { text } from 'node:stream/consumers';
import { SMTPServer, type SMTPServerOptions } from 'smtp-server';
import { onLoopback } from './loopback-server.ts';

/** A mail as a server took it. */
interface TakenMail {
  readonly from: string;
  readonly to: readonly string[];
  /** All of it, as it came over the wire. */
  readonly text: string;
  readonly user: string | undefined;
  readonly isEncrypted: boolean;
  /** When it was taken, in milliseconds by the clock of the server. */
  readonly atMs: number;
}

/** A certificate with its key, in PEM files. */
export interface PemFiles {
  readonly certificate: string;
  readonly key: string;
}

interface MailServerOptions extends SMTPServerOptions {
  readonly pem?: PemFiles;
  /** The clock; that of `performance` when absent. */
  readonly nowMs?: () => number;
}

/** A mail server on a loopback port that takes everything unless `options` say otherwise. */
export async function mailServer({ pem, nowMs = () => performance.now(), ...options }: MailServerOptions = {}) {
  const taken: TakenMail[] = [];
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: pem ? [] : ['STARTTLS'],
    ...(pem && { key: readFileSync(pem.key), cert: readFileSync(pem.certificate) }),
    onData(stream, session, done) {
      void text(stream).then((mail) => {
        const { mailFrom, rcptTo } = session.envelope;
        const to = rcptTo.map(({ address }) => address);
        taken.push({
          from: mailFrom ? mailFrom.address : '',
          to,
          text: mail,
          user: session.user,
          isEncrypted: session.secure,
          atMs: nowMs(),
        });
        done();
      });
    },
    ...options,
  });
  server.on('error', () => {});
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()));
  const { port } = server.server.address() as AddressInfo;
  return { port, taken, [Symbol.asyncDispose]: () => new Promise<void>((resolve) => server.close(() => resolve())) };
}

/** What a line server is told when somebody connects. */
export const CONNECTED = '(connected)';

/** A server that says what `answer` makes of each line, nothing where it answers nothing, and ends where it answers null. */
export async function lineServer(answer: (line: string) => string | undefined | null) {
  const server = createTcpServer((socket) => {
    const say = (line: string) => {
      const said = answer(line);
      if (said === null) socket.destroy();
      else if (said !== undefined) socket.write(`${said}\r\n`);
    };
    say(CONNECTED);
    let rest = '';
    socket.on('data', (bytes: Buffer) => {
      const lines = (rest + bytes.toString()).split('\r\n');
      rest = lines.pop() ?? '';
      for (const line of lines) say(line);
    });
  });
  return onLoopback(server);
}
